package gittest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

func TestGit(t *testing.T) {
	dir := t.TempDir()
	Git(t, dir, "init", "-q", "-b", "topic")
	Git(t, dir, "commit", "-q", "--allow-empty", "-m", "one")
	if got := Git(t, dir, "log", "--format=%an %s", "topic"); got != "A one" {
		t.Errorf("%q", got)
	}
}

// TestProgram: a program can be run as soon as it is written, while others begin children.
func TestProgram(t *testing.T) {
	dir := t.TempDir()
	end := make(chan bool)
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
					exec.Command("true").Run()
				}
			}
		})
	}
	for i := range 100 {
		path := filepath.Join(dir, fmt.Sprint(i))
		Program(t, path, "#!/bin/sh\n")
		if err := exec.Command(path).Run(); err != nil {
			t.Error(err)
		}
	}
	close(end)
	others.Wait()
}

// told keeps what a test under test complains of.
type told struct {
	testing.TB
	errors []string
}

func (o *told) Helper()                      {}
func (o *told) Errorf(f string, args ...any) { o.errors = append(o.errors, fmt.Sprintf(f, args...)) }

func TestInOrder(t *testing.T) {
	for _, test := range []struct {
		parts []string
		want  int
	}{{nil, 0}, {[]string{"a", "b", "b"}, 0}, {[]string{"b", "a"}, 1}, {[]string{"b", "b", "b"}, 1}, {[]string{"c"}, 1}} {
		o := &told{TB: t}
		InOrder(o, "a b b", test.parts...)
		if len(o.errors) != test.want {
			t.Errorf("%q: %q", test.parts, o.errors)
		}
	}
}
