package cache

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/internal/gittest"
	"git-ward/internal/scratch"
)

// packing is a filler that packs some files; one with "/" at its end is a directory, and
// one with "->" in its content a link.
func packing(files map[string]string) func(*Entry, io.Writer) error {
	return func(_ *Entry, w io.Writer) error {
		t := tar.NewWriter(w)
		for name, content := range files {
			h := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}
			if target, ok := strings.CutPrefix(content, "-> "); ok {
				h.Size, h.Typeflag, h.Linkname = 0, tar.TypeSymlink, target
			}
			if err := t.WriteHeader(h); err != nil {
				return err
			}
			if h.Size > 0 {
				if _, err := io.WriteString(t, content); err != nil {
					return err
				}
			}
		}
		return t.Close()
	}
}

const (
	key   = "0123456789abcdef0123"
	first = "1111111111111111111111111111111111111111"
	next  = "2222222222222222222222222222222222222222"
)

func newest(t *testing.T, s *Store, key, main string) *Entry {
	t.Helper()
	e, err := s.Newest(key, main)
	if err != nil {
		t.Fatal(err)
	}
	if e != nil {
		t.Cleanup(func() { e.Close() })
	}
	return e
}

// TestFill: an entry is found when it is sealed; a new main's takes the place of the
// one before, which goes when nobody holds it any more.
func TestFill(t *testing.T) {
	s := &Store{Dir: filepath.Join(t.TempDir(), "cache"), Size: 1 << 20}
	if e := newest(t, s, key, first); e != nil {
		t.Fatal(e)
	}
	fill := func(main string, files map[string]string) error {
		return s.Fill(t.Context(), key, main, []Kind{Go}, 0, packing(files))
	}
	if err := fill(first, map[string]string{"go/mod/a": "1", "./go/build/b": "2"}); err != nil {
		t.Fatal(err)
	}
	held := newest(t, s, key, next) // none of that main yet: the one before it will do
	if held == nil || held.Seal.Main != first || held.Words() != "go of main's 111111111111" {
		t.Fatalf("%+v", held)
	}
	if err := fill(first, map[string]string{"go/mod/a": "other"}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(held.Dir, "go/mod/a")); err != nil || string(data) != "1" {
		t.Errorf("a sealed entry was written again: %q, %v", data, err)
	}
	if err := fill(next, map[string]string{"go/mod/a": "3"}); err != nil {
		t.Fatal(err)
	}
	if e := newest(t, s, key, next); e == nil || e.Seal.Main != next {
		t.Errorf("%+v", e)
	}
	if _, err := os.Stat(held.Dir); err != nil {
		t.Error("an entry that is held was collected")
	}
	if e := newest(t, s, "another key", next); e != nil {
		t.Errorf("%+v", e)
	}
	held.Close()
	if err := s.Fill(t.Context(), "fedcba9876543210", first, []Kind{Go}, 0, packing(nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(held.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("an entry that is superseded stays", err)
	}
}

// TestFillIsWhole: what breaks, or is too large, or was killed leaves no entry, and the
// next fill clears it away.
func TestFillIsWhole(t *testing.T) {
	s := &Store{Dir: t.TempDir(), Size: 1 << 16}
	// Made elsewhere: this process sweeps a directory once.
	killed, err := scratch.Make(t.TempDir(), "fill-")
	if err != nil {
		t.Fatal(err)
	}
	killed.Lock.Close()
	if err := os.Rename(killed.Path, filepath.Join(s.Dir, filepath.Base(killed.Path))); err != nil {
		t.Fatal(err)
	}
	for name, pack := range map[string]func(*Entry, io.Writer) error{
		"fails":     func(*Entry, io.Writer) error { return errors.New("no network") },
		"too large": packing(map[string]string{"go/x": strings.Repeat("x", 1<<16)}),
		"cut off": func(_ *Entry, w io.Writer) error {
			tar.NewWriter(w).WriteHeader(&tar.Header{Name: "go/x", Size: 100, Mode: 0o644, Typeflag: tar.TypeReg})
			return nil
		},
		"fails late": func(e *Entry, w io.Writer) error {
			return errors.Join(packing(map[string]string{"go/x": "1"})(e, w), errors.New("exit 3"))
		},
		"climbs":   packing(map[string]string{"../x": "1"}),
		"absolute": packing(map[string]string{"/etc/x": "1"}),
	} {
		if err := s.Fill(t.Context(), key, first, []Kind{Go}, 0, pack); err == nil {
			t.Errorf("%s: it was sealed", name)
		}
		entries, err := os.ReadDir(s.Dir)
		if err != nil || len(entries) != 1 {
			t.Errorf("%s: left behind: %v %v", name, entries, err)
		}
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(s.Dir), "x")); err == nil {
		t.Error("a file was made outside")
	}
	// A link is no way out either: what is written below it stays inside, or fails.
	err = s.Fill(t.Context(), key, first, []Kind{Go}, 0, packing(map[string]string{"go": "-> /tmp", "npm/x": "1"}))
	e := newest(t, s, key, first)
	if err != nil || e == nil {
		t.Fatal(err, e)
	}
	if info, err := os.Lstat(filepath.Join(e.Dir, "go")); err == nil && info.Mode()&os.ModeSymlink != 0 {
		t.Error("a link was made")
	}
}

// TestFillOfACopy: entries that were copied with their repository are none of the copy's, and it is
// filled beside them, and leaves nothing else.
func TestFillOfACopy(t *testing.T) {
	s := &Store{Dir: filepath.Join(t.TempDir(), "cache"), Size: 1 << 20}
	fill := func() error {
		return s.Fill(t.Context(), key, first, []Kind{Go}, 0, packing(map[string]string{"go/mod/a": "1"}))
	}
	if err := fill(); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "cache")
	if err := os.CopyFS(copied, os.DirFS(s.Dir)); err != nil {
		t.Fatal(err)
	}
	s.Dir = copied
	if e := newest(t, s, key, first); e != nil {
		t.Errorf("%+v", e)
	}
	if err := fill(); err != nil {
		t.Error(err)
	}
	e := newest(t, s, key, first)
	if e == nil {
		t.Fatal("the copy has no entry")
	}
	e.Close()
	if left, _ := filepath.Glob(filepath.Join(copied, "*fill-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestSize: all entries together have the size, and the oldest goes first.
func TestSize(t *testing.T) {
	s := &Store{Dir: t.TempDir(), Size: 40 << 10}
	for _, k := range []string{"aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb", "cccccccccccccccc"} {
		if err := s.Fill(t.Context(), k, first, []Kind{Npm}, 0, packing(map[string]string{"npm/x": strings.Repeat(k, 1<<10)})); err != nil {
			t.Fatal(err)
		}
	}
	for k, there := range map[string]bool{"aaaaaaaaaaaaaaaa": false, "bbbbbbbbbbbbbbbb": true, "cccccccccccccccc": true} {
		if e := newest(t, s, k, first); (e != nil) != there {
			t.Errorf("%s: %v, want %v", k, e != nil, there)
		}
	}
}

// TestOneFills: a second filler waits, as long as it has patience.
func TestOneFills(t *testing.T) {
	s := &Store{Dir: t.TempDir(), Size: 1 << 20}
	inside, done := make(chan bool), make(chan bool)
	go s.Fill(context.WithoutCancel(t.Context()), key, first, []Kind{Go}, 0, func(e *Entry, w io.Writer) error {
		close(inside)
		<-done
		return packing(nil)(e, w)
	})
	<-inside
	if err := s.Fill(t.Context(), key, first, []Kind{Go}, 0, packing(nil)); err == nil {
		t.Error("two fill at once")
	}
	close(done)
	if err := s.Fill(t.Context(), key, first, []Kind{Go}, 10*time.Second, packing(nil)); err != nil {
		t.Error(err)
	}
}

var allKinds = []string{"go", "npm", "pip"}

// TestLocks: lockfiles of the tree's own, and a key that is another for another lockfile,
// another image or another toolchain.
func TestLocks(t *testing.T) {
	tree := map[string]string{"go.mod": "100644 1", "go.sum": "100644 2", "web/package.json": "100644 3", "web/package-lock.json": "100644 4",
		"node_modules/x/package-lock.json": "100644 5", "vendor/x/go.mod": "100644 6", "requirements.txt": "100644 7", "link/go.mod": "120000 8", "tools/go.mod": "100644 9", "main.go": "100644 a"}
	l := LocksOf(tree, allKinds)
	for kind, want := range map[Kind]string{Go: ". tools", Npm: "web", Pip: "."} {
		if got := strings.Join(l.Dirs(kind), " "); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
	if only := LocksOf(tree, []string{"npm"}); len(only) != 2 || len(only.Kinds()) != 1 {
		t.Error(only)
	}
	tree["go.sum"] = "100644 changed"
	other := LocksOf(tree, allKinds)
	if got := strings.Join(l.Differ(other), " "); got != "go.sum" {
		t.Error(got)
	}
	keys := map[string]bool{l.Key("image", "go1"): true, l.Key("image", "go2"): true, l.Key("other", "go1"): true, other.Key("image", "go1"): true}
	if len(keys) != 4 || !keys[l.Key("image", "go1")] {
		t.Error(keys)
	}
}

// TestScripts: both are what a shell reads, whatever a directory is called.
func TestScripts(t *testing.T) {
	odd := Locks{"a'b; touch x/go.mod": "1", "-n/package-lock.json": "2", "requirements.txt": "3"}
	for _, script := range []string{Setup, odd.FillScript()} {
		c := exec.Command("sh", "-n")
		c.Stdin = strings.NewReader(script)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v: %s\n%s", err, out, script)
		}
	}
}

// TestPipIsNotTheTrees: a module of the tree's that is called pip, or like one of
// Python's own, does not run while the cache is filled.
func TestPipIsNotTheTrees(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED: there is no python3 here")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tree/requirements.txt": "x==1 --hash=sha256:00\n",
		"tree/pip/__init__.py":  "",
		"tree/pip/__main__.py":  "open('" + dir + "/ran', 'w')\n",
		// What is asked of pip itself would need a network.
		"bin/python3": "#!/bin/sh\nwhile [ \"$1\" != pip ]; do set -- \"$@\" \"$1\"; shift; done\nwhile [ \"$1\" != -I ] && [ \"$1\" != -m ]; do shift; done\nexec " + python + " \"$@\" pip --version\n",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), gittest.WriteProgram(path, text)); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("sh", "-c", strings.ReplaceAll(Locks{"requirements.txt": "1"}.FillScript(), "/bot", dir+"/bot"))
	c.Dir, c.Env = filepath.Join(dir, "tree"), []string{"PATH=" + dir + "/bin:" + os.Getenv("PATH"), "GOCACHE=" + dir + "/none"}
	out, err := c.CombinedOutput()
	if _, ran := os.Stat(filepath.Join(dir, "ran")); ran == nil {
		t.Errorf("a module of the tree ran: %v\n%s", err, out)
	}
	if !strings.Contains(string(out), "pip") {
		t.Errorf("nobody asked it: %v\n%s", err, out)
	}
}
