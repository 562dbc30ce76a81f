package await

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestTrue(t *testing.T) {
	looks := 0
	True(t, "the third look", func() bool { looks++; return looks == 3 })
	if looks != 3 {
		t.Errorf("%d looks", looks)
	}
}

func TestValue(t *testing.T) {
	values := make(chan int)
	go func() {
		values <- 7
		close(values)
	}()
	if got := Value(t, "seven", values); got != 7 {
		t.Errorf("got %d", got)
	}
	if got := Value(t, "the end", values); got != 0 {
		t.Errorf("got %d", got)
	}
}

// TestOneBound: what a test has waited is taken from what it may still wait, once for
// goroutines that wait side by side. Its own work is not, nor what another test waits.
func TestOneBound(t *testing.T) {
	synctest.Test(t, func(bubble *testing.T) {
		t := struct{ testing.TB }{bubble} // in a bubble a test may not ask for go test's deadline
		left := func(t testing.TB) time.Duration { return time.Until(Deadline(t)).Round(time.Second) }
		minute := func() {
			end := time.Now().Add(time.Minute)
			True(t, "a minute later", func() bool { return !time.Now().Before(end) })
		}
		minute()
		if got := left(t); got != bound-time.Minute {
			t.Errorf("after a minute %v are left", got)
		}
		time.Sleep(time.Hour) // work of the test's
		var both sync.WaitGroup
		both.Go(minute)
		both.Go(minute)
		both.Wait()
		if got := left(t); got != bound-2*time.Minute {
			t.Errorf("after two minutes, one of them twice, %v are left", got)
		}
		if got := left(struct{ testing.TB }{t}); got != bound {
			t.Errorf("another test has %v", got)
		}
		for range int(bound/time.Minute) - 2 {
			minute()
		}
		come := make(chan int, 1)
		for range 100 { // select takes either of two that are ready
			come <- 1
			Value(t, "what is there already", come)
		}
	})
	if len(tests.of) > 0 {
		t.Errorf("%d tests have ended and are kept", len(tests.of))
	}
}

// TestOutput: a program that ends says what it says, and how it ended.
func TestOutput(t *testing.T) {
	out, err := Output(t, exec.Command("sh", "-c", "echo one; echo two >&2; exit 3"))
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 3 || out != "one\ntwo\n" {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := Output(t, exec.Command("/nonexistent")); err == nil {
		t.Errorf("%q", out)
	}
}

// TestNever: a wait for what never comes fails the test by name, before go test ends
// the package.
func TestNever(t *testing.T) {
	if os.Getenv("AWAIT_NEVER") != "" {
		lastWords = time.Millisecond
		t.Run("true", func(t *testing.T) { True(t, "pigs fly", func() bool { return false }) })
		t.Run("value", func(t *testing.T) { Value(t, "word from them", make(chan int)) })
		t.Run("exit", func(t *testing.T) {
			cmd := exec.Command("sleep", "1000")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			Exit(t, cmd)
		})
		t.Run("output", func(t *testing.T) {
			Output(t, exec.Command("sh", "-c", "sleep 20 & wait")) // what it leaves behind has its output
		})
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestNever$", "-test.timeout=10s")
	cmd.Env = append(os.Environ(), "AWAIT_NEVER=yes")
	out, err := cmd.CombinedOutput()
	for _, want := range []string{"never: pigs fly", "never: word from them", "never: the end of /", "/sleep 1000", "/sh -c sleep 20 & wait"} {
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("no %q: %v\n%s", want, err, out)
		}
	}
}
