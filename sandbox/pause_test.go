package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/configtest"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/uow"
)

// desk is a repository whose one directive has a worker that ticks into a file until it
// is let free, and then does what was asked: somebody whose silence can be seen. What
// ticks has left its group, its session and its environment, and does not hear SIGTERM.
type desk struct {
	*gittest.Pair
	t           *testing.T
	ticks, free string
	state       string
}

func newDesk(t *testing.T) *desk {
	p := gittest.New(t)
	dir := filepath.Dir(p.Bare)
	d := &desk{Pair: p, t: t, ticks: filepath.Join(dir, "ticks"), free: filepath.Join(dir, "free"), state: filepath.Join(dir, "state")}
	command := fmt.Sprintf("env -i setsid sh -c \"trap '' TERM; while ! test -e %[1]s; do echo >>%[2]s; sleep 0.05; done\" & "+
		"while ! test -e %[1]s; do sleep 0.05; done; echo made >made.txt", d.free, d.ticks)
	args, _ := json.Marshal(map[string]string{"command": command})
	p.Write("script.jsonl", `{"directive":"D-1","text":"I make it.","calls":[{"name":"bash","args":`+string(args)+`}]}`+"\n"+`{"directive":"D-1","text":"It is made."}`+"\n")
	p.Write("COMMS.md", "# COMMS\n\n## Directives\n\n### D-1: make it\nMake made.txt.\n- [ ] it is there (`test -s made.txt`)\n- work: made.txt\n\n## Reports\n")
	d.push("a directive")
	t.Cleanup(func() { p.Try(dir, nil, "", "git-ward", "launch", "--stop", "--bare", p.Bare) })
	return d
}

// push commits all that the PM has in the working tree, on what origin has by now.
func (d *desk) push(subject string) {
	d.t.Helper()
	d.Git("add", "--all")
	d.Git("commit", "--quiet", "--message", subject)
	await.True(d.t, "the push goes in, though the host may report between fetch and push", func() (ok bool) {
		d.Git("pull", "--quiet", "--rebase")
		out, err := d.Push("main")
		lost := func(says string) bool { return strings.Contains(out, says) } // git's client, its server, or the gate
		if err != nil && !slices.ContainsFunc([]string{"fetch first", "non-fast-forward", "someone pushed first"}, lost) {
			d.t.Fatal(err, out)
		}
		return err == nil
	})
}

func (d *desk) launch() {
	d.Run(d.Work, "git-ward", "launch", "--unfenced", "--bare", d.Bare, "--detach", "--model", "script", "--state", d.state)
}

// once lets an agent work until there is nothing more for it to do.
func (d *desk) once() {
	d.Run(d.Work, "git-ward", "launch", "--unfenced", "--bare", d.Bare, "--once", "--model", "script", "--state", d.state)
}

func (d *desk) uow(args ...string) string {
	return d.Run(d.Work, "git-ward", append([]string{"uow"}, args...)...)
}

func (d *desk) ticked() int64 {
	info, err := os.Stat(d.ticks)
	if err != nil {
		return 0
	}
	return info.Size()
}

// last is the newest record of D-1.1.
func (d *desk) last() *uow.Record { return d.unit("D-1.1") }

// unit is the newest record of a unit, an empty one before there is any.
func (d *desk) unit(id string) *uow.Record {
	d.t.Helper()
	out, err := d.Try(d.Bare, nil, "", "git", "show", "refs/ward/uow/"+id+":uow.json")
	if err != nil {
		return &uow.Record{}
	}
	r, err := uow.ParseRecord([]byte(out))
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

// await waits until a condition holds.
func (d *desk) await(what string, holds func() bool) {
	d.t.Helper()
	came := false
	defer func() {
		if !came {
			logs, _ := d.Try(d.Work, nil, "", "git-ward", "launch", "--logs", "--bare", d.Bare)
			d.t.Logf("%s\n%s", d.last().Line(d.last().Waits()), logs)
		}
	}()
	await.True(d.t, what, holds)
	came = true
}

// silent waits until the worker's command has ended with all of it (WORK-3).
func (d *desk) silent(why string) {
	d.t.Helper()
	d.await("the end of the worker's command: "+why, func() bool {
		all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		return !slices.ContainsFunc(all, func(path string) bool {
			line, _ := os.ReadFile(path)
			return bytes.Contains(line, []byte(d.ticks))
		})
	})
}

// exact waits for the end of a directive, and looks at what is to be seen of it.
func (d *desk) exact(directive string) {
	d.t.Helper()
	d.await("the end of "+directive, func() bool { return d.unit(directive+".1").State == uow.Archived && d.last().State == uow.Archived })
	d.await("the report of "+directive, func() bool { return strings.Contains(d.comms(), " "+directive+" EXIT_") }) // the host folds it after the push of the end
	ended(d.t, d.Pair, map[string]string{directive: "EXIT_CONVERGED"})
	d.Fsck()
}

// comms is COMMS.md as the remote has it.
func (d *desk) comms() string { return d.Run(d.Bare, "git", "show", "main:COMMS.md") }

func (d *desk) letFree() {
	if err := os.WriteFile(d.free, nil, 0o644); err != nil {
		d.t.Fatal(err)
	}
}

// TestStory05Pause: pause stops the worker with its processes; the launcher is killed, the
// PM clarifies, and the next day the unit goes on to its end. What the killed run has used
// counts.
func TestStory05Pause(t *testing.T) {
	tier.Full(t, "launches of seconds")
	t.Parallel()
	d := newDesk(t)
	d.launch()
	d.await("work", func() bool { return d.ticked() > 0 })
	d.await("a sign of life", func() bool { _, err := os.Stat(filepath.Join(d.state, "iteration.json")); return err == nil })
	if out := d.uow("pause", "-m", "lunch", "D-1.1"); !strings.Contains(out, "waits for you, it is paused: git ward uow resume D-1.1") {
		t.Error(out)
	}
	d.silent("paused")
	d.Run(d.Work, "git-ward", "launch", "--stop", "--bare", d.Bare)
	d.uow("clarify", "-m", "use the second parser", "D-1.1")
	d.uow("resume", "D-1.1")
	d.letFree()
	d.launch()
	d.exact("D-1")
	if calls := d.last().Interactions; calls < 2 {
		t.Errorf("%d interactions in all, and the paused run alone had some", calls)
	}
	if out := d.uow("show", "D-1.1"); !strings.Contains(out, "use the second parser") || d.last().Retries != 0 {
		t.Error(out)
	}
}

// TestStory05Stop: scratch/STOP stops the worker, spends no retry, is told once, and the
// unit goes on by itself when the file is gone.
func TestStory05Stop(t *testing.T) {
	tier.Full(t, "launches of seconds")
	t.Parallel()
	d := newDesk(t)
	d.launch()
	d.await("work", func() bool { return d.ticked() > 0 })
	d.Write("scratch/STOP", "the price\n")
	d.push("stop")
	d.silent("scratch/STOP")
	d.await("STOPPED", func() bool { return d.last().ReasonCode == uow.Stopped })
	if out := d.uow("list"); !strings.Contains(out, "blocked") || !strings.Contains(out, "the file scratch/STOP stops it, and it goes on by itself once that is removed: git pull --rebase && git rm scratch/STOP") {
		t.Error(out)
	}
	d.letFree()
	d.Git("rm", "--quiet", "scratch/STOP")
	d.push("go on")
	d.exact("D-1")
	if r := d.last(); r.Retries != 0 {
		t.Errorf("%d retries are spent", r.Retries)
	}
	if n := strings.Count(d.Git("show", "origin/main:COMMS.md"), "D-1.1 waits for the cause"); n != 1 {
		t.Errorf("the PM was told %d times", n)
	}
}

// TestStory05Pulse: where the policy wants a sign of the PM, the next interaction waits for
// it, and the unit goes on with it.
func TestStory05Pulse(t *testing.T) {
	tier.Full(t, "launches of seconds")
	t.Parallel()
	d := newDesk(t)
	d.Write(uow.PolicyPath, "pilot_pulse = 5\n")
	d.push("a pulse")
	d.letFree()
	d.launch()
	for range 20 { // each sign lets a few interactions be
		d.await("a pulse, or the end", func() bool {
			r := d.last()
			return r.State == uow.Archived || r.ReasonCode == uow.PulseIsDue || r.PulseDue() && r.State == uow.Active
		})
		if d.last().State == uow.Archived {
			break
		}
		if next := d.last().Next(); next != "git ward uow resume --pulse D-1.1" {
			t.Fatalf("the command is %q", next)
		}
		d.uow("resume", "--pulse", "D-1.1")
	}
	d.exact("D-1")
}

// TestStory06Gone: the PM takes a directive out of the list while it is worked on. Its unit
// ends by a rule that the report names, and the next directive is worked on.
func TestStory06Gone(t *testing.T) {
	tier.Full(t, "launches of seconds")
	t.Parallel()
	d := newDesk(t)
	d.launch()
	d.await("work", func() bool { return d.ticked() > 0 })
	d.Write("script.jsonl", `{"directive":"D-2","calls":[{"name":"write_file","args":{"path":"two.txt","content":"two\n"}}]}`+"\n"+`{"directive":"D-2","text":"Two is made."}`+"\n")
	d.Write("COMMS.md", "# COMMS\n\n## Directives\n\n### D-2: make two\nMake two.txt.\n- [ ] it is there (`test -s two.txt`)\n- work: two.txt\n\n## Reports\n")
	d.push("another one")
	d.silent("gone")
	d.exact("D-2")
	if r := d.last(); r.State != uow.Archived {
		t.Error(r.Line(r.Waits()))
	}
	if report := ended(t, d.Pair, map[string]string{"D-1": "INFO"}); !strings.Contains(report, "D-1 is not among the directives any more, so its unit D-1.1 is ended.") {
		t.Error(report)
	}
}

// TestStory30Stale: an agent was killed in the middle of an iteration and nobody came for
// long. The next one says so in the journal, takes the unit up, and spends no retry.
func TestStory30Stale(t *testing.T) {
	tier.Full(t, "launches of seconds")
	t.Parallel()
	d := newDesk(t)
	configtest.Set(t, d.Bare, `stale = "3s"`)
	d.launch()
	d.await("work", func() bool { return d.ticked() > 0 })
	d.Run(d.Work, "git-ward", "launch", "--stop", "--bare", d.Bare)
	heard, err := time.Parse(time.RFC3339, d.last().Time)
	if err != nil {
		t.Fatal(err)
	}
	d.await("a gap longer than [agent] stale", func() bool { return time.Since(heard) > 3*time.Second })
	d.letFree()
	d.launch()
	d.exact("D-1")
	out := d.uow("show", "D-1.1")
	gittest.InOrder(t, out, "iterate 1", "STALE", "no sign of an agent since", "CAUSE_GONE", "claim 1", "LOOP_CONVERGED")
	if r := d.last(); r.Retries != 0 {
		t.Errorf("%d retries are spent", r.Retries)
	}
}
