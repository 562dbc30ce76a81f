package git

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/diag"
	"git-ward/internal/object"
)

// newBare makes a bare repository; run is git in it, with something to read, and
// returns what git prints.
func newBare(t *testing.T) (dir string, run func(stdin string, args ...string) string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "r.git")
	run = func(stdin string, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"--git-dir", dir, "-c", "user.name=T", "-c", "user.email=t@t"}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("", "init", "--quiet", "--bare", "--initial-branch=main", dir)
	return dir, run
}

// What a Reader says of a repository, go-git says of it, too.
func TestReaderAgreesWithGoGit(t *testing.T) {
	dir, run := newBare(t)
	run(`commit refs/heads/main
committer T <t@t> 1700000000 +0000
data 2
1
M 644 inline d/e
data 5
four

commit refs/heads/main
committer T <t@t> 1700000001 +0000
data 2
2
M 644 inline a
data 2
A
`, "fast-import", "--quiet")
	tip := run("", "rev-parse", "main")
	first := run("", "rev-parse", "main~1")
	const notes = "refs/notes/n"
	// A note at the top, and one below two levels of directories.
	run("", "notes", "--ref="+notes, "add", "-m", "on the tip", tip)
	run(fmt.Sprintf("commit %s\ncommitter T <t@t> 1700000002 +0000\ndata 0\nfrom %s^0\nM 644 inline %s/%s/%s\ndata 6\ndeep!\n\n",
		notes, notes, first[:2], first[2:4], first[4:]), "fast-import", "--quiet")

	repo := Open(dir)
	mine := repo.Reader(t.Context())
	defer mine.Close()
	other := object.Open(dir)
	same := func(what string, a any, errA error, b any, errB error) {
		t.Helper()
		if (errA != nil) != (errB != nil) || fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%s: git %q %v, go-git %q %v", what, a, errA, b, errB)
		}
	}
	a, errA := mine.Refs("refs/heads/")
	b, errB := other.Refs("refs/heads/")
	same("refs", a, errA, b, errB)
	for _, ref := range []string{"refs/heads/main", "refs/heads/none", notes} {
		a, errA := mine.Tip(ref)
		b, errB := other.Tip(ref)
		same("tip "+ref, a, errA, b, errB)
	}
	for _, commit := range []string{tip, first, strings.Repeat("1", 40)} {
		a, errA := mine.Parent(commit)
		b, errB := other.Parent(commit)
		same("parent", a, errA, b, errB)
		c, errC := mine.Note(notes, commit, 100)
		d, errD := other.Note(notes, commit, 100)
		same("note", c, errC, d, errD)
	}
	if note, err := mine.Note(notes, first, 100); string(note) != "deep!\n" {
		t.Errorf("%q %v", note, err)
	}
	for _, path := range []string{"a", "d/e", "d", "b", "d/f", "x/y"} {
		for _, rev := range []string{"refs/heads/main", first} {
			a, errA := mine.File(rev, path, 100)
			b, errB := other.File(rev, path, 100)
			same(rev+":"+path, a, errA, b, errB)
		}
	}
	_, errA = mine.File(tip, "d/e", 4)
	_, errB = other.File(tip, "d/e", 4)
	for _, err := range []error{errA, errB} {
		if !errors.Is(err, diag.ErrTooLarge) || !strings.Contains(err.Error(), "has 5 bytes, more than the limit of 4") {
			t.Error(err)
		}
	}
	x, errX := mine.Noted(notes)
	y, errY := other.Noted(notes)
	same("noted", x, errX, y, errY)
	if len(x) != 2 {
		t.Error(x)
	}
}
