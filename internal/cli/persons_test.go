package cli_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// persons are files that somebody has where Ward works, absolute path to what is to stay of it.
type persons map[string]string

// fill gives a directory a person's files, and directories that are named as Ward names its own.
func (tree persons) fill(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		for n := range 25 {
			path := filepath.Join(dir, name, fmt.Sprint("file ", n))
			err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, fmt.Appendln(nil, name, n), fs.FileMode(0o600+n%2*0o044)))
			if err != nil {
				t.Fatal(err)
			}
			tree[path] = state(path)
		}
	}
}

// state is all of a file that its owner would miss: kind, mode, time and content.
func state(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return err.Error()
	}
	data, err := os.ReadFile(path)
	return fmt.Sprintf("%v %v %x %v", info.Mode(), info.ModTime(), sha256.Sum256(data), err)
}

// check compares the files with what they were.
func (tree persons) check(t *testing.T, after string) {
	t.Helper()
	for path, was := range tree {
		if is := state(path); is != was {
			t.Errorf("%s: %s was\n%s, is\n%s", after, path, was, is)
			tree[path] = is
		}
	}
}

// TestPersonsFilesStay: no command touches a person's files, wherever Ward works: in the home,
// the clone, the repository, the temporary directory and that of an agent's state, under the
// names that Ward gives its own.
func TestPersonsFilesStay(t *testing.T) {
	tier.Full(t, "every command beside a thousand files")
	p := gittest.New(t)
	home := filepath.Dir(p.Bare)
	tmp, state := filepath.Join(home, "tmp"), filepath.Join(home, "state")
	withUnit(t, p)
	tree := persons{}
	tree.fill(t, home, "Documents", "ward-project", "remote", "remote.git.before", "demo", ".config/app", ".local/share/other", ".cache/go-build", "ward")
	tree.fill(t, p.Work, "node_modules", "build", "mine", "scratch", "logs", ".ward", "evidence.old", "notes", ".git/mine", ".git/ward-mine")
	tree.fill(t, p.Bare, "mine", "hooks/mine", "logs/mine", "notes", "ward/mine", "worktrees.old", "objects/info/mine")
	tree.fill(t, tmp, "ward-apart-1", "ward-build-2", "ward-podman-3", "ward-podman-net", "ward.AbCdEf", "pair-1", "mine")
	tree.fill(t, state, "main/remote", ".probation", "main/mine", "logs", "agent/D-1/remote", "mine", "trees")
	if len(tree) < 1000 {
		t.Fatalf("%d files", len(tree))
	}
	appendTo(t, filepath.Join(p.Work, ".git/info/exclude"), "node_modules\nbuild\n") // what git itself may overwrite
	env := []string{"TMPDIR=" + tmp}
	words := map[string]string{"BARE": p.Bare, "STATE": state, "WORKTIP": "main", "HOSTILE": "README.md", "TOPIC": "topic", "WORDS": "use the second parser"}
	every(t, p, p.Work, env, words, func(line, output string) { tree.check(t, line+"\n"+output) })
	for _, line := range []string{"init --remove --yes --bare BARE", "init --remove --purge --yes --bare BARE"} {
		out, err := p.Try(home, env, "", "git-ward", strings.Fields(strings.ReplaceAll(line, "BARE", p.Bare))...)
		if err != nil || !strings.Contains(line, "--purge") && !strings.Contains(out, "what Ward did not make: ward/mine\n") {
			t.Error(line, err, out)
		}
		tree.check(t, line+"\n"+out)
	}
}
