package await

import (
	"os"
	"os/exec"
	"strings"
	"testing"
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

// TestNever: a wait for what never comes fails the test by name, before go test ends
// the package.
func TestNever(t *testing.T) {
	if os.Getenv("AWAIT_NEVER") != "" {
		t.Run("true", func(t *testing.T) { True(t, "pigs fly", func() bool { return false }) })
		t.Run("value", func(t *testing.T) { Value(t, "word from them", make(chan int)) })
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestNever$", "-test.timeout=10s")
	cmd.Env = append(os.Environ(), "AWAIT_NEVER=yes")
	out, err := cmd.CombinedOutput()
	for _, want := range []string{"never: pigs fly", "never: word from them"} {
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("no %q: %v\n%s", want, err, out)
		}
	}
}
