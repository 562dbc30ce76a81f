package signals_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"git-ward/bootstrap/signals"
	"git-ward/bootstrap/statedir"
)

// box is a box whose refusals are collected.
func box(t *testing.T) (*signals.Box, *[]string) {
	t.Helper()
	d := &statedir.Dir{Path: t.TempDir()}
	if err := d.Prepare(); err != nil {
		t.Fatal(err)
	}
	refused := &[]string{}
	return &signals.Box{Dir: d, Log: zerolog.Nop(), Refused: func(kind string, why error) { *refused = append(*refused, kind+": "+why.Error()) }}, refused
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// taken is what Take hands over.
func taken(b *signals.Box) (list []string) {
	b.Take(func(s signals.Signal, again bool) { list = append(list, fmt.Sprint(s, " ", again)) })
	return list
}

// empty fails when a signal or a claimed one is left.
func empty(t *testing.T, b *signals.Box) {
	t.Helper()
	for _, dir := range []string{b.Dir.Signals(), b.Dir.Private()} {
		if left, _ := filepath.Glob(dir + "/*"); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
}

// TestTake: rollback first, each once.
func TestTake(t *testing.T) {
	b, refused := box(t)
	if b.Waiting() || taken(b) != nil {
		t.Error("nothing waits")
	}
	write(t, b.Dir.Signals()+"/bootstrap", "agent/D-1\n")
	write(t, b.Dir.Signals()+"/rollback", "refs/tags/v1")
	write(t, b.Dir.Signals()+"/something", "else")
	if !b.Waiting() {
		t.Error("two wait")
	}
	if got := taken(b); !slices.Equal(got, []string{"rollback refs/tags/v1 false", "bootstrap agent/D-1 false"}) {
		t.Errorf("%q", got)
	}
	os.Remove(b.Dir.Signals() + "/something")
	b.Waiting()
	empty(t, b)
	if b.Waiting() || taken(b) != nil || len(*refused) > 0 {
		t.Errorf("a second time, or %q", *refused)
	}
}

// TestTakeAgain: a watcher that was killed over a signal does not lose it, and what
// came since is another one.
func TestTakeAgain(t *testing.T) {
	b, _ := box(t)
	write(t, b.Dir.Own("claimed-bootstrap"), "agent/D-1\n")
	write(t, b.Dir.Signals()+"/bootstrap", "agent/D-2\n")
	if got := taken(b); !slices.Equal(got, []string{"bootstrap agent/D-1 true", "bootstrap agent/D-2 false"}) {
		t.Errorf("%q", got)
	}
	empty(t, b)
}

// TestMalformed: what is no signal is removed and reported, by a look as well as by
// taking, and neither followed nor waited for.
func TestMalformed(t *testing.T) {
	target := filepath.Join(t.TempDir(), "target")
	write(t, target, "agent/x\n")
	for name, make := range map[string]func(path string) error{
		"link":       func(path string) error { return os.Symlink(target, path) },
		"zeros":      func(path string) error { return os.Symlink("/dev/zero", path) },
		"pipe":       func(path string) error { return syscall.Mkfifo(path, 0o666) },
		"directory":  func(path string) error { return os.MkdirAll(path+"/a/b", 0o755) },
		"large":      func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("x", 257)), 0o644) },
		"unreadable": func(path string) error { return os.WriteFile(path, []byte("agent/x\n"), 0) },
		"hard link":  func(path string) error { return os.Link(target, path) },
		"socket":     func(path string) error { return listen(path) },
		"sparse":     func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o644), os.Truncate(path, 10<<30)) },
		"lines":      func(path string) error { return os.WriteFile(path, []byte("a\nb\n"), 0o644) },
		"option":     func(path string) error { return os.WriteFile(path, []byte("--upload-pack=x\n"), 0o644) },
	} {
		for verb, look := range map[string]func(*signals.Box) bool{
			"wait": func(b *signals.Box) bool { return b.Waiting() },
			"take": func(b *signals.Box) bool { return taken(b) != nil },
		} {
			b, refused := box(t)
			if err := make(b.Dir.Signals() + "/bootstrap"); err != nil {
				t.Fatal(name, err)
			}
			if name == "unreadable" && os.Geteuid() == 0 { // root reads all
				if !look(b) {
					t.Error(name)
				}
				os.Remove(b.Dir.Signals() + "/bootstrap")
				continue
			}
			if look(b) || len(*refused) != 1 || !strings.HasPrefix((*refused)[0], "bootstrap: ") {
				t.Errorf("%s, %s: %q", name, verb, *refused)
			}
			empty(t, b)
		}
	}
	if data, err := os.ReadFile(target); err != nil || string(data) != "agent/x\n" {
		t.Errorf("the link's target: %q %v", data, err)
	}
}

// listen leaves a socket at a path.
func listen(path string) error {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}), syscall.Close(fd))
}

// TestYoung: what somebody is about to write, or to rename, is not taken for malformed; what
// stays as it is, is.
func TestYoung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, refused := box(t)
		write(t, b.Dir.Signals()+"/bootstrap", "")
		write(t, b.Dir.Signals()+"/Roll back", "main")
		if b.Waiting() || len(*refused) > 0 {
			t.Errorf("%q", *refused)
		}
		write(t, b.Dir.Signals()+"/bootstrap", "main\n")
		if !b.Waiting() {
			t.Error("now it is written")
		}
		write(t, b.Dir.Signals()+"/bootstrap", "")
		for range 30 {
			time.Sleep(500 * time.Millisecond) // of the test's own clock
			b.Waiting()
		}
		if want := []string{"bootstrap: it is empty", "Roll back: no signal has this name"}; !slices.Equal(*refused, want) {
			t.Errorf("%q", *refused)
		}
		empty(t, b)
	})
}

// TestFlood: 2,000 malformed signals are 2,000 removed ones, a few reports, and their
// number.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, refused := box(t)
		for range 2_000 {
			if err := os.Mkdir(b.Dir.Signals()+"/bootstrap", 0o777); err != nil {
				t.Fatal(err)
			}
			b.Waiting()
		}
		time.Sleep(time.Minute) // of the test's own clock
		write(t, b.Dir.Signals()+"/rollback", "a b")
		b.Waiting()
		if n := len(*refused); n != 21 || !strings.HasSuffix((*refused)[20], "; 1980 more of them were removed before") {
			t.Errorf("%d: %q", n, (*refused)[n-1])
		}
		empty(t, b)
	})
}

// TestEmptying: directories that take long to empty do not keep the watcher from its other
// looks, it empties none as itself, and all are gone in the end.
func TestEmptying(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := box(t)
		for _, most := range []time.Duration{0, 4 * time.Second} { // without the bound on a removal, and with it
			b.Remove = func(path string) error {
				if most == 0 {
					return errors.New("it was told to stop")
				}
				time.Sleep(3 * time.Second) // of the test's own clock
				return os.RemoveAll(path)
			}
			for i := range 20 {
				if err := os.MkdirAll(fmt.Sprint(b.Dir.Signals(), "/.refused-", i, "/full"), 0o777); err != nil {
					t.Fatal(err)
				}
			}
			for range 30 {
				begin := time.Now()
				b.Waiting()
				if took := time.Since(begin); took > most {
					t.Errorf("a look took %s", took)
				}
			}
			if left, _ := filepath.Glob(b.Dir.Signals() + "/.refused-*/full"); most == 0 && len(left) != 20 || most > 0 && len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		}
	})
}

// TestYoungBehindStrays: names that stay do not keep an empty signal from being removed.
func TestYoungBehindStrays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, refused := box(t)
		for i := range 200 {
			write(t, fmt.Sprint(b.Dir.Signals(), "/stray", i), "")
		}
		write(t, b.Dir.Signals()+"/bootstrap", "")
		for range 4 {
			b.Waiting()
			time.Sleep(time.Second) // of the test's own clock
		}
		if want := []string{"bootstrap: it is empty"}; !slices.Equal(*refused, want) {
			t.Errorf("%q", *refused)
		}
	})
}
