package walk_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/config"
	"git-ward/internal/git"
)

// history is a repository that git fast-import made of testdata/history; main is at
// two, old at one, and nothing but tests has the rest:
//
//	one --- two
//	   \
//	    a --- b --- c
//	     \         /
//	      d -------
type history struct {
	dir string
	ids map[string]string
}

func newHistory(t *testing.T) *history {
	h := &history{dir: filepath.Join(t.TempDir(), "repo.git"), ids: map[string]string{}}
	marks := filepath.Join(t.TempDir(), "marks")
	h.git(t, "", "init", "-q", "--bare", "--initial-branch=main", h.dir)
	stream, err := os.ReadFile("testdata/history")
	if err != nil {
		t.Fatal(err)
	}
	h.git(t, string(stream), "--git-dir="+h.dir, "fast-import", "--quiet", "--export-marks="+marks)
	data, err := os.ReadFile(marks)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"one", "two", "a", "b", "d", "c"}
	for line := range strings.Lines(string(data)) {
		var mark int
		var id string
		if _, err := fmt.Sscanf(line, ":%d %s", &mark, &id); err == nil && mark <= len(names) {
			h.ids[names[mark-1]] = id
		}
	}
	h.git(t, "", "--git-dir="+h.dir, "update-ref", "refs/heads/old", h.ids["one"])
	return h
}

func (h *history) git(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// roomy are limits that no test meets.
var roomy = walk.Limits{Commits: 100, ChangedPaths: 100, Depth: 10, PathLength: 100, BlobSize: 1 << 20, PushSize: 1 << 20}

func (h *history) walker(t *testing.T, limits walk.Limits) *walk.Walker {
	t.Helper()
	repo := git.Open(h.dir)
	batch := repo.Batch(t.Context())
	t.Cleanup(func() { batch.Close() })
	w, err := walk.New(t.Context(), repo, batch, "refs/heads/", config.Default().Control, limits)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// named are commits by their names.
func (h *history) named(commits []*walk.Commit) (names []string) {
	for _, c := range commits {
		for name, id := range h.ids {
			if id == c.ID {
				names = append(names, name)
			}
		}
	}
	return names
}

// tip is a push of a commit to a ref that was at old ("" for a new one).
func (h *history) tip(t *testing.T, w *walk.Walker, ref, old, commit string) *walk.Tip {
	t.Helper()
	u := push.Update{Ref: ref, Old: git.Zero, New: h.ids[commit]}
	if old != "" {
		u.Old = h.ids[old]
	}
	tip, err := w.Peel(u, func(*walk.Tag) {})
	if err != nil {
		t.Fatal(err)
	}
	return tip
}

// changed is a tip's difference, a path each with + for added, - for deleted.
func changed(changes []walk.Change) (paths []string) {
	for _, c := range changes {
		switch {
		case c.Deleted():
			paths = append(paths, "-"+c.Path)
		case c.Old.ID == "":
			paths = append(paths, "+"+c.Path)
		default:
			paths = append(paths, c.Path)
		}
	}
	slices.Sort(paths)
	return paths
}

// TestFresh: the commits that nobody judged, oldest first, and what a tip changes.
func TestFresh(t *testing.T) {
	h := newHistory(t)
	for name, c := range map[string]struct {
		ref, old, commit string
		globs            []string
		fresh            string
		base             string
		forward          bool
		changes          string
	}{
		"new branch":        {ref: "refs/heads/topic", commit: "b", fresh: "a b", base: "one", changes: "+dir/new -dir/sub/file README.md"},
		"merge":             {ref: "refs/heads/topic", commit: "c", fresh: "a b d c", base: "one", changes: "+d +dir/new +merged -dir/sub/file README.md"},
		"known by a branch": {ref: "refs/heads/topic", commit: "one", globs: []string{"*"}, base: "one"},
		"fast-forward":      {ref: "refs/heads/old", old: "one", commit: "a", fresh: "a", base: "one", forward: true, changes: "+dir/new -dir/sub/file"},
		"rewrite":           {ref: "refs/heads/main", old: "two", commit: "a", fresh: "a", base: "one", changes: "+dir/new -dir/sub/file"},
		"main itself":       {ref: "refs/heads/topic", commit: "two", base: "two", forward: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := h.walker(t, roomy)
			tip := h.tip(t, w, c.ref, c.old, c.commit)
			fresh, err := w.Fresh([]*walk.Tip{tip}, walk.Known{Globs: c.globs})
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Fields(c.fresh)
			got := h.named(fresh)
			if c.commit == "c" { // between a and c, b and d have no order of their own
				slices.Sort(got)
				slices.Sort(want)
			}
			if !slices.Equal(got, want) {
				t.Errorf("fresh are %v, not %v", got, want)
			}
			if err := w.Difference(tip); err != nil {
				t.Fatal(err)
			}
			if tip.Base != h.ids[c.base] || tip.Forward != c.forward {
				t.Errorf("base %s, forward %v", tip.Base, tip.Forward)
			}
			if got := strings.Join(changed(tip.Changes), " "); got != c.changes {
				t.Errorf("it changes %q, not %q", got, c.changes)
			}
		})
	}
}

// TestBrought: a merge brings what it wrote itself, and nothing that a parent has.
func TestBrought(t *testing.T) {
	h := newHistory(t)
	w := h.walker(t, roomy)
	for commit, want := range map[string]string{"one": "+README.md +dir/sub/file", "a": "+dir/new", "b": "README.md", "c": "+merged"} {
		parsed, err := w.Commit(h.ids[commit])
		if err != nil {
			t.Fatal(err)
		}
		c := &walk.Commit{ID: h.ids[commit], Commit: parsed}
		parents, err := w.ParentTrees(c)
		if err != nil {
			t.Fatal(err)
		}
		var brought []walk.Change
		met := 0
		err = w.Brought(c, parents, walk.Brought{
			Met:  func(string, string, *git.FormError) { met++ },
			Path: func(c walk.Change) error { brought = append(brought, c); return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(changed(brought), " "); got != want {
			t.Errorf("%s brings %q, not %q", commit, got, want)
		}
		if met < len(brought)+1 {
			t.Errorf("%s: only %d objects were met", commit, met)
		}
	}
}

// TestNames: a directory is told with the parents that have each of its names.
func TestNames(t *testing.T) {
	h := newHistory(t)
	w := h.walker(t, roomy)
	parsed, err := w.Commit(h.ids["c"])
	if err != nil {
		t.Fatal(err)
	}
	c := &walk.Commit{ID: h.ids["c"], Commit: parsed}
	parents, err := w.ParentTrees(c)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	err = w.Brought(c, parents, walk.Brought{
		Met:  func(string, string, *git.FormError) {},
		Path: func(walk.Change) error { return nil },
		Names: func(dir string, entries []git.Entry, in []uint16) {
			for i, e := range entries {
				told = append(told, fmt.Sprintf("%s%s:%d", dir, e.Name, in[i]))
			}
		},
	})
	if want := []string{"README.md:3", "d:2", "dir:3", "merged:0"}; err != nil || !slices.Equal(told, want) {
		t.Errorf("%v %v, not %v", told, err, want)
	}
}

// TestLimits: what is too much is an Exceeded with the limit's words, and no trouble.
func TestLimits(t *testing.T) {
	h := newHistory(t)
	for name, c := range map[string]struct {
		limit func(*walk.Limits)
		want  string
	}{
		"commits": {func(l *walk.Limits) { l.Commits = 1 }, "more than 1 new commits"},
		"paths":   {func(l *walk.Limits) { l.ChangedPaths = 2 }, "more than 2 changed paths"},
		"depth":   {func(l *walk.Limits) { l.Depth = 1 }, "more than 1 directories deep"},
		"length":  {func(l *walk.Limits) { l.PathLength = 3 }, "more than 3"},
		"size":    {func(l *walk.Limits) { l.PushSize = 300 }, "more than 300 bytes to check"},
	} {
		t.Run(name, func(t *testing.T) {
			limits := roomy
			c.limit(&limits)
			w := h.walker(t, limits)
			tip := h.tip(t, w, "refs/heads/topic", "", "b")
			_, err := w.Fresh([]*walk.Tip{tip}, walk.Known{})
			if err == nil {
				err = w.Difference(tip)
			}
			var limit *walk.Exceeded
			if !errors.As(err, &limit) || !walk.IsBad(err) || !strings.Contains(limit.Message, c.want) {
				t.Errorf("%v, not %q", err, c.want)
			}
		})
	}
}

// TestPeel: tags lead to commits and are heard of on the way; nothing else does.
func TestPeel(t *testing.T) {
	h := newHistory(t)
	w := h.walker(t, roomy)
	tag := h.git(t, "", "--git-dir="+h.dir, "rev-parse", "refs/tags/v1")
	var heard []string
	tip, err := w.Peel(push.Update{Ref: "refs/tags/v1", Old: git.Zero, New: tag}, func(tag *walk.Tag) { heard = append(heard, tag.Name) })
	if err != nil || tip.New != h.ids["b"] || !slices.Equal(heard, []string{"v1"}) {
		t.Errorf("%+v %v %v", tip, heard, err)
	}
	tree := h.git(t, "", "--git-dir="+h.dir, "rev-parse", "main^{tree}")
	if _, err := w.Peel(push.Update{Ref: "refs/tags/t", New: tree}, nil); !errors.Is(err, walk.ErrNoCommit) {
		t.Errorf("a tree: %v", err)
	}
	if _, err := w.Commit(tree); !walk.IsBad(err) {
		t.Errorf("a tree as a commit: %v", err)
	}
	if _, err := w.Tree(h.ids["a"]); !walk.IsBad(err) {
		t.Errorf("a commit as a tree: %v", err)
	}
}

// TestChain: a journal is one commit on top of the other.
func TestChain(t *testing.T) {
	h := newHistory(t)
	w := h.walker(t, roomy)
	for name, c := range map[string]struct {
		old, commit string
		most        int
		want        string
		long        bool
		parents     int
	}{
		"on top":   {old: "one", commit: "b", most: 2, want: "a b"},
		"new":      {commit: "two", most: 2, want: "one two"},
		"too long": {old: "one", commit: "b", most: 1, long: true},
		"aside":    {old: "two", commit: "b", most: 5},
		"merge":    {old: "one", commit: "c", most: 5},
		"work":     {old: "one", commit: "c", most: 5, want: "a b c", parents: 2},
		"new work": {commit: "c", most: 5, want: "one a b c", parents: 2},
	} {
		t.Run(name, func(t *testing.T) {
			steps, err := w.Chain(h.tip(t, w, "refs/ward/uow/D-1.1", c.old, c.commit), c.most, max(1, c.parents))
			var broken *walk.ChainError
			if errors.As(err, &broken) != (c.want == "") || broken != nil && broken.Long != c.long {
				t.Fatalf("%v", err)
			}
			if got := strings.Join(h.named(steps), " "); got != c.want {
				t.Errorf("%q, not %q", got, c.want)
			}
		})
	}
}

// TestReading: files, notes and names, as package state and the checks ask for them.
func TestReading(t *testing.T) {
	h := newHistory(t)
	h.git(t, "", "--git-dir="+h.dir, "-c", "user.name=Pat", "-c", "user.email=p@example.org", "notes", "--ref=refs/notes/x", "add", "-m", "a note", h.ids["a"])
	w := h.walker(t, roomy)
	data, err := w.File("refs/heads/main", "README.md", 10)
	if err != nil || string(data) != "y\n" {
		t.Errorf("%q %v", data, err)
	}
	for _, path := range []string{"dir", "dir/none", "none/x"} {
		if data, err := w.File(h.ids["one"], path, 10); err != nil || data != nil {
			t.Errorf("%s: %q %v", path, data, err)
		}
	}
	var large *git.TooLarge
	if _, err := w.File(h.ids["one"], "README.md", 1); !errors.As(err, &large) {
		t.Errorf("a file over the limit: %v", err)
	}
	if note, err := w.Note("refs/notes/x", h.ids["a"], 100); err != nil || !bytes.Equal(note, []byte("a note\n")) {
		t.Errorf("%q %v", note, err)
	}
	if note, err := w.Note("refs/notes/none", h.ids["a"], 100); err != nil || note != nil {
		t.Errorf("%q %v", note, err)
	}
	if names, err := w.RefNames("refs/heads/"); err != nil || !slices.Equal(names, []string{"refs/heads/main", "refs/heads/old"}) {
		t.Errorf("%v %v", names, err)
	}
	if id, err := w.Abbreviated(h.ids["a"][:10]); err != nil || id != h.ids["a"] {
		t.Errorf("%s %v", id, err)
	}
	if base, err := w.MergeBase(h.ids["c"], h.ids["two"]); err != nil || base != h.ids["one"] {
		t.Errorf("%s %v", base, err)
	}
	count := 0
	var limit *walk.Exceeded
	err = w.Paths(h.git(t, "", "--git-dir="+h.dir, "rev-parse", "refs/tests/c^{tree}"), 10, func(walk.Change) error { count++; return nil })
	if !errors.As(err, &limit) || count > 0 {
		t.Errorf("a tree over the budget: %v, %d paths", err, count)
	}
}

// TestStrays: what came along and was met by no walk is counted, but for what the
// repository has anyway.
func TestStrays(t *testing.T) {
	h := newHistory(t)
	quarantine := filepath.Join(h.dir, "objects", "incoming")
	env := map[string]string{"GIT_DIR": h.dir, "GIT_OBJECT_DIRECTORY": quarantine, "GIT_QUARANTINE_PATH": quarantine,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES": filepath.Join(h.dir, "objects")}
	if err := os.MkdirAll(quarantine, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "hash-object", "-w", "--stdin")
	cmd.Stdin = strings.NewReader("nobody's")
	cmd.Env = append(os.Environ(), "GIT_DIR="+h.dir, "GIT_OBJECT_DIRECTORY="+quarantine)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	repo, err := git.FromHook(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	batch := repo.Batch(t.Context())
	defer batch.Close()
	w, err := walk.New(t.Context(), repo, batch, "refs/heads/", config.Default().Control, roomy)
	if err != nil {
		t.Fatal(err)
	}
	if count, first, err := w.Strays(); err != nil || count != 1 || first != strings.TrimSpace(string(out)) {
		t.Errorf("%d %s %v", count, first, err)
	}
}

// TestSize: what a tree's blobs have together, and what changes add to it.
func TestSize(t *testing.T) {
	h := newHistory(t)
	w := h.walker(t, roomy)
	sizes := map[string]int64{}
	for _, name := range []string{"one", "a", "b"} {
		c, err := w.Commit(h.ids[name])
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(h.git(t, "", "--git-dir="+h.dir, "ls-tree", "-r", "--format=%(objectsize)", h.ids[name])) {
			var n int64
			fmt.Sscan(line, &n)
			sizes[name] += n
		}
		if got, err := w.Size(c.Tree, 1<<20); err != nil || got != sizes[name] || got == 0 {
			t.Errorf("%s: %d, not %d: %v", name, got, sizes[name], err)
		}
	}
	tip := h.tip(t, w, "refs/heads/old", "one", "b")
	if err := w.Difference(tip); err != nil {
		t.Fatal(err)
	}
	if got, err := w.Grown(tip.Changes); err != nil || got != sizes["b"]-sizes["one"] {
		t.Errorf("%d, not %d: %v", got, sizes["b"]-sizes["one"], err)
	}
}
