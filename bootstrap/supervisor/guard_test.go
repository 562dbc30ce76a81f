package supervisor

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"git-ward/internal/await"
)

// TestGuard: processor time counts over a whole window, memory in two samples in a
// row, logs at once. What the agent itself took most of is its own.
func TestGuard(t *testing.T) {
	const second = time.Second
	limits := Limits{CPU: 0.5, Window: 10 * second, Memory: 100, Logs: 100}
	type look struct {
		at, cpu, ownCPU time.Duration
		memory, own     int64
		printed, logs   int64
		want            string
	}
	for name, looks := range map[string][]look{
		"nothing":                 {{at: 0}, {at: 5 * second}, {at: 20 * second}},
		"busy from the beginning": {{at: 0}, {at: 9 * second, cpu: 9 * second}, {at: 10 * second, cpu: 10 * second, want: "cpu"}},
		"half a processor":        {{at: 0}, {at: 10 * second, cpu: 5 * second}, {at: 20 * second, cpu: 10 * second}},
		"busy itself":             {{at: 0}, {at: 10 * second, cpu: 10 * second, ownCPU: 6 * second, want: "own cpu"}},
		"busy itself before":      {{at: 0}, {at: 10 * second, cpu: 5 * second, ownCPU: 5 * second}, {at: 20 * second, cpu: 15 * second, ownCPU: 6 * second, want: "cpu"}},
		"busy later":              {{at: 0}, {at: 10 * second, cpu: 1 * second}, {at: 20 * second, cpu: 9 * second, want: "cpu"}},
		"a short rush":            {{at: 0}, {at: 5 * second, cpu: 4 * second}, {at: 10 * second, cpu: 4 * second}, {at: 15 * second, cpu: 4 * second}},
		"memory once":             {{memory: 101}, {memory: 100}, {memory: 101}},
		"memory twice":            {{memory: 101}, {memory: 101, want: "memory"}},
		"memory of a build":       {{memory: 300, own: 150}, {memory: 300, own: 150, want: "memory"}},
		"memory of its own":       {{memory: 101}, {memory: 101, own: 51, want: "own memory"}},
		"prints":                  {{printed: 100}, {printed: 101, want: "own logs"}},
		"logs":                    {{logs: 100}, {logs: 101, want: "logs"}},
	} {
		var now look
		g := guard{limits: limits,
			usage: func() (all, own use) {
				return use{cpu: now.cpu, memory: now.memory}, use{cpu: now.ownCPU, memory: now.own}
			},
			output: func() int64 { return now.printed }, logs: func() int64 { return now.logs }}
		begin := time.Now()
		for i, l := range looks {
			now = l
			got := ""
			if e := g.look(begin.Add(l.at)); e != nil {
				got = e.Kind
				if e.Own {
					got = "own " + got
				}
			}
			if got != l.want {
				t.Errorf("%s, look %d: %q", name, i, got)
			}
		}
	}
}

// TestStoppedAgent: an agent that one of its commands stopped would keep its directive and its slot
// for the whole launch, while the watcher lives.
func TestStoppedAgent(t *testing.T) {
	stopped, looks := true, 0
	g := guard{limits: Limits{CPU: 1, Window: time.Hour, Memory: 1, Logs: 1},
		usage:  func() (all, own use) { return use{}, use{stopped: stopped} },
		output: func() int64 { return 0 }, logs: func() int64 { return 0 }}
	look := func() *Excess {
		looks++
		return g.look(time.Now())
	}
	for range maxStill {
		if e := look(); e != nil {
			t.Fatalf("look %d: %s", looks, e.Text)
		}
	}
	stopped = false
	look()
	for stopped = true; looks < 2*maxStill+1; {
		if e := look(); e != nil {
			t.Fatalf("it went on meanwhile, and look %d ends it: %s", looks, e.Text)
		}
	}
	if e := look(); e == nil || e.Kind != "stopped" || e.Own {
		t.Errorf("after %d looks: %+v", looks, e)
	}
}

// TestStoppedIsSeen: a process that is stopped is found to be by its own id.
func TestStoppedIsSeen(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	s := &Supervisor{}
	if _, own := s.usage(cmd.Process.Pid); own.stopped {
		t.Error("it runs")
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	await.True(t, "it is seen to be stopped", func() bool {
		_, own := s.usage(cmd.Process.Pid)
		return own.stopped
	})
}
