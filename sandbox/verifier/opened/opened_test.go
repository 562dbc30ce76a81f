package opened

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// checkout is a directory with files in it and beside it, and git's objects.
func checkout(t *testing.T, files ...string) (dir, objects string) {
	t.Helper()
	dir, objects = t.TempDir(), t.TempDir()
	err := errors.Join(os.WriteFile(filepath.Join(objects, "pack"), nil, 0o600))
	for _, name := range files {
		file := filepath.Join(dir, name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("text\n"), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir, objects
}

func open(t *testing.T, dir string) *os.File {
	t.Helper()
	root, err := os.OpenFile(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// sees runs a line for the shell in a checkout, and compares what the watch saw.
func (w *Watch) sees(t *testing.T, dir, line string, want []string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", line, err, out)
	}
	if got, err := w.End(); err != nil || !slices.Equal(got, want) {
		t.Errorf("%s: %q, not %q: %v", line, got, want, err)
	}
}

// TestOpened: whoever opens a file, by whatever path, is seen; who looks only at its name,
// or opens its neighbours, has not opened it.
func TestOpened(t *testing.T) {
	for line, want := range map[string][]string{
		":":             nil,
		"cat a":         {"a"},
		"cat deep/er/b": {"deep/er/b"},
		"cat other; ls -lR . ; stat a; test -e deep/er/b": nil,
		"exec <deep/er/b":                {"deep/er/b"},
		"ln a elsewhere; cat elsewhere":  {"a"},
		"mv deep/er/b c; cat c":          {"deep/er/b"},
		"mv deep low; cat low/er/b":      {"deep/er/b"},
		"ln -s deep/er link; cat link/b": {"deep/er/b"},
		"cp other new; mv new a; cat a":  {"a"}, // what stands there is what a program finds
		"rm -rf a deep":                  nil,
		"touch -a -d 2001-01-01 a; cp a deep/er/b; touch -a -d 2001-01-01 a":      {"a", "deep/er/b"},
		"for n in 1 2 3; do (cat a >/dev/null &) ; done; wait; sh deep/er/b || :": {"a", "deep/er/b"},
	} {
		dir, objects := checkout(t, "a", "deep/er/b", "other")
		w, err := Begin(open(t, dir), []string{"a", "deep/er/b"}, []string{objects})
		if err != nil {
			t.Fatal(err)
		}
		w.sees(t, dir, line, want)
	}
	// A directory that is made anew, or the checkout elsewhere, has files that nobody watches.
	all := []string{"a", "deep/er/b"}
	for _, line := range []string{
		"rm -r deep; mkdir -p deep/er; cp other deep/er/b; cat deep/er/b",
		"rm -r deep/er; mkdir deep/er; cp other deep/er/b; rm -r deep/er",
		"mv deep low; mkdir -p new/er; cp other new/er/b; mv new deep; cat deep/er/b",
		"rm -r deep; mkdir -p low/er; cp other low/er/b; ln -s low deep; cat deep/er/b",
		`here=$PWD; cd ..; mv "$here" away; mkdir "$here"; cp away/other "$here/a"; cat "$here/a"; rm -r "$here"; mv away "$here"`,
	} {
		dir, objects := checkout(t, "a", "deep/er/b", "other")
		w, err := Begin(open(t, dir), all, []string{objects})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
		if got, err := w.End(); !errors.Is(err, errLost) || !slices.Equal(got, all) {
			t.Errorf("%s: %q, %v", line, got, err)
		}
	}
}

// TestWritten: whoever writes to a file, or puts another in its place, is seen, whatever stands
// there in the end; who reads it, or writes beside it, is not.
func TestWritten(t *testing.T) {
	both := []string{"a", "deep/er/b"}
	for line, want := range map[string][]string{
		"cat a deep/er/b; ls -lR .":                 nil,
		"echo x >new; mkdir d; echo x >d/a":         nil,
		"echo x >other; rm other":                   nil,
		"echo x >>a":                                {"a"},
		"cp a k; echo x >a; cp k a; rm k":           {"a"}, // put back
		"cp a k; mv a old; mv k a; mv -f old a":     {"a"},
		"ln deep/er/b k; echo x >k; rm k":           {"deep/er/b"},
		"rm a":                                      {"a"},
		"rm -rf deep":                               {"deep/er/b"},
		"chmod 700 a":                               {"a"},
		"mv deep low; mv low deep":                  {"deep/er/b"},
		"mkdir low; mv deep/er low; mv low/er deep": {"deep/er/b"},
		"ln -sf other a":                            {"a"},
		`exec 3<>a`:                                 {"a"}, // a mapping could have written
		"(echo x >a) & echo x >>deep/er/b; wait":    both,
	} {
		dir, _ := checkout(t, "a", "deep/er/b", "other")
		w, err := BeginWritten(open(t, dir), both)
		if err != nil {
			t.Fatal(err)
		}
		w.sees(t, dir, line, want)
	}
}

// TestNobodyKnows: where the kernel could not tell, or another way led to the contents,
// every file counts as opened, and the error says why.
func TestNobodyKnows(t *testing.T) {
	dir, objects := checkout(t, "a", "b")
	files := []string{"a", "b"}
	w, err := Begin(open(t, dir), files, []string{objects})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(filepath.Join(objects, "pack")); err != nil {
		t.Fatal(err)
	}
	if got, err := w.End(); !errors.Is(err, errObjects) || !slices.Equal(got, files) {
		t.Errorf("objects: %q, %v", got, err)
	}
	w, err = Begin(open(t, dir), files, nil)
	if err != nil {
		t.Fatal(err)
	}
	overflow := make([]byte, unix.SizeofInotifyEvent)
	binary.NativeEndian.PutUint32(overflow[4:], unix.IN_Q_OVERFLOW)
	if w.take(overflow); w.lost == nil {
		t.Error("an overflow is passed over")
	}
	if got, err := w.End(); !errors.Is(err, errOverflow) || !slices.Equal(got, files) {
		t.Errorf("overflow: %q, %v", got, err)
	}
}

// TestLostWatch: where the kernel watches a file or a directory no longer, though it is there,
// every file counts.
func TestLostWatch(t *testing.T) {
	files := []string{"a", "b"}
	for what, of := range map[string]func(*Watch) (wd int32, mask uint32){
		"an unmount of a file":       func(w *Watch) (int32, uint32) { return slices.Sorted(maps.Keys(w.files))[0], unix.IN_UNMOUNT },
		"an unmount of the checkout": func(w *Watch) (int32, uint32) { return w.canary, unix.IN_UNMOUNT },
		"no watch of git's objects":  func(w *Watch) (int32, uint32) { return slices.Sorted(maps.Keys(w.objects))[0], unix.IN_IGNORED },
	} {
		for _, written := range []bool{false, true} {
			dir, objects := checkout(t, files...)
			w, err := Begin(open(t, dir), files, []string{objects})
			if err == nil && written {
				w.End()
				if w, err = BeginWritten(open(t, dir), files); err == nil {
					w.objects[1<<20] = true
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			event := make([]byte, unix.SizeofInotifyEvent)
			wd, mask := of(w)
			binary.NativeEndian.PutUint32(event, uint32(wd))
			binary.NativeEndian.PutUint32(event[4:], mask)
			if w.take(event); w.lost == nil {
				t.Errorf("%s is passed over", what)
			}
			if got, err := w.End(); !errors.Is(err, errLost) || !slices.Equal(got, files) {
				t.Errorf("%s: %q, %v", what, got, err)
			}
		}
	}
}

// TestFlood: so many events as the kernel does not keep are read as they come.
func TestFlood(t *testing.T) {
	dir, _ := checkout(t, "a", "b")
	w, err := Begin(open(t, dir), []string{"a"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 40000 { // of 16,384 that it keeps
		if f, err := os.Open(filepath.Join(dir, "b")); err != nil {
			t.Fatal(err)
		} else {
			f.Close()
		}
	}
	if got, err := w.End(); errors.Is(err, errOverflow) { // on a slow machine, and it is said
		if len(got) != 1 {
			t.Error("an overflow names no file")
		}
	} else if err != nil || got != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestCannotBegin: a checkout that cannot be watched whole is not watched.
func TestCannotBegin(t *testing.T) {
	dir, _ := checkout(t, "a")
	if err := os.Symlink("/", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	many := make([]string, MaxFiles+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for _, files := range [][]string{{"a", "missing"}, {"../a"}, {"out/etc/passwd"}, many} {
		if w, err := Begin(open(t, dir), files, nil); err == nil {
			t.Errorf("%q: %v", files[0], w)
		}
	}
}
