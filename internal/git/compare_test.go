package git

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// hostileBare is a bare repository whose settings, attributes and trees do all that they
// can to have a program run, or a difference hidden; ran says that one ran.
func hostileBare(t *testing.T) (dir string, run func(stdin string, args ...string) string, ran func() bool) {
	t.Helper()
	dir, run = newBare(t)
	mark := filepath.Join(t.TempDir(), "ran")
	program := "touch " + mark + ";"
	for key, value := range map[string]string{
		"merge.evil.driver": program, "diff.evil.command": program, "diff.evil.textconv": program, "diff.external": program,
		"filter.evil.clean": program, "filter.evil.smudge": program, "core.fsmonitor": program, "diff.noprefix": "true",
		"diff.renames": "false", "diff.ignoreSubmodules": "all", "core.bare": "false",
	} {
		run("", "config", key, value)
	}
	if err := os.MkdirAll(filepath.Join(dir, "info"), 0o755); err != nil {
		t.Fatal(err)
	}
	const attributes = "* -diff merge=evil filter=evil diff=evil\n"
	for _, name := range []string{"info/attributes", ".gitattributes"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(attributes), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run(`commit refs/heads/main
mark :1
committer T <t@t> 1700000000 +0000
data 1
1
M 644 inline .gitattributes
data <<E
`+attributes+`E
M 644 inline a
data <<E
one
two
three
four
five
E
M 644 inline tool
data 2
x

M 644 inline gone
data 2
g

commit refs/heads/work
committer T <t@t> 1700000001 +0000
data 1
2
from :1
M 644 inline a
data <<E
one
two
three
four
FIVE
E
M 755 inline tool
data 2
x

M 120000 inline link
data 11
/etc/passwd
M 160000 0123456789012345678901234567890123456789 sub
D gone
M 644 inline bin
data 4
`+"\x00\x01\x02\n"+`
M 644 inline "new\nline"
data 1
y
commit refs/heads/main
committer T <t@t> 1700000002 +0000
data 1
3
from :1
M 644 inline a
data <<E
ONE
two
three
four
five
E
commit refs/heads/clash
committer T <t@t> 1700000003 +0000
data 1
4
from :1
M 644 inline a
data <<E
1
two
three
four
five
E
`, "fast-import", "--quiet")
	return dir, run, func() bool {
		_, err := os.Stat(mark)
		return err == nil
	}
}

// On a repository Apart nothing runs and nothing is hidden, whatever the repository and
// its trees say: each kind of change is listed, and merged as git alone would (REC-3).
func TestApart(t *testing.T) {
	dir, run, ran := hostileBare(t)
	apart, err := Open(dir).Apart(filepath.Join(t.TempDir(), "apart"))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	base, work, main := run("", "rev-parse", "main~1"), run("", "rev-parse", "work"), run("", "rev-parse", "main")
	list, err := apart.Compare(ctx, base, work, 100)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, d := range list {
		said = append(said, strings.Join([]string{d.Path, modeText(d.Old), modeText(d.New)}, " "))
		if d.Path == "bin" && d.Added != -1 || d.Path == "a" && (d.Added != 1 || d.Deleted != 1) || d.Path == "tool" && d.Added+d.Deleted != 0 {
			t.Errorf("%+v", d)
		}
	}
	want := []string{"a 100644 100644", "bin - 100644", "gone 100644 -", "link - 120000", "new\nline - 100644", "sub - 160000", "tool 100644 100755"}
	if slices.Sort(said); !slices.Equal(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
	if _, err := apart.Compare(ctx, base, work, 3); err == nil {
		t.Error("more than the limit is no error")
	}
	patch := strings.Join(patchOf(t, ctx, apart, base, work), "\n")
	for _, want := range []string{"-five\n+FIVE", "old mode 100644\nnew mode 100755", "deleted file mode 100644", "new file mode 120000", "+/etc/passwd",
		"Binary files /dev/null and b/bin differ", "+Subproject commit 0123456789012345678901234567890123456789", `"b/new\nline"`} {
		if !strings.Contains(patch, want) {
			t.Errorf("the patch lacks %q:\n%s", want, patch)
		}
	}
	m, err := apart.MergeTrees(ctx, main, work)
	if err != nil || len(m.Conflicts) > 0 {
		t.Fatal(m, err)
	}
	if got := run("", "cat-file", "blob", m.Tree+":a"); got != "ONE\ntwo\nthree\nfour\nFIVE" {
		t.Errorf("merged: %q", got)
	}
	if m, err = apart.MergeTrees(ctx, main, run("", "rev-parse", "clash")); err != nil || !slices.Equal(m.Conflicts, []string{"a"}) {
		t.Errorf("a conflict: %v %v", m, err)
	}
	nothing := strings.Repeat("1", 40)
	if _, err = apart.MergeTrees(ctx, main, nothing); err == nil {
		t.Error("merged with nothing")
	}
	theirs := []string{work, run("", "rev-parse", "clash"), base, nothing, main}
	all, err := apart.MergeEach(ctx, main, theirs)
	if err != nil || len(all) < 3 {
		t.Errorf("of %d commits %d are merged: %v", len(theirs), len(all), err)
	}
	for _, id := range theirs {
		m, err := apart.MergeTrees(ctx, main, id)
		if got, ok := all[id]; ok && (err != nil || got.Tree != m.Tree || !slices.Equal(got.Conflicts, m.Conflicts)) {
			t.Errorf("%s merged with others is %v, alone %v (%v)", id, got, m, err)
		}
	}
	if ran() {
		t.Error("a program of the repository's ran")
	}
}

func modeText(e Entry) string {
	if e.ID == "" {
		return "-"
	}
	return map[Mode]string{ModeFile: "100644", ModeExec: "100755", ModeSymlink: "120000", ModeGitlink: "160000"}[e.Mode]
}

func patchOf(t *testing.T, ctx context.Context, r *Repo, from, to string) (lines []string) {
	t.Helper()
	for line, err := range r.Lines(ctx, slices.Concat([]string{"diff-tree"}, patchArgs, []string{from, to, "--"})...) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

// A commit is found by what its message says, and where it lies.
func TestAncestry(t *testing.T) {
	dir, run := newBare(t)
	run(`commit refs/heads/main
mark :1
committer T <t@t> 1700000000 +0000
data 1
1
commit refs/heads/work
committer T <t@t> 1700000001 +0000
data 1
2
from :1
commit refs/heads/main
committer T <t@t> 1700000002 +0000
data 18
take

A: b.c
X: y
from :1
commit refs/heads/other
committer T <t@t> 1700000003 +0000
data 1
o
`, "fast-import", "--quiet")
	r := Open(dir).Reader(t.Context())
	defer r.Close()
	main, work, first := run("", "rev-parse", "main"), run("", "rev-parse", "work"), run("", "rev-parse", "main~1")
	for commit, want := range map[string]bool{main: true, first: true, work: false, strings.Repeat("1", 40): false} {
		if in, err := r.Contains(main, commit); in != want || err != nil {
			t.Errorf("%s: %v %v", commit, in, err)
		}
	}
	for text, want := range map[string]int{"A: b.c": 1, "A: b?c": 0, "1": 0} {
		if said, err := r.Saying(main, work, text); len(said) != want || err != nil {
			t.Errorf("%q: %q %v", text, said, err)
		}
	}
	for _, test := range [][3]string{{main, work, first}, {main, run("", "rev-parse", "other"), ""}} {
		if base, err := r.MergeBase(test[0], test[1]); base != test[2] || err != nil {
			t.Errorf("%q: %q %v", test, base, err)
		}
	}
}

// Follows knows the near line of first parents, and nothing else.
func TestFollows(t *testing.T) {
	dir, _ := newBare(t)
	repo := Open(dir)
	r := repo.Reader(t.Context())
	defer r.Close()
	commit := func(n int, parents ...string) string {
		id, err := repo.CommitMerge(Ward, EmptyTree, parents, time.Unix(int64(n), 0), "c")
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	line := []string{commit(0)}
	for n := range near + 1 {
		line = append(line, commit(n+1, line[n]))
	}
	side := commit(100)
	merge := commit(101, line[near], side)
	for name, c := range map[string]struct {
		commit, other string
		want          bool
	}{
		"parent":        {line[1], line[0], true},
		"nearest":       {line[near], line[0], true},
		"too far":       {line[near+1], line[0], false},
		"itself":        {line[1], line[1], false},
		"the other way": {line[0], line[1], false},
		"merge":         {merge, line[near], true},
		"second parent": {merge, side, false},
		"none":          {strings.Repeat("1", 40), line[0], false},
		"no id":         {"HEAD", line[0], false},
		"nothing":       {line[0], "", false},
	} {
		if got := r.Follows(c.commit, c.other); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
