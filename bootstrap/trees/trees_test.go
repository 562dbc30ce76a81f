package trees_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rs/zerolog"

	"git-ward/bootstrap/remote"
	"git-ward/bootstrap/statedir"
	"git-ward/bootstrap/supervisor"
	"git-ward/bootstrap/trees"
	"git-ward/internal/config"
	"git-ward/internal/gittest"
)

// TestMain lets the test binary be ward-watcher's hidden verb, by which a supervisor
// starts everything.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == supervisor.Verb {
		fmt.Println(supervisor.Limited(os.Args[2:]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// grove is a repository with two commits on main, and trees of it. No test here is
// parallel: the end of a command ends every other child of this process.
type grove struct {
	*trees.Trees
	t          *testing.T
	old, now   string   // commits
	rescued    []string // "tree uncommitted"
	rescueFail error
}

func newGrove(t *testing.T, settings ...string) *grove {
	t.Helper()
	dir := t.TempDir()
	g := &grove{t: t}
	bare := filepath.Join(dir, "remote.git")
	g.git(dir, "init", "--quiet", "--bare", "--initial-branch=main", bare)
	for _, commit := range []*string{&g.old, &g.now} {
		g.write(dir+"/agent.sh", fmt.Sprint("version ", commit == &g.now))
		g.git(dir, "--git-dir="+bare, "--work-tree=.", "add", "agent.sh")
		g.git(dir, "--git-dir="+bare, "--work-tree=.", "commit", "--quiet", "-m", "x")
		*commit = g.git(bare, "rev-parse", "HEAD")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := supervisor.Become(self, 0)
	if err != nil {
		t.Fatal(err)
	}
	set, err := config.Parse([]byte("[bootstrap]\n"+strings.Join(settings, "\n")+"\n"), "test")
	if err != nil {
		t.Fatal(err)
	}
	state := &statedir.Dir{Path: filepath.Join(dir, "state")}
	g.Trees = &trees.Trees{
		Dir: state, Bare: bare, Remote: remote.Open(bare, set.Control), Supervisor: s, Settings: set,
		Record: &trees.Record{}, Save: func() {}, Log: zerolog.Nop(),
		Rescue: func(_ context.Context, tree string, uncommitted bool) ([]string, error) {
			rel, _ := filepath.Rel(state.Path, tree)
			g.rescued = append(g.rescued, fmt.Sprint(rel, " ", uncommitted))
			return []string{"rescue/1"}, g.rescueFail
		},
	}
	if err := errors.Join(state.Prepare(), g.WriteGitConfig()); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *grove) git(dir string, args ...string) string {
	g.t.Helper()
	return gittest.Git(g.t, dir, args...)
}

func (g *grove) write(path, text string) {
	g.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		g.t.Fatal(err)
	}
}

func (g *grove) read(path string) string {
	data, _ := os.ReadFile(path)
	return string(data)
}

// prepare prepares a tree that can be prepared.
func (g *grove) prepare(want trees.Want) string {
	g.t.Helper()
	dir, err := g.Prepare(g.t.Context(), want)
	if err != nil {
		g.t.Fatal(err)
	}
	return dir
}

// TestPrepare: a tree is that of the commit, built once for its code, and nothing
// that somebody left there stays, or is lost.
func TestPrepare(t *testing.T) {
	g := newGrove(t, `build = ["sh", "-c", "echo built >>built; echo x >>../builds"]`)
	want := trees.Want{Branch: "agent/D-1", Commit: g.old, Code: "old"}
	dir := g.prepare(want)
	if dir != filepath.Join(g.Dir.Path, "agent/D-1/remote") || g.read(dir+"/agent.sh") != "version false" || g.read(dir+"/built") != "built\n" {
		t.Errorf("%s has %q, %q", dir, g.read(dir+"/agent.sh"), g.read(dir+"/built"))
	}
	g.prepare(want)
	if got := g.read(dir + "/../builds"); got != "x\n" || g.rescued != nil {
		t.Errorf("built again: %q, or rescued what the build left: %v", got, g.rescued)
	}
	same := want
	same.Commit = g.now // only words differ
	g.prepare(same)
	if g.read(dir+"/agent.sh") != "version true" || g.read(dir+"/../builds") != "x\n" {
		t.Errorf("%q, built %q", g.read(dir+"/agent.sh"), g.read(dir+"/../builds"))
	}
	g.Rescued()
	g.write(dir+"/unsaved", "words")
	g.rescued = nil
	g.prepare(same)
	if fmt.Sprint(g.rescued, g.Rescued(), g.Rescued()) != "[agent/D-1/remote true] [rescue/1] []" || statedir.Exists(dir+"/unsaved") || g.read(dir+"/built") != "built\n" {
		t.Errorf("%v; %q", g.rescued, g.read(dir+"/built"))
	}
	other := trees.Want{Branch: "agent/D-1", Commit: g.old, Code: "other"}
	g.prepare(other)
	fresh := other
	fresh.Anew = true
	g.prepare(fresh)
	if got := g.read(dir + "/../builds"); got != strings.Repeat("x\n", 4) {
		t.Errorf("built %q", got)
	}
}

// TestAnew: a tree that is not to be trusted has what the commit has, whatever its repository
// was made to say: another commit in its place, files that git is not to look at, other
// content under an object's name.
func TestAnew(t *testing.T) {
	g := newGrove(t)
	want := trees.Want{Branch: "agent/D-1", Commit: g.old}
	dir := g.prepare(want)
	is := func(name, commit, text string) {
		t.Helper()
		want.Commit = commit
		g.prepare(want)
		if got := g.read(dir + "/agent.sh"); got != text {
			t.Errorf("%s: %q, want %q", name, got, text)
		}
	}
	g.git(dir, "replace", g.now, g.old)
	is("a commit that is replaced", g.now, "version true")
	want.Anew = true
	g.git(dir, "update-index", "--skip-worktree", "agent.sh")
	g.write(dir+"/agent.sh", "version evil")
	is("a file that is not looked at", g.now, "version true")
	object := func(repository, commit string) string {
		id := g.git(dir, "rev-parse", commit+":agent.sh")
		return repository + "/objects/" + id[:2] + "/" + id[2:]
	}
	if err := os.MkdirAll(filepath.Dir(object(dir+"/.git", g.old)), 0o755); err != nil {
		t.Fatal(err)
	}
	g.write(object(dir+"/.git", g.old), g.read(object(g.Bare, g.now)))
	is("an object that is another", g.old, "version false")
}

// TestMend: what a git that was killed left, or an agent broke, is no hindrance.
func TestMend(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in the quick tier: a hundred git commands")
	}
	g := newGrove(t)
	want := trees.Want{Branch: "main", Commit: g.old}
	dir := g.prepare(want)
	for name, harm := range map[string]func(){
		"locks":        func() { g.write(dir+"/.git/index.lock", ""); g.write(dir+"/.git/HEAD.lock", "") },
		"no HEAD":      func() { os.Remove(dir + "/.git/HEAD") },
		"no objects":   func() { os.RemoveAll(dir + "/.git/objects") },
		"read-only":    func() { os.Mkdir(dir+"/cache", 0o755); g.write(dir+"/cache/x", ""); os.Chmod(dir+"/cache", 0o500) },
		"no directory": func() { os.RemoveAll(dir); g.write(dir, "") },
		"a hook": func() {
			os.MkdirAll(dir+"/.git/hooks", 0o755)
			gittest.Program(t, dir+"/.git/hooks/post-checkout", "#!/bin/sh\nexit 1\n")
		},
	} {
		harm()
		for _, commit := range []string{g.now, g.old} {
			want.Commit = commit
			if _, err := g.Prepare(t.Context(), want); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if head := g.git(dir, "rev-parse", "HEAD"); head != commit || statedir.Exists(dir+"/cache") {
				t.Errorf("%s: %s", name, head)
			}
		}
	}
}

// TestFailures say which step it was, and with what words it ended.
func TestFailures(t *testing.T) {
	g := newGrove(t, `build = ["sh", "-c", "test -e ../ok || { echo this is why; exit 3; }"]`, `validate = ["sh", "-c", "echo tried >>../tries; exit 4"]`)
	want := trees.Want{Branch: "agent/x", Commit: g.old, Code: "c", Validate: true}
	fails := func(reason string) {
		t.Helper()
		if _, err := g.Prepare(t.Context(), want); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%v", err)
		}
	}
	fails("build: exit 3: this is why")
	if log := g.read(g.Dir.BuildLog()); !strings.Contains(log, "this is why") {
		t.Errorf("build.log has %q", log)
	}
	g.write(filepath.Join(g.Dir.Path, "agent/x/ok"), "")
	fails("validate: exit 4")
	g.Settings.Bootstrap.Validate = []string{"sh", "-c", "echo tried >>../tries"}
	for range 3 {
		g.prepare(want)
	}
	if got := g.read(filepath.Join(g.Dir.Path, "agent/x/tries")); got != "tried\ntried\n" {
		t.Errorf("validate ran: %q", got)
	}
	want.Commit = strings.Repeat("0", 40)
	fails("git ")
	want.Branch = "logs/x"
	fails("own folder logs")
}

// TestLeave removes a tree with its directories, keeps what it held, and stays away from
// all else.
func TestLeave(t *testing.T) {
	g := newGrove(t)
	g.prepare(trees.Want{Branch: "main", Commit: g.now})
	dir := g.prepare(trees.Want{Branch: "agent/D-1", Commit: g.now})
	g.prepare(trees.Want{Branch: "agent/D-2", Commit: g.now})
	g.write(dir+"/unsaved", "words")
	g.rescueFail = errors.New("no way there")
	g.Leave(t.Context(), "agent/D-1")
	if fmt.Sprint(g.rescued) != "[agent/D-1/remote true]" || statedir.Exists(filepath.Join(g.Dir.Path, "agent/D-1")) {
		t.Errorf("%v", g.rescued)
	}
	g.Leave(t.Context(), "agent/D-2")
	g.Leave(t.Context(), "agent/D-3")
	g.Leave(t.Context(), "../x")
	if statedir.Exists(filepath.Join(g.Dir.Path, "agent")) || !statedir.Exists(filepath.Join(g.Dir.Path, "main/remote/.git")) {
		t.Error("agent/ is left, or main is gone")
	}
}

// TestRunCommand is the settings', from the tree where it is a path.
func TestRunCommand(t *testing.T) {
	g := newGrove(t)
	for want, run := range map[string][]string{"[sh agent.sh]": {"sh", "agent.sh"}, "[/tree/bin/x -a]": {"bin/x", "-a"}, "[/bin/x]": {"/bin/x"}, "[]": nil} {
		g.Settings.Bootstrap.Run = run
		if got := fmt.Sprint(g.RunCommand(t.Context(), "/tree")); got != want {
			t.Errorf("%s: %s", run, got)
		}
	}
}

// TestClearDisk leaves a disk alone that is not the agent's own, or not full. A full
// one is sandbox's (TestWatcher, in the fence).
func TestClearDisk(t *testing.T) {
	fill := filepath.Join(t.TempDir(), "fill")
	if err := os.WriteFile(fill, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, separate := range []bool{false, true} {
		g := trees.Trees{Dir: &statedir.Dir{Path: filepath.Dir(fill), Separate: separate}}
		if g.Dir.Free() < 0.1 {
			t.Skip("SKIPPED: this machine's disk is nearly full")
		}
		if g.ClearDisk(t.Context(), func() {}) || !statedir.Exists(fill) {
			t.Errorf("separate %v: it was cleared", separate)
		}
	}
}

// TestTreesSettings: what an agent wrote into its tree's repository, monitors, filters,
// hooks, a nested repository, runs nothing when the watcher looks at the tree, and a .git
// that is no directory is no repository.
func TestTreesSettings(t *testing.T) {
	g := newGrove(t)
	dir, err := g.Prepare(t.Context(), trees.Want{Branch: "main", Commit: g.old})
	if err != nil {
		t.Fatal(err)
	}
	ran := filepath.Join(t.TempDir(), "ran")
	evil := filepath.Join(filepath.Dir(ran), "evil")
	g.write(evil, "#!/bin/sh\necho $* >>"+ran+"\nexec cat\n")
	if err := os.Chmod(evil, 0o755); err != nil {
		t.Fatal(err)
	}
	settings := func(dir string) {
		for _, s := range [][2]string{
			{"core.fsmonitor", evil}, {"core.hooksPath", dir + "/hooks"}, {"filter.x.clean", evil + " clean"}, {"filter.x.smudge", evil + " smudge"},
			{"filter.x.required", "true"}, {"core.sshCommand", evil}, {"core.pager", evil}, {"uploadpack.packObjectsHook", evil},
		} {
			g.git(dir, "config", s[0], s[1])
		}
		if err := os.MkdirAll(dir+"/.git/info", 0o755); err != nil {
			t.Fatal(err)
		}
		g.write(dir+"/.git/info/attributes", "* filter=x\n")
	}
	spoil := func() {
		nested := dir + "/nested"
		g.git(dir, "init", "--quiet", nested)
		settings(nested)
		settings(dir)
		g.write(dir+"/agent.sh", "spoilt")
	}
	spoil()
	g.git(dir, "status") // the attack, where nothing keeps it from that
	if _, err := os.Stat(ran); err != nil {
		t.Fatal("the attack does nothing: ", err)
	}
	os.Remove(ran)
	if _, err := g.Prepare(t.Context(), trees.Want{Branch: "main", Commit: g.now}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(ran); err == nil {
		t.Errorf("it ran: %s", data)
	}
	for _, make := range []func() error{
		func() error { return os.Symlink(filepath.Dir(evil), dir+"/.git") },
		func() error { return os.WriteFile(dir+"/.git", []byte("gitdir: "+filepath.Dir(evil)), 0o644) },
	} {
		if err := errors.Join(os.RemoveAll(dir+"/.git"), make()); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Prepare(t.Context(), trees.Want{Branch: "main", Commit: g.now}); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(dir + "/.git"); err != nil || !info.IsDir() {
			t.Errorf("%v %v", info, err)
		}
	}
}

// TestPipesInATree: what an agent put where git reads a file, and at which git would wait for
// ever, keeps no tree from being made: named pipes in the repository and among the work, and
// links to one.
func TestPipesInATree(t *testing.T) {
	g := newGrove(t)
	dir, err := g.Prepare(t.Context(), trees.Want{Branch: "main", Commit: g.now})
	if err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	mkfifo := func(path string) error { return syscall.Mkfifo(path, 0o644) }
	link := func(path string) error { return os.Symlink(pipe, path) }
	if err := mkfifo(pipe); err != nil {
		t.Fatal(err)
	}
	for at, make := range map[string]func(string) error{
		".git/HEAD": mkfifo, ".git/index": link, ".git/packed-refs": mkfifo, ".git/refs/heads/main": link, ".git/objects/info/alternates": mkfifo,
		".git/shallow": link, ".gitignore": mkfifo, ".gitattributes": link, "deep/.gitignore": mkfifo, "agent.sh": mkfifo,
	} {
		path := filepath.Join(dir, at)
		os.Remove(path)
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(filepath.Dir(path)+"/file", nil, 0o644), make(path))
		if err != nil {
			t.Fatal(err)
		}
		_, err = g.Prepare(t.Context(), trees.Want{Branch: "main", Commit: g.now})
		if err != nil || g.read(dir+"/agent.sh") != "version true" {
			t.Fatalf("%s: %v", at, err)
		}
		if head := g.git(dir, "rev-parse", "HEAD"); head != g.now {
			t.Errorf("%s: %s, want %s", at, head, g.now)
		}
	}
}

// TestTreesSettingsStay: where what an agent wrote into its tree's repository cannot be
// taken away, as on a full disk, the watcher runs no git there; what the tree holds is kept
// before the tree goes.
func TestTreesSettingsStay(t *testing.T) {
	g := newGrove(t)
	dir, err := g.Prepare(t.Context(), trees.Want{Branch: "main", Commit: g.old})
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	ran := filepath.Join(bin, "ran")
	g.write(bin+"/evil", "#!/bin/sh\n: >"+ran+"\n")
	g.write(bin+"/rm", "#!/bin/sh\n[ \"$2\" != .git/config ] || ! mkdir "+bin+"/once || exit 1\nPATH=${PATH#*:} exec rm \"$@\"\n")
	g.git(dir, "config", "core.fsmonitor", bin+"/evil")
	g.write(dir+"/unsaved", "words")
	if err := errors.Join(os.Chmod(bin+"/evil", 0o755), os.Chmod(bin+"/rm", 0o755)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	g.rescued = nil
	if _, err := g.Prepare(t.Context(), trees.Want{Branch: "main", Commit: g.now}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"main/remote true"}; !slices.Equal(g.rescued, want) {
		t.Errorf("kept: %q", g.rescued)
	}
	if statedir.Exists(ran) || statedir.Exists(dir+"/unsaved") {
		t.Error("git was run in the tree, or it is the old one")
	}
}
