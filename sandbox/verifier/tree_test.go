package verifier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// object writes one object, and returns its id.
func (r *repository) object(kind, content string) string {
	r.Helper()
	args := []string{"--git-dir", r.bare, "hash-object", "-w", "--stdin", "--literally", "-t", kind}
	if kind == "tree" {
		args = []string{"--git-dir", r.bare, "mktree", "-z", "--missing"}
	}
	cmd := exec.Command("git", args...)
	cmd.Stdin = strings.NewReader(content)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.Fatal(err, string(out))
	}
	return strings.TrimSpace(string(out))
}

// commitTree commits a tree on a parent.
func (r *repository) commitTree(tree, parent string) string {
	r.Helper()
	return r.git("commit-tree", "-m", "some", "-p", parent, tree)
}

// TestBounds: what cannot be checked out within the bounds is said so, at once and
// in little memory, whatever a few kilobytes of objects unfold to.
func TestBounds(t *testing.T) {
	tier.Full(t, "it runs commands up to their bounds")
	r := newRepository(t)
	main := r.commit(files{"check.sh": "exit 0\n"})
	blob := r.object("blob", "x\n")
	bomb := r.object("tree", many(1000, func(i int) string { return fmt.Sprintf("100644 blob %s\tf%06d", blob, i) }))
	for range 3 { // 10^12 files
		bomb = r.object("tree", many(1000, func(i int) string { return fmt.Sprintf("040000 tree %s\td%06d", bomb, i) }))
	}
	wide := r.object("tree", many(40, func(i int) string { return fmt.Sprintf("040000 tree %s\td%06d", r.object("tree", ""), i) }))
	deep := r.object("tree", "100644 blob "+blob+"\tf\x00")
	for range 1000 {
		deep = r.object("tree", "040000 tree "+deep+"\td\x00")
	}
	large := r.object("blob", strings.Repeat("x", 6000))
	one := func(entry string) string { return r.object("tree", entry+"\x00") }
	usual, small := usualBounds(), Bounds{Entries: 30, Depth: 10, Bytes: 10_000}
	for name, c := range map[string]struct {
		tree   string
		bounds Bounds
		why    string
	}{
		"a tree bomb":             {bomb, usual, "more than 200000 entries"},
		"only directories":        {wide, small, "more than 30 entries"},
		"depth":                   {deep, usual, "more than 100 directories deep"},
		"bytes":                   {r.object("tree", "100644 blob "+large+"\ta\x00100644 blob "+large+"\tb\x00"), small, "more than 10000 bytes"},
		"a long name":             {one("100644 blob " + blob + "\t" + strings.Repeat("n", 300)), usual, "a name of more than 255 bytes"},
		"a long link":             {one("120000 blob " + large + "\tl"), usual, "a symbolic link of 6000 bytes"},
		"a name for git":          {one("040000 tree " + one("100644 blob "+blob+"\tconfig") + "\t.GIT"), usual, "git keeps that name"},
		"another name for git":    {one("100644 blob " + blob + "\tgit~1"), usual, "git keeps that name"},
		"a third name for git":    {one("100644 blob " + blob + "\t.g\u0131t"), usual, "git keeps that name"},
		"a name before a slash":   {one("100644 blob " + blob + "\t.git\\x"), usual, "git keeps that name"},
		"a name that HFS reads":   {one("100644 blob " + blob + "\t.g\u200cit"), usual, "git keeps that name"},
		"a link for gitmodules":   {one("120000 blob " + blob + "\t.gitmodules"), usual, "git takes it as a file only"},
		"a path of many segments": {pathTree(r, blob), usual, "a path of more than 3800 bytes"},
	} {
		c2 := Claim{Main: main, Commit: r.commitTree(c.tree, main), Replays: 1, Bounds: c.bounds, Commands: []Command{{Name: "a", Line: "sh check.sh"}}}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f, err := r.verify(c2)
		runtime.ReadMemStats(&after)
		var unfit *Unfit
		if !errors.As(err, &unfit) || !strings.Contains(unfit.Why, c.why) {
			t.Errorf("%s: %+v, %v, want %q", name, f, err, c.why)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 256<<20 {
			t.Errorf("%s: %d MiB", name, used>>20)
		}
	}
	// Within the bounds everything is as it was, submodules too.
	c := Claim{Main: main, Replays: 1, Commands: []Command{{Name: "a", Line: "sh check.sh && test -d sub && test -L l"}},
		Included: []Entry{{"l", "120000", blob}, {"sub", "160000", main}}, Bounds: Bounds{Entries: 3, Depth: 1, Bytes: 50}}
	c.Commit = r.commitTree(r.object("tree", "100644 blob "+r.git("rev-parse", main+":check.sh")+"\tcheck.sh\x00160000 commit "+main+"\tsub\x00120000 blob "+blob+"\tl\x00"), main)
	if f, err := r.verify(c); err != nil || !f.OK() {
		t.Errorf("%+v, %v", f, err)
	}
}

func many(n int, line func(int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(line(i) + "\x00")
	}
	return b.String()
}

func pathTree(r *repository, blob string) string {
	tree := r.object("tree", "100644 blob "+blob+"\tf\x00")
	for range 60 {
		tree = r.object("tree", "040000 tree "+tree+"\t"+strings.Repeat("p", 80)+"\x00")
	}
	return tree
}

// TestBase: all but the work comes from where the work left main. A directive that main
// took meanwhile does not break the next one's verdict; criss-cross histories are
// held against main as it stands; strangers against nothing.
func TestBase(t *testing.T) {
	tier.First(t, "it runs many commands, or waits for their limits")
	r := newRepository(t)
	began := r.commit(files{"check.sh": "test -e one || test -e two\n", "a_test.sh": "sh check.sh\n"})
	work := r.commit(files{"two": "2\n"})
	// Meanwhile main takes another directive, with a test that the work cannot pass.
	r.git("checkout", "--quiet", "--force", began)
	main := r.commit(files{"one": "1\n", "a_test.sh": "test -e three\n", "check.sh": "test -e one\n"})
	c := Claim{Main: main, Commit: work, Replays: 1, Bounds: usualBounds(), Work: []string{"two"}, Commands: []Command{{Name: "a", Line: "sh a_test.sh"}}}
	f, err := r.verify(c)
	if err != nil || !f.OK() || len(f.Deviations) > 0 || f.Base != began || f.Main != main {
		t.Errorf("%+v, %v", f, err)
	}
	// The base that the caller names, as the judge does for work older than its text.
	old := c
	old.Base = main
	if f, err = r.verify(old); err != nil || f.OK() || f.Base != main {
		t.Errorf("%+v, %v", f, err)
	}
	// Each took the other's first commit.
	x := r.commitTree(r.git("rev-parse", work+"^{tree}"), began)
	crossWork := r.git("commit-tree", "-m", "some", "-p", work, "-p", main, work+"^{tree}")
	crossMain := r.git("commit-tree", "-m", "some", "-p", main, "-p", work, main+"^{tree}")
	c.Main, c.Commit = crossMain, crossWork
	if f, err = r.verify(c); err != nil || f.Base != crossMain || len(f.Left) != 3 || f.OK() {
		t.Errorf("%+v, %v", f, err)
	}
	if base, err := Base(t.Context(), git.Open(r.bare), main, x); err != nil || base != began {
		t.Error(base, err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if base, err := Base(over, git.Open(r.bare), main, main); err != nil || base != main { // no program is asked
		t.Error(base, err)
	}
	c.Commit = r.git("commit-tree", "-m", "some", work+"^{tree}")
	var unfit *Unfit
	if f, err = r.verify(c); !errors.As(err, &unfit) || !strings.Contains(unfit.Why, "no history in common") {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestListsOnce: a tree is listed once for all that is made of it, the claim's and main's for the
// controls too.
func TestListsOnce(t *testing.T) {
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	r := newRepository(t)
	c := r.claimed(files{"calc.sh": "echo 3\n", "calc_test.sh": "test \"$(sh calc.sh)\" = 2\n"}, files{"calc.sh": "echo 2\n"}, []string{"calc.sh"}, "sh calc_test.sh")
	c.Controls = []string{Broken}
	gittest.Program(t, filepath.Join(dir, "git"), fmt.Sprintf("#!/bin/sh\necho \"$*\" >>%s\nexec %s \"$@\"\n", log, real))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	f, err := r.verify(c)
	if err != nil || !f.OK() {
		t.Fatal(err, f)
	}
	ran, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	listed, trees := map[string]int{}, map[string]string{}
	for _, commit := range []string{c.Main, c.Commit} {
		trees[commit] = r.git("rev-parse", commit+"^{tree}")
	}
	for line := range strings.Lines(string(ran)) {
		if strings.HasPrefix(line, "ls-tree") {
			name := line[strings.LastIndexByte(line, ' ')+1 : len(line)-1]
			listed[cmp.Or(trees[name], name)]++
		}
	}
	if len(listed) < 2 {
		t.Errorf("the trees of main and of the claim were not listed:\n%s", ran)
	}
	for tree, n := range listed {
		if n != 1 {
			t.Errorf("%s is listed %d times:\n%s", tree, n, ran)
		}
	}
}
