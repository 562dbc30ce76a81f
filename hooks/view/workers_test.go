package view

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/runstate"
	"git-ward/internal/tier"
	"git-ward/protocols/lease"
)

// Who works is shown wherever he runs: by the leases, with what the launcher here says of
// its own; a lease that nobody may work by is a warning with its remedy (MANY-5).
func TestWorkers(t *testing.T) {
	tier.First(t, "the built programs, real hooks and pushes")
	p := gittest.New(t)
	p.Run(p.Work, "git-ward", "directive", "new", "--untried", "-m", "it is one\n\n- [ ] it holds (`true`)\n")
	now := time.Now()
	own := lease.New("D-1", [lease.IDBytes]byte{1}, "host.1", "podman", now, time.Hour)
	far := lease.New("D-2", [lease.IDBytes]byte{2}, "other.1", "kube ward/job-2", now, time.Hour)
	late := lease.New("D-3", [lease.IDBytes]byte{3}, "other.2", "process", now.Add(-time.Hour), time.Minute)
	ahead := lease.New("D-4", [lease.IDBytes]byte{4}, "other.3", "process", now.Add(3*time.Hour), time.Minute)
	repo := git.Open(p.Bare)
	put := func(ref string, data []byte) {
		t.Helper()
		id, err := repo.WriteObject("blob", data)
		if err != nil {
			t.Fatal(err)
		}
		p.Run(p.Bare, "git", "update-ref", ref, id)
	}
	for _, l := range []lease.Lease{own, far, late, ahead} {
		data, err := l.Format()
		if err != nil {
			t.Fatal(err)
		}
		put(lease.Ref(l.Directive), data)
	}
	put(lease.Ref("D-5"), []byte("{}\x1b[2J"))
	lock, err := os.Create(filepath.Join(p.Bare, runstate.LockPath))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	gate, err := os.Open(runstate.Gate(p.Bare))
	if err == nil {
		err = unix.Flock(int(gate.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	for _, w := range []runstate.Worker{
		{Holder: "host.1", Directive: "D-1", Lease: own.ID, Where: "podman", Doing: runstate.Works},
		{Holder: "host.2", Where: "podman", Doing: runstate.Restarts, Why: "it was killed; git ward launch --logs"},
		{Holder: "other.1", Directive: "D-2", Lease: "not this one", Doing: runstate.Stopped}, // an earlier taking's
	} {
		if err := w.Tell(p.Bare); err != nil {
			t.Fatal(err)
		}
	}
	o := overview(t, open(t, p.Bare))
	var words []string
	for _, w := range o.Workers {
		words = append(words, w.Directive+" "+w.Words)
	}
	until := func(l lease.Lease) string { return l.Until.Format(time.RFC3339) }
	want := []string{
		"D-1 host.1 (podman) works, its lease is valid until " + until(own),
		"D-2 other.1 (nobody says where) was stopped",
		"D-2 other.1 (kube ward/job-2) works, its lease is valid until " + until(far),
		"D-3 other.2 (process) is silent: its lease ended at " + until(late),
		" host.2 (podman) ended unexpectedly, and is started again; it was killed; git ward launch --logs",
	}
	slices.Sort(words[1:3])
	slices.Sort(want[1:3])
	if !slices.Equal(words, want) || !o.Several() {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(words, "\n"), strings.Join(want, "\n"))
	}
	if line := o.Directives[0]; line.Worker == nil || line.Worker.Holder != "host.1" {
		t.Errorf("%+v", line.Worker)
	} else if line.Words != "in progress" { // its worker "works", and has opened no unit yet
		t.Errorf("%s waits for %s", line.Words, line.WaitsWords)
	}
	warned := strings.Join(o.Warnings, "\n")
	for _, remedy := range []string{"git ward lease --revoke D-4", "git ward lease --revoke D-5"} {
		if !strings.Contains(warned, remedy) || strings.ContainsRune(warned, 0x1b) {
			t.Errorf("no %s in %q", remedy, warned)
		}
	}
}
