package origin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/git"
	"git-ward/internal/gittest"
)

func TestParseBlame(t *testing.T) {
	one, two := strings.Repeat("1", 40), strings.Repeat("2", 40)
	list, err := parseBlame(two + " 7 3 2\nauthor A 1 2 3\nsummary " + one + " 1 2 3 4\nfilename \"a\\\"b\\n\\303\\274\"\n" + one + " 1 1 2\nfilename plain name\n")
	if want := fmt.Sprintf("[{%s 1 2 plain name 1} {%s 3 2 a\"b\nü 7}]", one, two); fmt.Sprint(list) != want || err != nil {
		t.Errorf("%v %v", list, err)
	}
	for _, bad := range []string{one + " 1 2 x\nfilename a\n", one + " 1 1 1\nfilename \"a\n"} {
		if _, err := parseBlame(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// TestLineBefore holds the way back over a difference to the lines themselves: each line of
// the newer file that the older one has is found there, and no other.
func TestLineBefore(t *testing.T) {
	dir := t.TempDir()
	gittest.Git(t, dir, "init", "--quiet")
	commit := func(lines string) string {
		text := strings.Join(strings.Split(lines, ""), "\n") + "\n"
		if err := os.WriteFile(filepath.Join(dir, "f*"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		gittest.Git(t, dir, "add", ".")
		gittest.Git(t, dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "-m", "x")
		return gittest.Git(t, dir, "rev-parse", "HEAD")
	}
	repo := git.Open(filepath.Join(dir, ".git"))
	for _, c := range [][2]string{{"abc", "abc"}, {"abc", "xabc"}, {"abc", "abcx"}, {"abc", "axbc"}, {"abcdef", "af"}, {"abcdef", "xxbcyydzz"}, {"abcdef", "bcdef"}, {"abc", "xyz"}} {
		from, to := commit(c[0]), commit(c[1])
		for i, letter := range strings.Split(c[1], "") {
			line, err := lineBefore(t.Context(), repo, from, to, "f*", i+1)
			if want := strings.Index(c[0], letter) + 1; line != want || err != nil {
				t.Errorf("%s to %s: line %d was line %d, want %d (%v)", c[0], c[1], i+1, line, want, err)
			}
		}
	}
}

// TestForesee: the one walk says of each commit what a walk for it alone does.
func TestForesee(t *testing.T) {
	dir := t.TempDir()
	gittest.Git(t, dir, "init", "--quiet", "--initial-branch=main")
	var ranges []Range
	for range 4 {
		gittest.Git(t, dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "-m", "x"+fmt.Sprint(len(ranges)))
		ranges = append(ranges, Range{Commit: gittest.Git(t, dir, "rev-parse", "HEAD"), First: len(ranges) + 1, Count: 1})
	}
	f, err := Open(t.Context(), git.Open(filepath.Join(dir, ".git")))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.adopted = map[string]string{"refs/heads/" + f.names.Project: ranges[1].Commit}
	f.foresee(append([]Range{{Commit: git.Zero}}, ranges...))
	for i, at := range ranges {
		if f.older[at.Commit] != (i < 2) {
			t.Errorf("commit %d: older is %v", i, f.older[at.Commit])
		}
		r, err := f.Commit(at.Commit)
		if err != nil || (r.Kind == Older) != (i < 2) {
			t.Errorf("commit %d is %s: %v", i, r.Kind, err)
		}
	}
}
