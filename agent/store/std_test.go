package store

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"git-ward/protocols/boot"
)

// TestLinkStd: the agent's Go reads the compiled standard library of its container, and what it writes,
// overwrites or removes is its own. A cache that is there stays, and a library that is not, or is gone, is
// no trouble.
func TestLinkStd(t *testing.T) {
	dir := t.TempDir()
	std, cache := filepath.Join(dir, "std"), filepath.Join(dir, "home", ".cache", "go-build")
	for name, text := range map[string]string{"ab/x-a": "an action", "trim.txt": "1"} {
		path := filepath.Join(std, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	if err := linkStd(std, cache); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(cache, "ab/x-a")); err != nil || string(data) != "an action" {
		t.Errorf("%q, %v", data, err)
	}
	if data, err := os.ReadFile(filepath.Join(cache, "trim.txt")); err != nil || len(data) < 10 {
		t.Errorf("Go would remove old entries today: %q, %v", data, err)
	}
	for _, name := range []string{"ab/x-a", "trim.txt"} {
		if err := os.Remove(filepath.Join(cache, name)); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(filepath.Join(cache, name), []byte("other"), 0o644); err != nil {
			t.Error(err)
		}
	}
	if err := linkStd(std, cache); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(filepath.Join(cache, "ab/x-a")); err != nil || string(data) != "other" {
		t.Errorf("a cache that was there is another: %q, %v", data, err)
	}
	if data, err := os.ReadFile(filepath.Join(std, "ab/x-a")); err != nil || string(data) != "an action" {
		t.Errorf("the library is another: %q, %v", data, err)
	}
	for name, there := range map[string]bool{"ab/of-another-image": false, "ab/mine": true} {
		target := filepath.Join(dir, "none")
		if there {
			target = filepath.Join(std, "ab/x-a")
		}
		if err := os.Symlink(target, filepath.Join(cache, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := linkStd("", cache); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]bool{"ab/x-a": true, "ab/mine": true, "ab/of-another-image": false} {
		if _, err := os.Lstat(filepath.Join(cache, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := linkStd(filepath.Join(dir, "none"), filepath.Join(dir, "other")); err != nil {
		t.Error("no library:", err)
	}
}

// TestLinkStdOverOthers: what an agent left where the mark of the cache is, is replaced: neither a link's
// target is written, nor does the next start wait for who reads a pipe.
func TestLinkStdOverOthers(t *testing.T) {
	dir := t.TempDir()
	std, cache, other := filepath.Join(dir, "std"), filepath.Join(dir, "cache"), filepath.Join(dir, "other")
	mark := filepath.Join(cache, trimmed)
	for _, d := range []string{std, cache} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for what, leave := range map[string]func() error{
		"a link": func() error { return os.Symlink(other, mark) },
		"a pipe": func() error {
			if err := syscall.Mkfifo(mark, 0o600); err != nil {
				return err
			}
			reader, err := os.OpenFile(mark, os.O_RDWR, 0) // without one, the old code would wait for ever
			t.Cleanup(func() { reader.Close() })
			return err
		},
	} {
		if err := os.WriteFile(other, []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := leave(); err != nil {
			t.Fatal(err)
		}
		if err := linkStd(std, cache); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if data, err := os.ReadFile(other); err != nil || string(data) != "mine" {
			t.Errorf("%s: another file is %q: %v", what, data, err)
		}
		if is, err := os.Lstat(mark); err != nil || !is.Mode().IsRegular() {
			t.Errorf("%s: the mark is no file: %v, %v", what, is, err)
		}
		if err := os.Remove(mark); err != nil {
			t.Error(err)
		}
	}
}

// TestGoCacheOfStd: with the library, all programs of the agent have the cache with its links, whatever
// their home is.
func TestGoCacheOfStd(t *testing.T) {
	s := &Store{Options: Options{State: "/state"}}
	has := func() (found bool) {
		for _, v := range s.Environ() {
			found = found || v == "GOCACHE=/state/home/.cache/go-build"
		}
		return found
	}
	t.Setenv(boot.StdVar, "")
	if has() {
		t.Error("it has the variable without a library")
	}
	t.Setenv(boot.StdVar, "/std")
	if !has() {
		t.Error("it has no variable")
	}
}
