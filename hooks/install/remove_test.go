package install

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"git-ward/hooks/audit"
	"git-ward/hooks/push"
	"git-ward/internal/await"
	"git-ward/internal/config"
	"git-ward/internal/failpoint"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/keyline"
	"git-ward/internal/tier"
	"git-ward/protocols/boot"
)

func matches(pattern, text string) bool { return regexp.MustCompile(pattern).MatchString(text) }

// take takes Ward out of a repository, refs and all.
func take(t *testing.T, dir string) {
	t.Helper()
	plan, err := PlanRemoval(t.Context(), Removal{Dir: dir, Purge: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Carry(t.Context(), func(Change) {}); err != nil {
		t.Fatal(err)
	}
}

// TestRemoves: after init and remove a repository is what it was, to the byte and the mode,
// however its hooks lie; what was merged meanwhile stays (CTRL-1).
func TestRemoves(t *testing.T) {
	tier.Full(t, "an init and a removal for each layout of hooks; TestRemovesInTwo has one")
	for name, arrange := range map[string]func(dir string){
		"a hook": func(string) {},
		"no hooks at all": func(dir string) {
			if err := os.RemoveAll(filepath.Join(dir, "hooks")); err != nil {
				t.Fatal(err)
			}
		},
		"a link to a hook": func(dir string) {
			if err := os.Symlink("../description", filepath.Join(dir, "hooks/post-receive")); err != nil {
				t.Fatal(err)
			}
		},
		"a delegate": func(dir string) {
			overwrite(t, filepath.Join(dir, "hooks/pre-receive"), "#!/bin/sh\nfor h in hooks/pre-receive.d/*; do $h; done\n")
			if err := os.Mkdir(filepath.Join(dir, "hooks/pre-receive.d"), 0o755); err != nil {
				t.Fatal(err)
			}
		},
		"custom_hooks": func(dir string) {
			if err := os.Mkdir(filepath.Join(dir, "custom_hooks"), 0o750); err != nil {
				t.Fatal(err)
			}
		},
		"hooks of its own choice": func(dir string) {
			if err := os.Rename(filepath.Join(dir, "hooks"), filepath.Join(dir, "ours")); err != nil {
				t.Fatal(err)
			}
			gitIn(t, dir, "config", "core.hooksPath", "ours")
		},
		"reflogs": func(dir string) { gitIn(t, dir, "config", "core.logAllRefUpdates", "true") },
		"no exec bit": func(dir string) {
			if err := os.Chmod(filepath.Join(dir, "hooks/pre-receive"), 0o640); err != nil {
				t.Fatal(err)
			}
		},
		"one program for all hooks": func(dir string) {
			for _, name := range []string{"post-receive", "post-update"} {
				if err := os.Symlink("pre-receive", filepath.Join(dir, "hooks", name)); err != nil {
					t.Fatal(err)
				}
			}
		},
		"names of Ward's making": func(dir string) {
			overwrite(t, filepath.Join(dir, "hooks/pre-receive.chained"), "#!/bin/sh\nexit 1\n") // git never ran it
			overwrite(t, filepath.Join(dir, "hooks/.pre-receive.ward-123"), "theirs")
			overwrite(t, filepath.Join(dir, ".config.ward-55"), "theirs")
		},
		"a branch of the agent's name": func(dir string) { gitIn(t, dir, "branch", "agent/smith", "topic") },
	} {
		t.Run(name, func(t *testing.T) {
			want := request(t, project(t, "master"))
			arrange(want.Dir)
			gitIn(t, want.Dir, "update-ref", "-m", "x", "refs/heads/topic", "v1.0.0") // makes the reflog, where there are any
			before := contents(t, want.Dir)
			run(t, want)
			pushed(t, want.Dir, push.Agent, "refs/heads/agent/D-1", gitIn(t, want.Dir, "rev-parse", "topic"))
			gitIn(t, want.Dir, "update-ref", "refs/ward/uow/D-1.1", "topic")
			run(t, want)
			take(t, want.Dir)
			if diff := differ(before, contents(t, want.Dir)); len(diff) > 0 {
				t.Errorf("%s", strings.Join(diff, "\n"))
			}
			gitIn(t, want.Dir, "fsck", "--strict")
			if plan, err := PlanRemoval(t.Context(), Removal{Dir: want.Dir, Purge: true}); err != nil || len(plan.Steps) > 0 {
				t.Errorf("again: %+v, %v", plan, err)
			}
		})
	}
}

// TestRemovesInTwo: refs stay until they are to be purged, also by a later run; what somebody
// changed after init is his.
func TestRemovesInTwo(t *testing.T) {
	want := request(t, project(t, "master"))
	before := contents(t, want.Dir)
	run(t, want)
	gitIn(t, want.Dir, "config", "receive.maxInputSize", "77")
	gitIn(t, want.Dir, "config", "--add", "receive.hideRefs", "refs/more")
	gitIn(t, want.Dir, "config", "core.logAllRefUpdates", "true") // the reflogs are somebody's now
	held := filepath.Join(want.Dir, "ward/held/D-1.json")
	if err := errors.Join(os.MkdirAll(filepath.Dir(held), 0o700), os.WriteFile(held, []byte("the only copy"), 0o600)); err != nil {
		t.Fatal(err)
	}
	work := commit(t, want.Dir, gitIn(t, want.Dir, "rev-parse", "master"), map[string]string{"new": "x"})
	pushed(t, want.Dir, push.Agent, "refs/heads/agent/D-1", work)
	pushed(t, want.Dir, push.Agent, "refs/heads/rescue/1", work) // which goes, too, and saves nothing
	for _, pin := range []string{boot.PinFrom, boot.PinTo} {
		gitIn(t, want.Dir, "update-ref", pin, "master")
	}
	plan, err := PlanRemoval(t.Context(), Removal{Dir: want.Dir})
	if err != nil {
		t.Fatal(err)
	}
	stays := strings.Join(plan.Stays, "\n")
	for _, part := range []string{"receive.maxInputSize = 77, which somebody changed after init", "refs of Ward's; --purge deletes them", "the branch agent/D-1: 1 commit on no branch that stays", "the branch rescue/1: 1 commit", "the branch ward: "} {
		if !strings.Contains(stays, part) {
			t.Errorf("no %q in\n%s", part, stays)
		}
	}
	if err := plan.Carry(t.Context(), func(Change) {}); err != nil {
		t.Fatal(err)
	}
	if got := gitIn(t, want.Dir, "config", "--get-all", "receive.hideRefs"); got != "refs/secret\nrefs/more" {
		t.Error(got)
	}
	gitIn(t, want.Dir, "rev-parse", "ward", "refs/ward/audit", "agent/D-1", "agent/D-1@{0}")
	if data, err := os.ReadFile(held); string(data) != "the only copy" {
		t.Errorf("what is held out: %q, %v", data, err)
	}
	if plan, err := PlanRemoval(t.Context(), Removal{Dir: want.Dir}); err != nil || len(plan.Steps) > 0 {
		t.Errorf("once more: %+v, %v", plan, err)
	}
	gitIn(t, want.Dir, "config", "core.logAllRefUpdates", "always") // as Ward has it
	run(t, want)                                                    // and Ward comes back
	take(t, want.Dir)
	if got := gitIn(t, want.Dir, "for-each-ref"); got != before["refs"] {
		t.Error(got)
	}
}

// pushed moves a ref and records it, as a push through the hooks does.
func pushed(t *testing.T, dir string, who push.Principal, ref, to string) {
	t.Helper()
	repo := git.Open(dir)
	old, err := repo.Ref(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	gitIn(t, dir, "update-ref", ref, to)
	batch := repo.Batch(t.Context())
	defer batch.Close()
	w, err := audit.NewWriter(t.Context(), repo, batch)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Append(t.Context(), audit.Entry{Record: &audit.Record{Time: time.Now().UTC().Truncate(time.Millisecond), Principal: string(who), User: "1", Push: "test",
		Verdict: audit.Accepted, Rules: []string{}, Refs: []audit.Ref{{Update: push.Update{Ref: ref, Old: old, New: to}, Applied: true}}}}); err != nil {
		t.Fatal(err)
	}
}

// TestRemovesNoRefsOfOthers: what has the name of a ref of Ward's and is not proved to be one
// stays, whatever became of Ward in between; where Ward never was, nothing goes.
func TestRemovesNoRefsOfOthers(t *testing.T) {
	never := project(t, "master")
	for _, ref := range []string{"refs/ward/mine", "refs/ward/uow/D-1.1", "refs/heads/agent/D-1", "refs/heads/rescue/mine", "refs/notes/audit", "refs/notes/lessons", "refs/ward/audit"} {
		gitIn(t, never, "update-ref", ref, "master")
		if ref == "refs/heads/rescue/mine" {
			continue
		}
		if _, err := Run(t.Context(), request(t, never)); err == nil || !strings.Contains(err.Error(), "is the project's own") {
			t.Error(err)
		}
		if plan, err := PlanRemoval(t.Context(), Removal{Dir: never, Purge: true}); err != nil || len(plan.Steps)+len(plan.Stays) > 0 {
			t.Errorf("%s: %+v, %v", ref, plan, err)
		}
	}

	want := request(t, project(t, "master"))
	id := func(rev string) string { return gitIn(t, want.Dir, "rev-parse", rev) }
	for _, name := range []string{"agent/D-1", "agent/mine", "rescue/2024-laptop", "rescue/moved"} {
		gitIn(t, want.Dir, "branch", name, "topic")
	}
	run(t, want)
	pushed(t, want.Dir, push.Agent, "refs/heads/agent/D-1", id("master")) // a project's own all the same
	pushed(t, want.Dir, push.PM, "refs/heads/rescue/pm", id("master"))
	pushed(t, want.Dir, push.Agent, "refs/heads/agent/D-2", id("master"))
	pushed(t, want.Dir, push.Agent, "refs/heads/agent/D-3", id("master"))
	plan, err := PlanRemoval(t.Context(), Removal{Dir: want.Dir})
	if err == nil {
		err = plan.Carry(t.Context(), func(Change) {})
	}
	if err != nil {
		t.Fatal(err)
	}
	gitIn(t, want.Dir, "branch", "rescue/later", "topic")
	gitIn(t, want.Dir, "branch", "-f", "agent/D-3", "topic") // somebody works on it now
	gitIn(t, want.Dir, "update-ref", "refs/notes/lessons", "topic")
	gitIn(t, want.Dir, "update-ref", "refs/ward/mine", "topic")
	const mine = "refs/heads/agent/D-1, refs/heads/agent/D-3, refs/heads/agent/mine, refs/heads/rescue/2024-laptop, refs/heads/rescue/later, refs/heads/rescue/moved, refs/heads/rescue/pm, refs/notes/lessons, refs/ward/mine"
	for _, again := range []bool{false, true} {
		if again {
			run(t, want) // Ward comes back, and records what it finds
		}
		if plan, err = PlanRemoval(t.Context(), Removal{Dir: want.Dir, Purge: true}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(plan.Stays, "\n"); !strings.Contains(got, ": "+mine+"; git --git-dir="+want.Dir+" update-ref -d REF") {
			t.Errorf("again %t: %s", again, got)
		}
	}
	take(t, want.Dir)
	for _, ref := range strings.Split(mine, ", ") {
		id(ref)
	}
	for _, ref := range []string{"refs/heads/agent/D-2", "refs/heads/ward", "refs/ward/audit", "refs/notes/audit"} {
		if got := gitIn(t, want.Dir, "for-each-ref", ref); got != "" {
			t.Error(got)
		}
	}
	if plan, err := PlanRemoval(t.Context(), Removal{Dir: want.Dir, Purge: true}); err != nil || len(plan.Steps)+len(plan.Stays) > 0 {
		t.Errorf("once more: %+v, %v", plan, err)
	}
}

// TestRemovesWhatItMade: what somebody put into ward/ stays, and the plan names it; so do
// reflogs that git was to write without Ward, too.
func TestRemovesWhatItMade(t *testing.T) {
	want := request(t, project(t, "master"))
	gitIn(t, want.Dir, "config", "core.logAllRefUpdates", "true")
	run(t, want)
	gitIn(t, want.Dir, "branch", "mine", "master")
	theirs := []string{"ward/launch.env", "ward/allowed_signers", "ward/config.toml.bak", "ward/scripts/thesis",
		"ward/.signers.2026", "ward/.launcher.json.123", "ward/.keys.1/id_ed25519", "ward/.config.toml.1/thesis"} // which no killed writer of Ward's left
	for _, dir := range []string{"scripts", ".keys.1", ".config.toml.1"} {
		if err := os.Mkdir(filepath.Join(want.Dir, "ward", dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	half := []string{"ward/.launcher.json.ward-123", "ward/.verdict.pub.ward-7"}
	const key = "ssh-ed25519 AAAA pat@host\n"
	overwrite(t, filepath.Join(want.Dir, "ward/authorized_keys"), keyline.Begin+"x\" ssh-ed25519 AAAA ward:D-1.0123\n"+key)
	for _, name := range append(half, theirs...) {
		overwrite(t, filepath.Join(want.Dir, name), "mine")
	}
	plan, err := PlanRemoval(t.Context(), Removal{Dir: want.Dir})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(plan.Stays, "\n"); !strings.Contains(got, "what Ward did not make: ward/.config.toml.1, ward/.keys.1, ward/.launcher.json.123, ward/.signers.2026, ward/allowed_signers, 1 line of ward/authorized_keys, ward/config.toml.bak, ward/launch.env, ward/scripts") {
		t.Error(got)
	}
	if !slices.ContainsFunc(plan.Steps, func(s Step) bool { return strings.Contains(fmt.Sprint(s.Change), strings.Join(half, ", ")) }) {
		t.Errorf("what is half written is not named: %v", plan.Steps)
	}
	take(t, want.Dir)
	for _, name := range append(theirs, "logs/refs/heads/mine") {
		if _, err := os.Stat(filepath.Join(want.Dir, name)); err != nil {
			t.Error(err)
		}
	}
	for _, name := range append(half, config.Path, beforeFile, "ward/door.key", "ward/pending") {
		if _, err := os.Lstat(filepath.Join(want.Dir, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if keys, err := os.ReadFile(filepath.Join(want.Dir, "ward/authorized_keys")); string(keys) != key {
		t.Errorf("%q, %v", keys, err)
	}
	if plan, err := PlanRemoval(t.Context(), Removal{Dir: want.Dir}); err != nil || len(plan.Steps) > 0 {
		t.Errorf("again: %+v, %v", plan, err)
	}
}

// TestRemovesNothingOfOthersInside: what somebody put into a directory of Ward's stays, and so
// does a directory that has the name of one of Ward's files.
func TestRemovesNothingOfOthersInside(t *testing.T) {
	want := request(t, project(t, "master"))
	run(t, want)
	theirs := []string{"aside/notes.txt", "cache/mine/a", "door/notes", "held/notes", "judging/notes", "live/notes", "pending/notes.txt", "redacted/a", "workers/notes.txt"}
	ours := []string{"aside/20261129T1-1.json", "aside/20261129T1-1.json.2", "cache/fill.lock", "cache/0123456789abcdef-01234567-12/ward.json", "cache/ward-fill-ab2c/mod/x", "door/receive-pack-agent-host.1.turns",
		"held/D-1.0a.json", "held/D-1.0a.word.json", "judging/D-1.2.json", "live/D-1.jsonl", "live/D-1.jsonl.1", "pending/20261129T1-1.json", "pending/.20261129T1-1.json.ward-12", "workers/host.1.json"}
	for _, name := range slices.Concat(theirs, ours) {
		path := filepath.Join(want.Dir, "ward", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		overwrite(t, path, "x")
	}
	plan, err := PlanRemoval(t.Context(), Removal{Dir: want.Dir, Purge: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(plan.Stays, "\n"); !strings.Contains(got, "what Ward did not make: ward/aside/notes.txt, ward/cache/mine, ward/door/notes, ward/held/notes, ward/judging/notes, ward/live/notes, ward/pending/notes.txt, ward/redacted, ward/workers/notes.txt") {
		t.Error(got)
	}
	take(t, want.Dir)
	for _, name := range theirs {
		if data, err := os.ReadFile(filepath.Join(want.Dir, "ward", name)); string(data) != "x" {
			t.Error(err)
		}
	}
	for _, name := range append(ours, "config.toml", "door.key") {
		if _, err := os.Lstat(filepath.Join(want.Dir, "ward", name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestInitKeepsCopies: a person's copy of a file that init writes stays, whenever it was made.
func TestInitKeepsCopies(t *testing.T) {
	want := request(t, project(t, "master"))
	run(t, want)
	for _, name := range []string{".config.20261122", "hooks/.pre-receive.20261122", "ward/.config.toml.20261122"} {
		overwrite(t, filepath.Join(want.Dir, name), "mine")
	}
	left := filepath.Join(want.Dir, ".config.ward-20261122") // of an init that was killed
	overwrite(t, left, "")
	run(t, want)
	for _, name := range []string{".config.20261122", "hooks/.pre-receive.20261122", "ward/.config.toml.20261122"} {
		if _, err := os.Stat(filepath.Join(want.Dir, name)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: %v", left, err)
	}
}

// TestRemovesNoNeighbours: a log beside the reflogs stays, and so do notes whose names begin as
// Ward's do.
func TestRemovesNoNeighbours(t *testing.T) {
	want := request(t, project(t, "master"))
	gitIn(t, want.Dir, "update-ref", "refs/notes/audit-2024", "master")
	run(t, want)
	gitIn(t, want.Dir, "update-ref", "refs/notes/lessons-learned", "master")
	gitIn(t, want.Dir, "branch", "mine", "master") // which begins a reflog
	log := filepath.Join(want.Dir, "logs/server.log")
	overwrite(t, log, "mine")
	take(t, want.Dir)
	for _, ref := range []string{"refs/notes/audit-2024", "refs/notes/lessons-learned"} {
		gitIn(t, want.Dir, "rev-parse", "--verify", "--quiet", ref)
	}
	if data, err := os.ReadFile(log); string(data) != "mine" {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(want.Dir, "logs/refs")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the reflogs stay", err)
	}
}

// TestRemovesNoStash: git keeps stashes in a reflog, and writes those of a worktree's branches
// whatever Ward set: they stay, and are named.
func TestRemovesNoStash(t *testing.T) {
	want := request(t, project(t, "master"))
	run(t, want)
	tree := filepath.Join(t.TempDir(), "tree")
	gitIn(t, want.Dir, "worktree", "add", "--quiet", "--detach", tree, "master")
	entry := filepath.Join(want.Dir, "worktrees/tree")
	for _, text := range []string{"one", "two"} {
		overwrite(t, filepath.Join(tree, "new"), text)
		gitIn(t, entry, "--work-tree="+tree, "add", "new")
		gitIn(t, entry, "--work-tree="+tree, "stash", "push", "--quiet")
	}
	plan, err := PlanRemoval(t.Context(), Removal{Dir: want.Dir})
	if err != nil || !strings.Contains(strings.Join(plan.Stays, "\n"), "a worktree or a stash") {
		t.Errorf("%v: %q", err, plan.Stays)
	}
	take(t, want.Dir)
	if got := gitIn(t, entry, "--work-tree="+tree, "stash", "list"); strings.Count(got, "stash@") != 2 {
		t.Errorf("stashes: %q", got)
	}
}

// TestRemovesNoMount: what is mounted in Ward's own directory is somebody's, and keeps the
// removal from all of it.
func TestRemovesNoMount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root may mount a directory")
	}
	want := request(t, project(t, "master"))
	run(t, want)
	mine, at := t.TempDir(), filepath.Join(want.Dir, "ward/cache")
	overwrite(t, filepath.Join(mine, "file"), "mine")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount(mine, at, "", syscall.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	mounted := true
	unmount := func() {
		if err := syscall.Unmount(at, 0); err != nil && mounted {
			t.Error(err)
		}
		mounted = false
	}
	t.Cleanup(unmount)
	if _, err := PlanRemoval(t.Context(), Removal{Dir: want.Dir}); err == nil || !strings.Contains(err.Error(), at+" is mounted below ") {
		t.Error(err)
	}
	if data, err := os.ReadFile(filepath.Join(mine, "file")); string(data) != "mine" {
		t.Error(err)
	}
	unmount()
	take(t, want.Dir)
}

// TestMadeIsWhole: no file that Ward's programs name in ward/ is missing from those that go.
func TestMadeIsWhole(t *testing.T) {
	found := 0
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "sandbox/kube/") || strings.Contains(path, "protocols/forge/") {
			return err // there they are labels, and the name of a status
		}
		data, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`"ward/([a-z_.-]+)[/"]|(?:Dir|bare), "ward", "([a-z_.-]+)"`).FindAllStringSubmatch(string(data), -1) {
			name := m[1] + m[2]
			if found++; !made.MatchString(name) && name != "allowed_signers" {
				t.Errorf("%s: ward/%s would stay when Ward goes", path, name)
			}
		}
		return err
	})
	if err != nil || found < 40 {
		t.Errorf("%d names, %v", found, err)
	}
}

// TestBesideAnother: two inits at once are two after another, and a removal that was planned
// before an init is not carried out after it.
func TestBesideAnother(t *testing.T) {
	want := request(t, project(t, "master"))
	before := contents(t, want.Dir)
	var both sync.WaitGroup
	for range 3 {
		both.Go(func() {
			if _, err := Run(t.Context(), want); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if got := gitIn(t, want.Dir, "rev-list", "--count", "refs/ward/audit"); got != "1" {
		t.Errorf("%s records of one beginning", got)
	}
	plan, err := PlanRemoval(t.Context(), Removal{Dir: want.Dir, Purge: true})
	if err != nil {
		t.Fatal(err)
	}
	take(t, want.Dir)
	if err := plan.Carry(t.Context(), func(Change) {}); err == nil || !strings.Contains(err.Error(), "was changed while Ward's removal was planned") {
		t.Error(err)
	}
	if diff := differ(before, contents(t, want.Dir)); len(diff) > 0 {
		t.Error(diff)
	}
}

// TestRemovesNothing: an init that was killed before it wrote anything down has changed no
// setting, and a ward/ that Ward did not make is no Ward's to remove.
func TestRemovesNothing(t *testing.T) {
	dir := project(t, "master")
	gitIn(t, dir, "config", "gc.auto", "0")
	gitIn(t, dir, "config", "--add", "receive.hideRefs", hiddenRefs[0])
	before := contents(t, dir)
	if err := os.MkdirAll(filepath.Join(dir, "ward/pending"), 0o700); err != nil {
		t.Fatal(err)
	}
	take(t, dir)
	if diff := differ(before, contents(t, dir)); len(diff) > 0 {
		t.Error(diff)
	}
	for _, theirs := range []string{"ward", "ward/notes"} {
		dir := project(t, "master")
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, theirs)), 0o755); err != nil {
			t.Fatal(err)
		}
		overwrite(t, filepath.Join(dir, theirs), "theirs")
		before := contents(t, dir)
		if _, err := Run(t.Context(), request(t, dir)); err == nil || !strings.Contains(err.Error(), "Ward needs its place") {
			t.Error(err)
		}
		take(t, dir)
		if diff := differ(before, contents(t, dir)); len(diff) > 0 {
			t.Error(diff)
		}
	}
}

// TestRemovesSharing: what init opened to a group is closed again, but for objects.
func TestRemovesSharing(t *testing.T) {
	want := request(t, project(t, "master"))
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: it gives files to a group of its own choice, which needs root")
	}
	before := contents(t, want.Dir)
	run(t, want)
	path := filepath.Join(want.Dir, config.Path)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if data, err = config.Set(data, "identity.pm", `["@users"]`); err != nil {
		t.Fatal(err)
	}
	overwrite(t, path, string(data))
	if changes := run(t, want); !slices.ContainsFunc(changes, func(c string) bool { return strings.Contains(c, "to group ") }) {
		t.Fatalf("nothing was opened: %q", changes)
	}
	if len(differ(before, contents(t, want.Dir))) == 0 {
		t.Fatal("nothing changed")
	}
	take(t, want.Dir)
	if diff := differ(before, contents(t, want.Dir)); len(diff) > 0 {
		t.Errorf("%s", strings.Join(diff, "\n"))
	}
}

// TestRemovesOldInstallation: where an earlier version installed Ward and wrote nothing down,
// what is Ward's by its look goes.
func TestRemovesOldInstallation(t *testing.T) {
	want := request(t, project(t, "master"))
	gitIn(t, want.Dir, "config", "--unset", "receive.fsckobjects")
	before := contents(t, want.Dir)
	run(t, want)
	for _, again := range []bool{false, true} {
		if err := os.Remove(filepath.Join(want.Dir, beforeFile)); err != nil {
			t.Fatal(err)
		}
		if again {
			run(t, want)
		}
		if !again {
			run(t, want) // this version meets it first by an init
		}
	}
	take(t, want.Dir)
	after := contents(t, want.Dir)
	for _, key := range []string{"refs", "HEAD", "hooks/pre-receive"} {
		if before[key] != after[key] {
			t.Errorf("%s: %q, was %q", key, after[key], before[key])
		}
	}
	if got := gitIn(t, want.Dir, "config", "--list", "--local"); strings.Contains(got, "ward") || strings.Contains(got, "hookspath") {
		t.Error(got)
	}
}

// The variables by which this test binary is told to be an init or a removal.
const childDir, childProgram, childVerb = "WARD_TEST_DIR", "WARD_TEST_PROGRAM", "WARD_TEST_VERB"

// child does what the parent test then kills; false in a parent.
func child() bool {
	dir := os.Getenv(childDir)
	switch os.Getenv(childVerb) {
	case "init":
		Run(context.Background(), Request{Dir: dir, Program: os.Getenv(childProgram), Config: []byte(config.Shipped), Template: fstest.MapFS{"COMMS.md": {Data: []byte("# COMMS\n")}}})
	case "remove":
		if plan, err := PlanRemoval(context.Background(), Removal{Dir: dir, Purge: true}); err == nil {
			plan.Carry(context.Background(), func(Change) {})
		}
	default:
		return false
	}
	return true
}

// TestKilledAt: an init or a removal that is killed between two of its changes leaves what
// the next run finishes; after both the repository is what it was.
func TestKilledAt(t *testing.T) {
	tier.Full(t, "Ward's programs are killed between each two of their changes, thirty times")
	bin, err := gittest.Bin()
	if err != nil {
		t.Fatal(err)
	}
	env, err := gittest.Environ(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := project(t, "master")
	before := contents(t, dir)
	ward := func(point string, args ...string) (killed bool) {
		cmd := exec.Command(filepath.Join(bin, "git-ward"), append(args, "--bare", dir)...)
		cmd.Env = append(env, failpoint.Var+"="+point+"=kill")
		out, err := await.Output(t, cmd)
		exit, ok := errors.AsType[*exec.ExitError](err)
		if killed = ok && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL; !killed && err != nil {
			t.Fatalf("%s %s: %v\n%s", args, point, err, out)
		}
		return killed
	}
	kills := 0
	for inits, removes, n := true, true, 1; inits || removes; n++ {
		inits = inits && ward(fmt.Sprintf("install/changed#%d", n), "init")
		ward("", "init")
		whole := contents(t, dir)
		ward("", "init")
		if diff := differ(whole, contents(t, dir)); len(diff) > 0 {
			t.Errorf("change %d: the run after the next changes %q", n, diff)
		}
		removes = removes && ward(fmt.Sprintf("install/removed#%d", n), "init", "--remove", "--purge", "--yes")
		ward("", "init", "--remove", "--purge", "--yes")
		if diff := differ(before, contents(t, dir)); len(diff) > 0 {
			t.Fatalf("change %d: %s", n, strings.Join(diff, "\n"))
		}
		if inits || removes {
			kills = n
		}
	}
	t.Logf("%d rounds of kills", kills)
	if kills < 5 {
		t.Error("it was killed at few places: the test proves little")
	}
	gitIn(t, dir, "fsck", "--strict")
}

// TestKilled: a kill -9 at any moment of init or remove leaves what the next run finishes;
// after both the repository is what it was.
func TestKilled(t *testing.T) {
	tier.Full(t, "two dozen kills at random moments; TestKilledAt kills between all changes")
	random := rand.New(rand.NewPCG(tier.Seed(t), 0))
	want := request(t, project(t, "master"))
	want.Template = fstest.MapFS{"COMMS.md": {Data: []byte("# COMMS\n")}}
	before := contents(t, want.Dir)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	run(t, want)
	whole := time.Since(start)
	take(t, want.Dir)
	for round := range 12 {
		for _, verb := range []string{"init", "remove"} {
			cmd := exec.Command(self)
			cmd.Env = append(os.Environ(), childDir+"="+want.Dir, childProgram+"="+want.Program, childVerb+"="+verb)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(random.Int64N(int64(whole + 50*time.Millisecond)))) // the moment of the kill is what is tried
			cmd.Process.Kill()
			cmd.Wait()
			for _, lock := range locks(t, want.Dir) {
				os.Remove(lock) // git's own, of a child that died with it
			}
			if verb == "init" {
				run(t, want)
				if again := run(t, want); len(again) > 0 {
					t.Errorf("round %d: the run after the next finds %q", round, again)
				}
				continue
			}
			await.True(t, "the end of what the killed removal had begun", func() bool {
				plan, err := PlanRemoval(t.Context(), Removal{Dir: want.Dir, Purge: true})
				if err == nil {
					err = plan.Carry(t.Context(), func(Change) {})
				}
				meanwhile := err != nil && strings.Contains(err.Error(), "was changed while Ward's removal was planned") // by a git child of its
				if err != nil && !meanwhile {
					t.Fatal(err)
				}
				return !meanwhile
			})
			after := contents(t, want.Dir)
			if diff := differ(before, after); len(diff) > 0 {
				t.Fatalf("round %d: %s", round, strings.Join(diff, "\n"))
			}
		}
	}
	gitIn(t, want.Dir, "fsck", "--strict")
}

// locks are git's lock files, which a killed child leaves.
func locks(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".lock") && !strings.Contains(path, "/ward/") {
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}
