package verifier

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestShared: a try that failed is made again, and one that did not stands for the launch.
func TestShared(t *testing.T) {
	p, tries := new(Places), 0
	for n, why := range []string{"no room", "no room", "", ""} {
		got := p.shared(func() error {
			if tries++; tries < 3 {
				return errors.New("no room")
			}
			return nil
		})
		if got != why || tries != min(n+1, 3) {
			t.Errorf("%d: %q after %d tries", n, got, tries)
		}
	}
}

// newPlaces are places for one test.
func newPlaces(t testing.TB) *Places {
	t.Helper()
	p, err := NewPlaces()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// TestPlaces: what two commands have of one file is one link of two names; what has gone, none has any
// more, and the links to it do not pile up.
func TestPlaces(t *testing.T) {
	p, err := NewPlaces()
	if err != nil {
		t.Fatal(err)
	}
	at := t.TempDir()
	own := func() string {
		t.Helper()
		dir := t.TempDir()
		entries, err := os.ReadDir(at)
		if err != nil {
			t.Fatal(err)
		}
		p.link(at, dir, entries)
		return dir
	}
	touch := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(at, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	touch("stays")
	first, second := own(), own()
	for _, dir := range []string{first, second} {
		if to, err := os.Readlink(filepath.Join(dir, "stays")); err != nil || to != ".host/stays" {
			t.Errorf("%q, %v", to, err)
		}
	}
	a, err := os.Lstat(filepath.Join(first, "stays"))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.Lstat(filepath.Join(second, "stays")); err != nil || !os.SameFile(a, b) {
		t.Errorf("a link for each command: %v", err)
	}
	for i := range 3 * spareLinks {
		name := fmt.Sprint("goes", i)
		touch(name)
		if _, err := os.Lstat(filepath.Join(own(), name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(at, name)); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(own()); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
	if kept, err := os.ReadDir(filepath.Join(p.dir.Path, at)); err != nil || len(kept) > spareLinks+3 {
		t.Errorf("%d links are kept, %v", len(kept), err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(p.dir.Path); err == nil {
		t.Error("the links are left")
	}
	if _, err := os.Readlink(filepath.Join(first, "stays")); err != nil {
		t.Error(err)
	}
}
