package lookup

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/worktree"
)

// tree is a working tree with one commit that has these files.
func tree(t *testing.T, files map[string]string, message string) *worktree.Tree {
	t.Helper()
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=Pat", "-c", "user.email=pat@example.org"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "--quiet")
	w, err := worktree.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range files {
		if err := w.Write(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	git("add", "--all")
	git("commit", "--quiet", "-m", message)
	return w
}

var files = map[string]string{
	"README.md":          "# Door\n\nA door.\n\n## Limits\n\nThe bucket holds 120 tokens,\nand is filled thirty a minute.\n",
	"docs/设计.md":         "# 设计\n\n检索很慢，因为没有索引。\n",
	"docs/ru.md":         "Поиск работает медленно.\n",
	"door/bucket.go":     "package door\n\nimport \"example.org/x/clock\"\n\n// openDoor waits.\nfunc openDoor() {}\n\ntype TokenBucket struct{}\n",
	"door/other.go":      "package door\n\n" + strings.Repeat("// The door, the door.\n", 50),
	"data.bin":           "bucket\x00bucket",
	"postmortems/x.md":   "**Lesson:** the clock went backwards\n",
	"tools/openers.py":   "class Opener:\n    def open_all(self):\n        pass\n",
	"ar.md":              "السرعة محدودة\n",
	"notes/unrelated.md": "Nothing of it.\n",
}

// TestFind: each source is searched, and what is found has a place to be cited by.
func TestFind(t *testing.T) {
	f := &Finder{Tree: tree(t, files, "door: refill the bucket lazily\n\nThe timer was a nuisance."), Texts: []Text{
		{Lessons, "lesson L-1", "Never fill a bucket by a timer."}, {PostMortems, "D-1.1 postmortems/1.md", "First.\n\nThe clock\x1b[2J stood still."}}}
	for question, want := range map[string][]string{
		"how many tokens does the bucket hold?": {"documents README.md:7: The bucket holds 120 tokens, and is filled thirty a minute.", "symbols door/bucket.go:8: type TokenBucket"},
		"lazily refill":                         {"history commit ", "door: refill the bucket lazily"},
		"timer":                                 {"lessons lesson L-1: Never fill a bucket by a timer.", "history commit "},
		"clock":                                 {"post-mortems D-1.1 postmortems/1.md: The clock", "dependencies door/bucket.go: depends on example.org/x/clock", "post-mortems postmortems/x.md:1: "},
		"索引":                                    {"documents docs/设计.md:3: 检索很慢"},
		"медленно":                              {"documents docs/ru.md:1: Поиск"},
		"السرعة":                                {"documents ar.md:1: "},
		"opening doors":                         {"symbols door/bucket.go:6: func openDoor"},
		"Limits":                                {"documents README.md:7: The bucket"},
	} {
		results, err := f.Find(t.Context(), question)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, h := range results[0].Hits {
			got += fmt.Sprintf("%s %s: %s\n", h.Source, h.Place, h.Text)
		}
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: no %q in:\n%s", question, w, got)
			}
		}
		if strings.Contains(got, "data.bin") || strings.Contains(got, "\x1b") || strings.Count(got, "door/other.go") > maxPerFile {
			t.Errorf("%s:\n%s", question, got)
		}
	}
}

// TestFindNothing: no words, nothing of them, no repository.
func TestFindNothing(t *testing.T) {
	f := &Finder{Tree: tree(t, files, "first")}
	results, err := f.Find(t.Context(), "", "the of it", "zebra")
	if err != nil || len(results) != 3 {
		t.Fatal(results, err)
	}
	for _, r := range results {
		if len(r.Hits) != 0 || len(r.Cut) != 0 {
			t.Errorf("%+v", r)
		}
	}
	f.Tree = &worktree.Tree{Dir: filepath.Join(t.TempDir(), "gone")}
	if results, err = f.Find(t.Context(), "zebra"); err != nil || len(results[0].Cut) != 3 {
		t.Errorf("%+v %v", results, err)
	}
}
