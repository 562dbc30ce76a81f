package lease

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/tier"
)

// takeAll takes each directive twice, for ever new workers, says what it got, and, before it does,
// what of the first round it gives back.
func takeAll(bare string) {
	b := &Book{Repo: git.Open(bare), Settings: config.Default()}
	for i := range 200 {
		h, err := b.Take(context.Background(), fmt.Sprintf("p%d.%d", os.Getpid(), i), "process", fmt.Sprintf("D-%d", i%100+1))
		var taken *Taken
		if errors.As(err, &taken) {
			continue
		}
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		l := h.Lease()
		fmt.Println("took", l.Directive, l.ID)
		if i < 100 && i%10 == 3 {
			fmt.Println("gives", l.Directive, l.ID) // before it does: killed meanwhile, it has given or has not
			if err := h.Release(context.Background()); err != nil {
				fmt.Println("error", err)
				os.Exit(1)
			}
		}
	}
}

// TestRace: eight launchers' processes take a hundred directives, and some give back what
// they took. In the end each has one holder, who knows it, and each taking another id. Two
// of the processes are killed in the middle: what they held stays held, and can be read.
func TestRace(t *testing.T) {
	tier.Full(t, "eight processes take a hundred directives")
	r := newRepository(t, directives(100))
	var mu sync.Mutex
	said := map[string]string{} // ids taken and not given back, by directive
	seen := map[string]bool{}
	play := func(kill bool) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "LEASE_TEST_TAKES="+r.dir)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Error(err)
			return
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			var verb, directive, id string
			fmt.Sscan(lines.Text(), &verb, &directive, &id)
			mu.Lock()
			switch {
			case verb == "took":
				if seen[id] {
					t.Errorf("%s is taken twice under the id %s", directive, id)
				}
				seen[id], said[id] = true, directive
			case verb == "gives":
				delete(said, id)
			default:
				t.Error(lines.Text())
			}
			mu.Unlock()
			if kill && n == 5 {
				cmd.Process.Kill()
			}
		}
		cmd.Wait()
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() { play(i < 2) })
	}
	all.Wait()
	play(false) // whatever was given back last, or freed by nobody
	entries, err := r.book().all(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	held := map[string]string{}
	for id, directive := range said {
		if other := held[directive]; other != "" {
			t.Errorf("%s is held under %s and %s", directive, id, other)
		}
		held[directive] = id
	}
	for i := range 100 {
		name := fmt.Sprintf("D-%d", i+1)
		e, ok := entries[name]
		if !ok || e.err != nil {
			t.Errorf("%s: %v %v", name, ok, e.err)
		} else if held[name] != "" && held[name] != e.lease.ID {
			t.Errorf("%s: its holder has %s, the ref %s", name, held[name], e.lease.ID)
		} // a killed one may have taken what it did not say any more
	}
	if out := r.git("fsck", "--strict"); strings.Contains(out, "missing") || strings.Contains(out, "broken") {
		t.Error(out)
	}
}

// TestKilledBetweenSteps: wherever a launcher is killed in a taking, the directive is free or
// held, and the next launcher of that name has it at once.
func TestKilledBetweenSteps(t *testing.T) {
	tier.Full(t, "it kills processes at moments all over their work")
	r := newRepository(t, directives(100))
	random := rand.New(rand.NewPCG(tier.Seed(t), 0))
	for range 12 {
		cmd := exec.Command(os.Args[0])
		var out bytes.Buffer
		cmd.Env, cmd.Stdout = append(os.Environ(), "LEASE_TEST_TAKES="+r.dir), &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(random.IntN(120)) * time.Millisecond) // any place of the work: that is the test
		cmd.Process.Kill()
		cmd.Wait()
		b := r.book()
		b.Launcher = fmt.Sprintf("p%d", cmd.Process.Pid)
		if _, err := b.Reclaim(t.Context()); err != nil {
			t.Fatal(err)
		}
		// A git that it started may have come to its end since then: that is free, too.
		for i := range 12 {
			if _, err := b.Take(t.Context(), fmt.Sprintf("%s.%d", b.Launcher, 1000+i), "process", fmt.Sprintf("D-%d", i+1)); err != nil {
				t.Errorf("after kill %d: %v", i, err)
			}
		}
		if _, err := (&Book{Repo: b.Repo, Settings: b.Settings, Launcher: b.Launcher}).Reclaim(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r.git("fsck", "--strict")
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
