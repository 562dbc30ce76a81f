package store

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"git-ward/internal/diag"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/gate"
	"git-ward/protocols/uow"
)

const keptRef = "refs/heads/rescue/D-1-kept-1"

// keeper is one for the unit, with what it says.
func (u *unit) keeper(said *[]string) *Saver {
	u.Helper()
	k, err := u.work.Saver(u.Context(), func(what string) { *said = append(*said, what) })
	u.must(err)
	return k
}

// tip is where a ref of the remote is, "" where it is not there.
func (u *unit) tip(ref string) string {
	u.Helper()
	return run(u.T, u.store.Bare, "", "for-each-ref", "--format=%(objectname)", ref)
}

// sized makes a file of a size that takes no room.
func (u *unit) sized(name string, mib int64) {
	u.Helper()
	u.write(name, "")
	u.must(os.Truncate(filepath.Join(u.work.Dir(), name), mib<<20))
}

// TestKeeper: what a worker has not committed is kept at a tick where it changed, and never
// where nothing did; his clone is left alone.
func TestKeeper(t *testing.T) {
	tier.First(t, "it pushes several times")
	u := newUnit(t)
	var said []string
	k, ticks := u.keeper(&said), make(chan time.Time)
	tick := func() string {
		t.Helper()
		over, done := make(chan struct{}), make(chan struct{})
		go func() {
			k.Run(t.Context(), ticks, over)
			close(done)
		}()
		ticks <- time.Time{}
		close(over)
		<-done
		return u.tip(keptRef)
	}
	if kept := tick(); kept != "" {
		t.Error("the tree is as it was, and is kept")
	}
	u.write("hello", "there\n")
	u.write(".ward/notes", "not work\n")
	run(t, u.work.Dir(), "", "rm", "--quiet", "--cached", "COMMS.md")
	before := run(t, u.work.Dir(), "", "status", "--porcelain")
	first := tick()
	if got := u.says(keptRef); got != "agent: what was not committed; first: COMMS.md hello" {
		t.Error(got)
	}
	k.brought.Add(1) // another commit would say so
	if again := tick(); again != first {
		t.Error("what did not change is kept again")
	}
	if after := run(t, u.work.Dir(), "", "status", "--porcelain"); after != before || run(t, u.work.Dir(), "", "for-each-ref", "refs/heads") != run(t, u.work.Dir(), "", "for-each-ref", "refs/heads/"+u.work.Branch) {
		t.Errorf("the worker's clone was touched:\n%s\nwas\n%s", after, before)
	}
	run(t, u.work.Dir(), "", "add", "--all")
	run(t, u.work.Dir(), "", "commit", "--quiet", "-m", "by the worker")
	u.write("hello", "you\n")
	tick()
	if got := u.says(keptRef); got != "agent: what was not committed; by the worker; first: COMMS.md hello" {
		t.Error(got)
	}
	if text := run(t, u.store.Bare, "", "show", keptRef+":hello"); text != "you" {
		t.Error(text)
	}
	run(t, u.work.Dir(), "", "reset", "--quiet", "--hard", "HEAD^")
	if kept := tick(); kept != "" {
		t.Error("the tree is as it was again, and is kept")
	}
	if len(said) > 0 {
		t.Error(said)
	}
	u.fsck()
}

// TestKeeperAndWork: once the remote has the work nothing is kept, and the push of the work
// does not depend on it.
func TestKeeperAndWork(t *testing.T) {
	tier.First(t, "it pushes several times")
	u := newUnit(t)
	u.step(uow.Input{Event: uow.Iterate, Reason: "ITERATION_STARTED"})
	u.write("hello", "there\n")
	var said []string
	u.must(u.keeper(&said).Keep(t.Context()))
	if u.tip(keptRef) == "" {
		t.Fatal("nothing is kept")
	}
	_, err := u.work.Iterate(t.Context(), 1, "")
	u.must(err)
	u.must(u.work.Offer(t.Context()))
	if u.tip("refs/heads/agent/D-1") == "" || u.tip(keptRef) != "" {
		t.Error("the branch is not there, or what it has is kept beside it")
	}

	// The end of the work cut a push off, which arrived all the same.
	u.write("hello", "again\n")
	k := u.keeper(&said)
	u.must(k.Keep(t.Context()))
	k.tried, k.tip = k.tip, ""
	_, err = u.work.Iterate(t.Context(), 2, "")
	u.must(err)
	u.must(u.work.Offer(t.Context()))
	if u.tip(keptRef) != "" {
		t.Error("what the branch has is kept beside it")
	}

	// So did one that dropped what is kept.
	u.write("hello", "twice\n")
	k = u.keeper(&said)
	u.must(k.Keep(t.Context()))
	run(t, u.store.Bare, "", "update-ref", "-d", keptRef)
	u.must(u.work.clone.dropKept(t.Context(), k.keeping))
	if k.tip != "" {
		t.Errorf("it is taken to be at %s", k.tip)
	}

	// Somebody else moved what is kept: it stays, and nothing else is lost.
	u.write("hello", "you\n")
	k = u.keeper(&said)
	u.must(k.Keep(t.Context()))
	theirs := run(t, u.store.Bare, "theirs\n", "commit-tree", "main^{tree}", "-p", "main")
	run(t, u.store.Bare, "", "update-ref", keptRef, theirs)
	u.write("hello", "all\n")
	if err := k.Keep(t.Context()); err == nil {
		t.Error("it was overwritten")
	}
	commit, err := u.work.Iterate(t.Context(), 2, "")
	u.must(err)
	u.must(u.work.Offer(t.Context()))
	if u.tip("refs/heads/agent/D-1") != commit || u.tip(keptRef) != theirs {
		t.Error("the branch is not there, or theirs is gone")
	}
}

// TestKeeperBounds: the bound is the unit's, whoever keeps, and said once.
func TestKeeperBounds(t *testing.T) {
	tier.First(t, "it pushes several times")
	u := newUnit(t)
	var said []string
	u.sized("large", 17)
	u.must(u.keeper(&said).Keep(t.Context()))
	u.must(u.keeper(&said).Keep(t.Context()))
	if len(said) != 1 || !strings.Contains(said[0], "for D-1.1 it would be more than 16 MiB") || u.tip(keptRef) != "" {
		t.Errorf("%q", said)
	}
	u.sized("large", 9)
	u.must(u.keeper(&said).Keep(t.Context()))
	kept := u.tip(keptRef)
	if kept == "" {
		t.Fatal("what is not too large is not kept")
	}
	u.sized("large", 8)
	u.must(u.keeper(&said).Keep(t.Context()))
	if u.tip(keptRef) != kept || len(said) != 1 {
		t.Errorf("another Keeper begins anew: %q", said)
	}
	other := u.elsewhere()
	if took, _, err := other.work.TakeUp(t.Context(), other.journal, nil); !took || err != nil {
		t.Fatal(took, err)
	}
	other.sized("large", 8)
	other.must(other.keeper(&said).Keep(t.Context()))
	if u.tip(keptRef) != kept || len(said) != 2 {
		t.Errorf("another process begins anew: %q", said)
	}
	// What was kept is gone, for the remote has all of it; what it brought is on the record.
	other.step(uow.Input{Event: uow.Iterate, Reason: "ITERATION_STARTED"})
	other.commit("an iteration", "", map[string]string{"LEARNINGS.md": "# L\n"})
	run(t, u.store.Bare, "", "update-ref", "-d", keptRef)
	other.must(other.work.Offer(t.Context()))
	third := other.elsewhere()
	if took, _, err := third.work.TakeUp(t.Context(), third.journal, nil); took || err != nil {
		t.Fatal(took, err)
	}
	third.sized("large", 8)
	third.must(third.keeper(&said).Keep(t.Context()))
	if u.tip(keptRef) != "" || len(said) != 3 {
		t.Errorf("a process that finds nothing kept begins anew: %q", said)
	}
}

// TestKeeperRewritten: the host takes a secret out of what is kept, and what this clone has kept goes
// on from there. What another clone has kept meanwhile is not overwritten.
func TestKeeperRewritten(t *testing.T) {
	tier.First(t, "it pushes several times")
	u := newUnit(t)
	var said []string
	k := u.keeper(&said)
	u.write("hello", "there\n")
	u.must(k.Keep(t.Context()))
	rewrite := func(old, new string) string {
		text := strings.ReplaceAll(run(t, u.store.Bare, "", "cat-file", "commit", keptRef), old, new)
		run(t, u.store.Bare, "", "update-ref", keptRef, run(t, u.store.Bare, text+"\n", "hash-object", "-t", "commit", "-w", "--stdin"))
		return u.tip(keptRef)
	}
	rewritten := rewrite("tree "+run(t, u.store.Bare, "", "rev-parse", keptRef+"^{tree}"), "tree "+run(t, u.store.Bare, "", "rev-parse", "main^{tree}"))
	u.write("more", "of it\n")
	u.must(k.Keep(t.Context()))
	if now := u.tip(keptRef); now == rewritten || len(said) != 0 {
		t.Errorf("what was kept before is at %s; %q", now, said)
	}
	theirs := rewrite(u.work.clone.identity(), strings.Repeat("A", 26))
	u.write("more", "again\n")
	if err := k.Keep(t.Context()); err == nil || u.tip(keptRef) != theirs {
		t.Errorf("what another clone has kept is gone: %v", err)
	}
}

// TestKeeperSecret: a file that the remote refuses, such as one with a secret, is on none of its
// refs. The others are kept.
func TestKeeperSecret(t *testing.T) {
	tier.First(t, "it pushes several times")
	u := newUnit(t)
	u.refuses("key.pem")
	u.write("key.pem", "secret\n")
	u.write("hello", "there\n")
	var said []string
	k := u.keeper(&said)
	for range 3 {
		u.must(k.Keep(t.Context()))
	}
	if got := u.says(keptRef); got != "agent: what was not committed; first: COMMS.md hello" {
		t.Error(got)
	}
	refused, err := os.ReadFile(filepath.Join(u.store.Bare, "refused"))
	if err != nil || len(refused) != 1 || len(said) != 1 || !strings.Contains(said[0], "key.pem: secret/key: a key") {
		t.Errorf("%d refusals, %v: %q", len(refused), err, said)
	}
	u.write("key.pem", "another\n")
	u.write("hello", "you\n")
	u.must(u.keeper(&said).Keep(t.Context()))
	if text := run(t, u.store.Bare, "", "show", keptRef+":hello"); text != "you" || len(said) != 1 {
		t.Errorf("%s: %q", text, said)
	}
	for ref := range strings.FieldsSeq(run(t, u.store.Bare, "", "for-each-ref", "--format=%(refname)")) {
		if names := run(t, u.store.Bare, "", "log", "--name-only", "--format=", ref); slices.Contains(strings.Fields(names), "key.pem") {
			t.Error(fmt.Sprint(ref, " has it"))
		}
	}
}

// TestOutlive: of a worker who leaves no repository behind is said what is kept, and no more. Trouble
// with git itself is no word of that.
func TestOutlive(t *testing.T) {
	tier.First(t, "it pushes several times")
	for name, c := range map[string]struct {
		leaves           func(*unit, *Saver)
		gone, lost, kept bool
		says             string
	}{
		"all":         {func(*unit, *Saver) {}, false, false, false, ""},
		"nothing new": {func(u *unit, _ *Saver) { u.remove(".git") }, true, false, false, ""},
		"a file":      {func(u *unit, _ *Saver) { u.write("hello", "there\n"); u.remove(".git/refs") }, true, false, true, ""},
		"an empty tree": {func(u *unit, _ *Saver) {
			u.must(os.RemoveAll(u.work.Dir()))
			u.must(os.Mkdir(u.work.Dir(), 0o755))
		}, true, true, false, ""},
		"no directory": {func(u *unit, _ *Saver) { u.must(os.RemoveAll(u.work.Dir())) }, true, true, false, ""},
		"as kept": {func(u *unit, k *Saver) {
			u.write("hello", "there\n")
			u.must(k.Keep(u.Context()))
			u.remove(".git")
		}, true, false, true, ""},
		"more than is kept": {func(u *unit, k *Saver) {
			u.write("hello", "there\n")
			u.must(k.Keep(u.Context()))
			u.sized("big", maxKept>>20+1)
			u.remove(".git")
		}, true, true, true, "16 MiB"},
		"a file that the remote refuses": {func(u *unit, _ *Saver) {
			u.refuses("key.pem")
			u.write("key.pem", "secret\n")
			u.write("hello", "there\n")
			u.remove(".git")
		}, true, true, true, "key.pem"},
		"a file that it refused": {func(u *unit, k *Saver) {
			u.refuses("key.pem")
			u.write("key.pem", "secret\n")
			u.write("hello", "there\n")
			u.must(k.Keep(u.Context()))
			u.remove("key.pem")
			u.remove(".git")
		}, true, false, true, "key.pem"},
		"files of before only": {func(u *unit, k *Saver) {
			u.write("hello", "there\n")
			u.must(k.Keep(u.Context()))
			u.must(os.RemoveAll(u.work.Dir()))
		}, true, true, true, ""},
		"no answer of git": {func(u *unit, _ *Saver) {
			u.write("hello", "there\n")
			u.remove(".git/refs")
			u.Setenv("PATH", u.TempDir()) // no git is there
		}, false, false, false, "is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUnit(t)
			var said []string
			k := u.keeper(&said)
			c.leaves(u, k)
			gone, lost, branch := k.Outlive(t.Context())
			if gone != c.gone || lost != c.lost || branch != "" != c.kept {
				t.Errorf("gone %v, lost %v, on %q", gone, lost, branch)
			}
			if all := strings.Join(said, "\n"); !strings.Contains(all, c.says) || c.says == "" && all != "" {
				t.Errorf("%q", all)
			}
		})
	}
}

// remove removes what a worker may remove of his tree.
func (u *unit) remove(name string) {
	u.Helper()
	u.must(os.RemoveAll(filepath.Join(u.work.Dir(), name)))
}

// refuses makes the remote refuse a file, and note each time.
func (u *unit) refuses(name string) {
	u.Helper()
	answer, err := json.Marshal(gate.Answer{Verdict: gate.Refused, Count: 1, Findings: []diag.Diagnostic{{Pos: diag.Pos{Path: name}, Rule: "secret/key", Severity: diag.Error, Message: "a key"}}})
	u.must(err)
	hook := filepath.Join(u.store.Bare, "hooks", "pre-receive")
	u.must(os.MkdirAll(filepath.Dir(hook), 0o755))
	gittest.Program(u, hook, "#!/bin/sh\nwhile read -r old new ref; do\n\tif git rev-parse --verify --quiet $new:"+name+" >/dev/null; then\n\t\techo >>refused\n\t\techo '"+string(answer)+"' >&2\n\t\texit 1\n\tfi\ndone\n")
}
