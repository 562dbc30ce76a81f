package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
	"golang.org/x/sys/unix"

	"git-ward/hooks/view"
	"git-ward/internal/await"
)

// repository is a Source whose state a test sets.
type repository struct {
	mu      sync.Mutex
	version string
	over    *view.Overview
	one     *view.Directive
	err     error
	bare    bool
	dir     string
	reads   int
}

func (r *repository) Bare() bool  { return r.bare }
func (r *repository) Dir() string { return r.dir }

func (r *repository) Version(context.Context) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.version, r.err
}

func (r *repository) Overview(context.Context) (*view.Overview, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads++
	return r.over, r.err
}

func (r *repository) Directive(context.Context, string) (*view.Directive, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.one, r.err
}

func (r *repository) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

// busyRepository is a repository on a host, in which much goes on.
func busyRepository(t *testing.T) *repository {
	s := open()
	s.One.Waiting = nil
	return &repository{version: "1", over: s.Over, one: s.One, bare: true, dir: t.TempDir()}
}

// emulator is a terminal with a program on it.
type emulator struct {
	t      *testing.T
	outer  *os.File
	inner  *os.File
	vt     vt10x.Terminal
	mu     sync.Mutex
	raw    strings.Builder
	before *unix.Termios
	ended  chan error
}

// watchOn runs the terminal program on a terminal of a size; of 0 it does not know it.
func watchOn(t *testing.T, ctx context.Context, looker *Looker, cols, lines int, environ ...string) *emulator {
	t.Helper()
	outer, inner, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	e := &emulator{t: t, outer: outer, inner: inner, vt: vt10x.New(vt10x.WithSize(cmp.Or(cols, 80), cmp.Or(lines, 24))), ended: make(chan error, 1)}
	if err := pty.Setsize(inner, &pty.Winsize{Cols: uint16(cols), Rows: uint16(lines)}); err != nil {
		t.Fatal(err)
	}
	if e.before, err = unix.IoctlGetTermios(int(inner.Fd()), unix.TCGETS); err != nil {
		t.Fatal(err)
	}
	go func() {
		buf := make([]byte, 32<<10)
		for {
			n, err := outer.Read(buf)
			if err != nil {
				return
			}
			e.mu.Lock()
			e.raw.Write(buf[:n])
			e.mu.Unlock()
			e.vt.Write(buf[:n])
		}
	}()
	environ = append([]string{"TERM=xterm-256color", "LANG=C.UTF-8"}, environ...)
	getenv := func(name string) string {
		for _, v := range environ {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
	go func() { e.ended <- Watch(ctx, looker, inner, inner, environ, getenv) }()
	t.Cleanup(func() { outer.Close(); inner.Close() })
	return e
}

func (e *emulator) text() string { return e.vt.String() }

// sees waits until the screen shows a text; programs draw by a clock.
func (e *emulator) sees(texts ...string) string {
	e.t.Helper()
	var screen string
	await.True(e.t, fmt.Sprintf("the screen shows %q", texts), func() bool { screen = e.text(); return hasAll(screen, texts) })
	return screen
}

// seesNo waits until the screen has a text no longer.
func (e *emulator) seesNo(text string) {
	e.t.Helper()
	await.True(e.t, "the screen shows no "+text, func() bool { return !strings.Contains(e.text(), text) })
}

func (e *emulator) types(keys string) { e.outer.WriteString(keys) }

func (e *emulator) resize(cols, lines int) {
	pty.Setsize(e.inner, &pty.Winsize{Cols: uint16(cols), Rows: uint16(lines)})
	e.vt.Resize(cols, lines)
	unix.Kill(os.Getpid(), unix.SIGWINCH) // the terminal is not this process's own, for which the kernel does it
}

// ends waits for the program, and proves that the terminal is as it was.
func (e *emulator) ends() error {
	e.t.Helper()
	err := await.Value(e.t, "the program ends", e.ended)
	after, termErr := unix.IoctlGetTermios(int(e.inner.Fd()), unix.TCGETS)
	if termErr != nil || *after != *e.before {
		e.t.Errorf("the terminal's settings are not as they were: %v", termErr)
	}
	for _, pair := range [][2]string{{"\x1b[?1049h", "\x1b[?1049l"}, {"\x1b[?25l", "\x1b[?25h"}} { // the other screen; the cursor
		await.True(e.t, fmt.Sprintf("%q takes back %q", pair[1], pair[0]), func() bool { return e.tookBack(pair) }) // the other end has read it
	}
	return err
}

func (e *emulator) tookBack(pair [2]string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.LastIndex(e.raw.String(), pair[1]) > strings.LastIndex(e.raw.String(), pair[0])
}

// TestWatch walks by keys through all that there is to see, on a terminal.
func TestWatch(t *testing.T) {
	r := busyRepository(t)
	e := watchOn(t, t.Context(), NewLooker(r, "", time.Minute), 80, 24)
	e.sees("Waits for you", "git ward review", "In progress", "? help")
	e.types("?")
	e.sees("Keys. None changes anything")
	e.types("x")
	e.sees("Waits for you")
	e.types("jj\r")
	e.sees("D-3  part politely", "residual", "own words, proved by nothing")
	e.types("\t")
	e.sees("### D-3", "the PM clarifies")
	e.types("\x1b")
	e.sees("Waits for you", "Not begun")
	e.resize(40, 12)
	e.sees("? help")
	for range 50 { // a storm
		e.resize(10, 3)
		e.resize(100, 30)
	}
	if screen := e.sees("Taken"); strings.Contains(screen, "\x1b") || strings.Contains(screen, "\u202e") {
		t.Errorf("hostile text is on the screen:\n%s", screen)
	}
	e.types("q")
	if err := e.ends(); err != nil {
		t.Error(err)
	}
}

// TestWatchWithoutSize: a terminal that says 0 columns and lines has the usual ones, and its
// own as soon as it says them.
func TestWatchWithoutSize(t *testing.T) {
	e := watchOn(t, t.Context(), NewLooker(busyRepository(t), "", time.Minute), 0, 0)
	e.sees("Waits for you", "In progress", "? help")
	e.resize(100, 30)
	e.sees("Taken")
	e.types("q")
	if err := e.ends(); err != nil {
		t.Error(err)
	}
}

// TestWatchEnds: whichever way it ends, the terminal is as it was.
func TestWatchEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(e *emulator, cancel func())
		want error
	}{
		"ctrl-c":   {func(e *emulator, _ func()) { e.types("\x03") }, context.Canceled},
		"a signal": {func(_ *emulator, cancel func()) { cancel() }, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			e := watchOn(t, ctx, NewLooker(busyRepository(t), "", time.Minute), 80, 24)
			e.sees("? help")
			c.end(e, cancel)
			if err := e.ends(); !errors.Is(err, c.want) {
				t.Error(err)
			}
		})
	}
}

// TestWatchWithoutColour: NO_COLOR takes the colours and nothing else.
func TestWatchWithoutColour(t *testing.T) {
	e := watchOn(t, t.Context(), NewLooker(busyRepository(t), "", time.Minute), 80, 24, "NO_COLOR=1")
	e.sees("Waits for you", "In progress")
	e.types("q")
	if err := e.ends(); err != nil {
		t.Error(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, colour := range []string{"\x1b[33", "\x1b[31", "\x1b[36", ";33m", ";31m", ";36m"} {
		if strings.Contains(e.raw.String(), colour) {
			t.Errorf("%q in spite of NO_COLOR", colour)
		}
	}
}

// TestWatchSaysTrouble: a repository that vanishes is said, and what was seen of it stays;
// when it is back, that is seen, too.
func TestWatchSaysTrouble(t *testing.T) {
	r := busyRepository(t)
	e := watchOn(t, t.Context(), NewLooker(r, "", 50*time.Millisecond), 80, 24)
	e.sees("In progress")
	r.set(func() { r.err = errors.New("not a git repository: it is gone") })
	e.sees("trouble: not a git repository", "In progress")
	r.set(func() { r.err, r.version = nil, "2"; r.over.Warnings = nil })
	e.seesNo("trouble:")
	e.types("q")
	if err := e.ends(); err != nil {
		t.Error(err)
	}
}
