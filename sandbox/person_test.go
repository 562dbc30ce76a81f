package sandbox

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/gittest"
	"git-ward/internal/runstate"
	"git-ward/internal/tier"
)

// belongings are a person's: trees of files in directories where Ward makes things and
// removes them, called as it calls its own, with one link that leads elsewhere.
type belongings struct {
	dirs   []string
	before map[string]string
}

// each is how many files a person has in one directory.
const each = 50

func lay(t *testing.T, dirs ...string) *belongings {
	t.Helper()
	b := &belongings{dirs: dirs}
	old := time.Date(2020, 2, 2, 2, 2, 2, 0, time.UTC)
	for _, dir := range dirs {
		err := os.MkdirAll(filepath.Join(dir, "deep"), 0o755)
		for i := range each {
			path := filepath.Join(dir, [...]string{"", "deep"}[i%2], fmt.Sprint("file", i))
			err = errors.Join(err, os.WriteFile(path, fmt.Appendln(nil, dir, i), 0o644), os.Chmod(path, [...]fs.FileMode{0o600, 0o444, 0o755}[i%3]), os.Chtimes(path, old, old))
		}
		err = errors.Join(err, os.Symlink("/etc", filepath.Join(dir, "link")), os.Chtimes(filepath.Join(dir, "deep"), old, old), os.Chtimes(dir, old, old))
		if err != nil {
			t.Fatal(err)
		}
	}
	b.before = b.now(t)
	return b
}

// now is each path with its content, mode and time.
func (b *belongings) now(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, dir := range b.dirs {
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // it is missed below
			}
			info, err := d.Info()
			if err != nil {
				return nil
			}
			all[path] = fmt.Sprint(info.Mode(), info.ModTime().UnixNano())
			if info.Mode().IsRegular() {
				data, _ := os.ReadFile(path)
				all[path] += fmt.Sprintf(" %x", sha256.Sum256(data))
			}
			return nil
		})
	}
	return all
}

// same wants all as it was.
func (b *belongings) same(t *testing.T, after string) {
	t.Helper()
	now := b.now(t)
	for path, was := range b.before {
		if now[path] != was {
			t.Errorf("after %s: %s is %q, was %q", after, path, now[path], was)
		}
	}
	if len(now) != len(b.before) {
		t.Errorf("after %s there are %d paths, and were %d", after, len(now), len(b.before))
	}
}

// TestBelongings: what lies around that Ward makes and removes is a person's, whatever it
// is called and whatever names it, and is the same after every verb that removes something.
func TestBelongings(t *testing.T) {
	tier.Full(t, "each verb that removes something, with launches")
	p := gittest.New(t)
	temp := t.TempDir()
	p.Env = append(p.Env, "TMPDIR="+temp)
	dir := filepath.Dir(p.Bare)
	p.Commit("COMMS.md", "# COMMS\n\n## Directives\n\n## Reports\n")
	p.Run(p.Work, "git", "push", "-q", "origin", "HEAD:main")
	at := func(base string, names ...string) (all []string) {
		for _, n := range names {
			all = append(all, filepath.Join(base, n))
		}
		return all
	}
	project := filepath.Join(dir, "ward-project")
	state := filepath.Join(dir, "my-state")
	var dirs []string
	dirs = append(dirs, at(temp, "ward-apart-1", "ward-build-2", "ward-podman-3", "ward-1234567890", "ward-verify-4", "ward-stat-5", "ward-init-6", "ward-index-7")...)
	dirs = append(dirs, at(dir, "ward-project", "clone.ward", ".report.8", "ward-report-9", "state.old")...)
	dirs = append(dirs, at(p.Bare, "mine", "worktree", ".new-1")...)
	dirs = append(dirs, at(state, "main/remote", "main/remote.git", "agent/D-1", ".aside")...)
	b := lay(t, dirs...)
	if n := len(b.before); n < 1000 {
		t.Fatalf("%d paths are too few", n)
	}
	try := func(what string, args ...string) {
		t.Helper()
		out, err := p.Try(dir, nil, "", args[0], args[1:]...)
		t.Logf("%s: %v: %s", what, err, lastLine(out, nil))
		b.same(t, what)
	}
	lock := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(p.Bare, runstate.LockPath), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	launch := []string{"git-ward", "launch", "--bare", p.Bare, "--unfenced", "--once", "--state"}
	own := filepath.Join(dir, "state")
	try("a launch", append(launch, own)...)
	lock("1\n" + project + "\n\n2026-11-24T00:00:00Z\n")
	try("a launch, where the lock names a person's directory", append(launch, own)...)
	lock("1\n" + project + "\n\n2026-11-24T00:00:00Z\nABCDEFGHIJKLMNOPQRSTUVWXYZ\n")
	try("a launch, where the lock names it with an identity", append(launch, own)...)
	try("a launch with --state of a person's directory", append(launch, state)...)
	try("a launch with --reset", append(launch[:5:5], "--reset", "--once", "--state", own)...)
	try("a clone of nothing beside a person's directory", "git-ward", "clone", filepath.Join(dir, "nothing.git"), "clone")
	try("a clone of nothing", "git-ward", "clone", filepath.Join(dir, "nothing.git"), "other")
	try("maintenance", "git-ward", "maintain", "--reclaim", "--bare", p.Bare)
	try("init again", "git-ward", "init", "--bare", p.Bare, "--update")
	try("review", "git-ward", "review", "--bare", p.Bare, "D-1")
	try("a removal", "git-ward", "init", "--remove", "--bare", p.Bare, "--purge", "--yes")
}

// everyVerb is all that git ward knows, as its own help has it: "uow list", "fsck".
func everyVerb(t *testing.T, p *gittest.Pair) (all [][]string) {
	t.Helper()
	for line := range strings.Lines(p.Run(p.Work, "git-ward", "help")) {
		rest, ok := strings.CutPrefix(line, "  ")
		if verb, _, _ := strings.Cut(rest, " "); ok && verb != "" {
			_, usage, _ := strings.Cut(p.Run(p.Work, "git-ward", "help", verb), "usage: git ward "+verb+" ")
			below, _, _ := strings.Cut(usage, "\n")
			below, _, _ = strings.Cut(below, " ")
			if !onlyVerbs.MatchString(below) {
				all = append(all, []string{verb})
				continue
			}
			for below := range strings.SplitSeq(below, "|") {
				all = append(all, []string{verb, below})
			}
		}
	}
	return all
}

var onlyVerbs = regexp.MustCompile(`^[a-z-]+(\|[a-z-]+)+$`)

// TestEveryVerb: no verb changes a person's files that it was not told to change, whether
// it is given nothing, a repository, a directive, or a directory with the person's files.
func TestEveryVerb(t *testing.T) {
	tier.Full(t, "each verb in six forms")
	p := gittest.New(t)
	dir, temp, none := filepath.Dir(p.Bare), t.TempDir(), t.TempDir()
	gittest.Program(t, filepath.Join(none, "podman"), "#!/bin/sh\nexit 1\n") // nothing is to be built here
	at := slices.IndexFunc(p.Env, func(v string) bool { return strings.HasPrefix(v, "PATH=") })
	p.Env[at] = "PATH=" + none + ":" + strings.TrimPrefix(p.Env[at], "PATH=")
	p.Env = append(p.Env, "TMPDIR="+temp)
	p.Commit("COMMS.md", "# COMMS\n\n## Directives\n\n### D-1: one\n\n- [ ] it is there (`test -e one`)\n- work: one\n\n## Reports\n")
	p.Run(p.Work, "git", "push", "-q", "origin", "HEAD:main")
	mine := filepath.Join(dir, "mine")
	b := lay(t, mine, filepath.Join(temp, "ward-1234"), filepath.Join(temp, "ward-build-2"), filepath.Join(dir, "project.ward"), filepath.Join(p.Bare, "mine"))
	all := everyVerb(t, p)
	if len(all) < 60 {
		t.Fatalf("only %d verbs: %v", len(all), all)
	}
	for _, verb := range all {
		for _, more := range [][]string{nil, {"--bare", p.Bare}, {"D-1"}, {mine}, {"--bare", p.Bare, mine}, {"--bare", mine}} {
			// Some serve until they are told to end; what they did until then counts.
			limit := "2"
			if verb[0] == "version" { // which ends by itself, on a slow machine later
				limit = "60"
			}
			args := slices.Concat([]string{"--signal=INT", "--kill-after=20", limit, "git-ward"}, verb, more)
			out, err := p.Try(p.Work, nil, "", "timeout", args...)
			if verb[0] == "version" && more == nil && err != nil {
				t.Fatalf("%v: %s", err, out) // else nothing was tried
			}
			before := t.Failed()
			b.same(t, strings.Join(args[3:], " "))
			if t.Failed() && !before {
				t.Fatal(out)
			}
		}
	}
}

// TestBackupBesideALaunch is the recipe of docs/admin.md, where the original works on: a
// launch of what was restored takes nothing of it away.
func TestBackupBesideALaunch(t *testing.T) {
	tier.Full(t, "launches of seconds")
	p := gittest.New(t)
	dir := filepath.Dir(p.Bare)
	p.Commit("COMMS.md", strings.ReplaceAll(toBeWatched, "`true`", "`false`")) // so its worker stays, and waits for a word
	p.Run(p.Work, "git", "push", "-q", "origin", "HEAD:main")
	p.Run(dir, "git-ward", "launch", "--bare", p.Bare, "--unfenced", "--model", "script", "--detach", "--state", filepath.Join(dir, "state"))
	t.Cleanup(func() { p.Try(dir, nil, "", "git-ward", "launch", "--stop", "--bare", p.Bare) })
	sockets := func() string {
		now, _ := runstate.Now(p.Bare)
		found, _ := filepath.Glob(filepath.Join(now.Scratch, "*", "*", "sock"))
		return strings.Join(found, " ")
	}
	await.True(t, "a worker of the launch that waits", func() bool {
		return sockets() != "" && strings.Contains(p.Run(p.Bare, "git", "show", "main:COMMS.md"), "EXIT_BLOCKED")
	})
	now, _ := runstate.Now(p.Bare)
	before := sockets()
	backup, restored := filepath.Join(dir, "backup.git"), filepath.Join(dir, "restored.git")
	p.Run(dir, "git", "clone", "-q", "--mirror", p.Bare, backup)
	p.Run(dir, "cp", "-a", filepath.Join(p.Bare, "ward"), backup)
	p.Run(dir, "cp", "-a", backup, restored)
	p.Run(dir, "git", "-C", restored, "config", "--remove-section", "remote.origin")
	p.Run(dir, "git-ward", "init", "--bare", restored)
	same := func(what string) {
		t.Helper()
		if at := sockets(); at != before || at == "" {
			t.Errorf("%s: the original's door and gateway are %q, and were %q", what, at, before)
		}
		if pid, running := runstate.Running(p.Bare); !running || pid != now.PID {
			t.Errorf("%s: the original is process %d, %v", what, pid, running)
		}
	}
	p.Run(dir, "git-ward", "launch", "--bare", restored, "--unfenced", "--model", "script", "--once", "--state", filepath.Join(dir, "other"))
	same("a launch of the copy")
	out, err := p.Try(dir, nil, "", "git-ward", "launch", "--bare", restored, "--unfenced", "--model", "script", "--once", "--state", filepath.Join(dir, "state"))
	if err == nil || !strings.Contains(out, "another launch works in "+filepath.Join(dir, "state")) || !strings.Contains(out, "--state DIR") {
		t.Errorf("two launches in one directory: %v\n%s", err, out)
	}
	same("a launch of the copy, in the original's state")
	p.Run(dir, "git-ward", "fsck", "--bare", restored)
}
