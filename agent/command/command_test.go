package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"git-ward/internal/cli"
)

// TestMain lets the test binary be git-ward, with this package's verbs.
func TestMain(m *testing.M) {
	keep := func(text string) string { return text }
	table := cli.Table{Program: "git ward", Groups: []cli.Group{{Commands: []cli.Command{
		Knowledge, Lesson, Orient(keep), PlanRun(keep), Research(keep), Task(keep), Agent}}}}
	testscript.Main(m, map[string]func(){"git-ward": func() { cli.Main("git-ward", table.Run) }})
}

// TestScripts runs the verbs in a clone of a remote that has no hooks.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			return os.WriteFile(filepath.Join(e.WorkDir, ".gitconfig"), []byte("[user]\n\tname = Pat\n\temail = pat@example.org\n[init]\n\tdefaultBranch = main\n"), 0o644)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"clone": clone},
	})
}

// clone makes work, a clone of a new remote with the script's files below tree/ as
// its first commit, and goes there.
func clone(ts *testscript.TestScript, _ bool, _ []string) {
	for _, line := range [][]string{
		{"git", "init", "--quiet", "--bare", "remote.git"},
		{"git", "init", "--quiet", "work"},
		{"cp", "-a", "tree/.", "work"},
		{"git", "-C", "work", "add", "--all"},
		{"git", "-C", "work", "commit", "--quiet", "--allow-empty", "-m", "first"},
		{"git", "-C", "work", "remote", "add", "origin", ts.MkAbs("remote.git")},
		{"git", "-C", "work", "push", "--quiet", "origin", "main"},
	} {
		ts.Check(ts.Exec(line[0], line[1:]...))
	}
	ts.Check(ts.Chdir("work"))
}
