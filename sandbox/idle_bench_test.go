package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/benchtest"
	"git-ward/internal/gittest"
	"git-ward/internal/process"
	"git-ward/internal/runstate"
	"git-ward/internal/tier"
	"git-ward/protocols/loop"
)

// TestBenchIdle measures what a launch costs that has nothing to do: a minute of its process, with
// one open directive and with a thousand. scratch/STOP blocks the first, and the others wait for it.
func TestBenchIdle(t *testing.T) {
	tier.Full(t, "it measures")
	benchtest.Only(t)
	const minute = time.Minute
	var one time.Duration
	for _, n := range []int{1, 1000} {
		p := gittest.New(t)
		var list strings.Builder
		for i := range n {
			after := ""
			if i > 0 {
				after = "- after: D-1\n"
			}
			fmt.Fprintf(&list, "### D-%d: a file of its own\n\n- [ ] it is there (`test -s f%[1]d`)\n- work: f%[1]d\n%[2]s\n", i+1, after)
		}
		p.Write("COMMS.md", "# COMMS\n\n## Directives\n\n"+list.String()+"## Reports\n")
		p.Write(loop.StopPath, "not now\n")
		p.Git("add", "--all", "--force")
		p.Git("commit", "--quiet", "--message", "directives that wait")
		if out, err := p.Push("main"); err != nil {
			t.Fatal(err, out)
		}
		p.Run(p.Work, "git-ward", "launch", "--unfenced", "--bare", p.Bare, "--detach", "--model", "script", "--state", filepath.Join(filepath.Dir(p.Bare), "state"))
		stop := func() { p.Try(p.Work, nil, "", "git-ward", "launch", "--stop", "--bare", p.Bare) }
		t.Cleanup(stop)
		await.True(t, "the launch is up", func() bool { _, up := runstate.Running(p.Bare); return up })
		passes := func(d time.Duration) {
			began := time.Now()
			await.True(t, d.String(), func() bool { return time.Since(began) > d })
		}
		await.True(t, "D-1 is blocked", func() bool {
			return strings.Contains(p.Run(p.Bare, "git", "show", "main:COMMS.md"), " D-1 EXIT_BLOCKED\n")
		})
		passes(3 * minute) // what a launch does at its start is none of it; Go returns memory each two minutes
		pid, _ := runstate.Running(p.Bare)
		before, ok := process.Read(pid)
		if !ok {
			t.Fatalf("process %d is gone", pid)
		}
		passes(minute)
		now, ok := process.Read(pid)
		if !ok {
			t.Fatalf("process %d is gone", pid)
		}
		took := now.CPU + now.ChildrenCPU - before.CPU - before.ChildrenCPU
		ratio := ""
		if n == 1 {
			one = took
		} else {
			ratio = benchtest.Ratio(took, max(one, time.Millisecond))
		}
		started := "not counted without strace"
		if _, err := exec.LookPath("strace"); err == nil {
			started = fmt.Sprint(startedBy(t, pid))
		}
		benchtest.Row(fmt.Sprintf("an idle launch, %d directives: programs started in a third of a minute", n), started, "", "")
		benchtest.Row(fmt.Sprintf("an idle launch, %d directives: processor time a minute", n), benchtest.MS(took), fmt.Sprintf("with one directive %s; it holds %d MiB", benchtest.MS(one), now.Memory>>20), ratio)
		stop()
	}
}

// startedBy is how many programs a process and its children start in a third of a minute.
func startedBy(t *testing.T, pid int) int {
	t.Helper()
	trace := filepath.Join(t.TempDir(), "trace")
	out, err := exec.Command("timeout", "20", "strace", "-f", "-qq", "--trace=execve", "--output", trace, "--attach", fmt.Sprint(pid)).CombinedOutput()
	if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 124 { // timeout(1) ended it
		t.Fatalf("strace: %v\n%s", err, out)
	}
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	return len(programsOf(text))
}
