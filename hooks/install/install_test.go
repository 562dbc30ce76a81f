package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/hookdir"
	"git-ward/internal/tier"
)

func TestMain(m *testing.M) {
	if child() {
		return
	}
	code := m.Run()
	gittest.Clean()
	os.Exit(code)
}

// request is one for a directory, with the real hook and a template of three files.
func request(t *testing.T, dir string) Request {
	t.Helper()
	tier.First(t, "it builds the hook binary")
	bin, err := gittest.Bin() // an installed hook is told by what Go writes into its binaries
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(bin, "ward-hook")
	settings, err := os.ReadFile("../../config.toml")
	if err != nil {
		t.Fatal(err)
	}
	return Request{Dir: dir, Program: program, Config: settings, Template: fstest.MapFS{
		"COMMS.md": {Data: []byte("# COMMS\n")}, "protocols/a.md": {Data: []byte("a\n")}, "AGENTS.md": {Data: []byte("agents\n")},
	}}
}

// run is Run, which has to succeed.
func run(t *testing.T, want Request) []string {
	t.Helper()
	done, err := Run(t.Context(), want)
	if err != nil {
		t.Fatal(err, done.Changes)
	}
	var words []string
	for _, c := range done.Changes {
		words = append(words, c.Done())
	}
	return words
}

// gitIn runs git on the repository, in an environment of its own.
func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"--git-dir=" + dir}, args...)...)
	cmd.Env = append(git.Open(dir).Environ(), "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestRunTwice: the second run of the same request finds nothing to do, and the first
// commit is one that git itself finds whole.
func TestRunTwice(t *testing.T) {
	want := request(t, filepath.Join(t.TempDir(), "r.git"))
	if first := run(t, want); len(first) == 0 || !slices.Contains(first, "committed the template to main: AGENTS.md COMMS.md protocols") {
		t.Errorf("%q", first)
	}
	gitIn(t, want.Dir, "fsck", "--strict")
	if got := gitIn(t, want.Dir, "ls-tree", "-r", "--format=%(objectmode) %(path)", "main"); got != "100644 AGENTS.md\n100644 COMMS.md\n100644 protocols/a.md" {
		t.Error(got)
	}
	if got := gitIn(t, want.Dir, "log", "--format=%an <%ae>: %s", "main"); got != "Ward <ward@localhost>: ward: first commit, from the template" {
		t.Error(got)
	}
	if second := run(t, want); len(second) > 0 {
		t.Errorf("changed again: %q", second)
	}
}

// TestMends: what is missing or was switched off is mended, and only that.
func TestMends(t *testing.T) {
	want := request(t, filepath.Join(t.TempDir(), "r.git"))
	run(t, want)
	for _, c := range []struct {
		name    string
		breakIt func()
		change  string // the one that is reported
	}{
		{"a hook", func() { os.Remove(filepath.Join(want.Dir, "hooks/pre-receive")) }, "installed hooks/pre-receive"},
		{"a hook of another version", func() { appendTo(t, filepath.Join(want.Dir, "hooks/pre-receive")) }, "installed hooks/pre-receive"},
		{"hooksPath", func() { gitIn(t, want.Dir, "config", "core.hooksPath", "/elsewhere") }, "set core.hooksPath = hooks"},
		{"reflogs", func() { gitIn(t, want.Dir, "config", "core.logAllRefUpdates", "false") }, "set core.logAllRefUpdates = always"},
		{"hidden refs", func() { gitIn(t, want.Dir, "config", "--unset-all", "receive.hideRefs", "refs/ward/lease") }, "set receive.hideRefs for 1 ref that only the host moves"},
		{"the door's key", func() { os.Remove(filepath.Join(want.Dir, "ward/door.key")) }, "wrote ward/door.key"},
		{"a ref that nobody recorded", func() { gitIn(t, want.Dir, "update-ref", "refs/heads/x", "main") }, "recorded 1 ref in the audit"},
		{"what the admin has chosen", func() { gitIn(t, want.Dir, "config", "receive.maxInputSize", "5") }, ""},
	} {
		c.breakIt()
		changes := run(t, want)
		if c.change == "" && len(changes) > 0 || c.change != "" && !slices.Contains(changes, c.change) {
			t.Errorf("%s: %q, want %q", c.name, changes, c.change)
		}
		if again := run(t, want); len(again) > 0 {
			t.Errorf("%s: changed again: %q", c.name, again)
		}
	}
}

// appendTo makes a hook another one that is Ward's still, as an old version is.
func appendTo(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("more"); err != nil {
		t.Fatal(err)
	}
}

func overwrite(t *testing.T, path, text string) {
	t.Helper()
	gittest.Program(t, path, text)
}

// TestHooksElsewhere: the request's directory holds the hooks, and a later run without
// it finds them there.
func TestHooksElsewhere(t *testing.T) {
	want := request(t, filepath.Join(t.TempDir(), "r.git"))
	want.Hooks = "server/hooks"
	run(t, want)
	want.Hooks = ""
	if changes := run(t, want); len(changes) > 0 {
		t.Errorf("%q", changes)
	}
	for _, name := range hookdir.Names {
		if _, err := os.Stat(filepath.Join(want.Dir, "server/hooks", name)); err != nil {
			t.Error(err)
		}
	}
	if got := gitIn(t, want.Dir, "config", "--local", "core.hooksPath"); got != "server/hooks" {
		t.Error(got)
	}
}
