package host

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/await"
	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/tier"
	protocol "git-ward/protocols/lease"
	"git-ward/sandbox/lease"
)

// listens is a host with one worker, which nobody runs; ended says why it was ended.
func listens(t *testing.T) (h *Host, j *Job, ended func() error) {
	h = New(Spec{Settings: config.Default()})
	ctx, cancel := context.WithCancelCause(t.Context())
	j = &Job{Directive: "D-1", host: h, cancel: cancel}
	h.running["D-1"] = j
	return h, j, func() error { return context.Cause(ctx) }
}

// silence is the shipped one.
var silence = config.Default().Launch.Silence.Duration

// turns are so many of a host that listens.
func turns(h *Host, of, each time.Duration) {
	for passed := time.Duration(0); passed <= of; passed += each {
		h.listen(each)
	}
}

// TestListens: no worker is ended whose watcher gives signs of life, or never gave one; nor for
// time that the host did not live through, nor while nobody reads what the worker prints.
func TestListens(t *testing.T) {
	h, j, ended := listens(t)
	turns(h, 100*silence, pollInterval)
	if err := ended(); err != nil {
		t.Error("an older watcher, which gives no sign:", err)
	}
	j.Lives()
	for range 100 {
		turns(h, silence-10*pollInterval, pollInterval)
		j.Lives()
	}
	if err := ended(); err != nil {
		t.Error("a watcher that lives:", err)
	}
	for range 100 { // it was stopped, or had no time
		h.listen(24 * time.Hour)
	}
	if err := ended(); err != nil {
		t.Error("a host that was away:", err)
	}
	j.Lives()
	read, write := io.Pipe()
	wrote := make(chan error, 1)
	go func() {
		_, err := io.WriteString(j.Passes(write), "hello\n")
		wrote <- err
	}()
	await.True(t, "the worker prints", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return j.pulse.passes == 1
	})
	turns(h, 100*silence, pollInterval)
	if err := ended(); err != nil {
		t.Error("nobody reads what it prints:", err)
	}
	if _, err := read.Read(make([]byte, 100)); err != nil {
		t.Error(err)
	}
	if err := await.Value(t, "the end of the write", wrote); err != nil {
		t.Error(err)
	}
	turns(h, silence+time.Second, pollInterval)
	if err := ended(); !errors.Is(err, errMute) {
		t.Error("a watcher that is stopped:", err)
	}
}

// TestMute: a worker whose watcher falls silent is ended, which is said, and its directive goes to
// another; a flood of what it prints, or of what moves, does not keep it, and the other worker stays.
func TestMute(t *testing.T) {
	r := newRepository(t, "", "")
	var said bytes.Buffer
	var h *Host
	other := make(chan struct{})
	var mu sync.Mutex
	ends := map[string][]error{}
	h = r.host(2, func(ctx context.Context, j *Job) error {
		j.Up()
		mu.Lock()
		first := len(ends[j.Directive]) == 0
		mu.Unlock()
		if j.Directive == "D-1" && first {
			j.Lives()
			out := j.Passes(io.Discard)
			await.True(t, "it is ended", func() bool {
				io.WriteString(out, "noise\n")
				h.nudge()
				return ctx.Err() != nil
			})
		} else if j.Directive == "D-2" {
			await.True(t, "another has the first directive", func() bool {
				j.Lives()
				select {
				case <-other:
					return true
				default:
					return ctx.Err() != nil
				}
			})
		} else {
			close(other)
		}
		mu.Lock()
		ends[j.Directive] = append(ends[j.Directive], context.Cause(ctx))
		mu.Unlock()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r.closes(h, j.Directive)
		return nil
	})
	h.spec.Log, h.spec.Settings.Launch.Silence.Duration = zerolog.New(&said), 4*pollInterval
	if err := h.Serve(t.Context()); err != nil {
		t.Error(err)
	}
	if one, two := ends["D-1"], ends["D-2"]; len(one) != 2 || !errors.Is(one[0], errMute) || one[1] != nil || len(two) != 1 || two[0] != nil {
		t.Error(ends)
	}
	if got := said.String(); strings.Count(got, "its watcher has given no sign of life for [launch] silence") != 1 {
		t.Error(got)
	}
	r.over()
}

// TestMain lets the test binary play a launcher's process.
func TestMain(m *testing.M) {
	if bare := os.Getenv("HOST_TEST_LAUNCHER"); bare != "" {
		works(bare)
		return
	}
	os.Exit(m.Run())
}

// works is a launcher whose worker works until it is ended, and says both on stdout.
func works(bare string) {
	settings := config.Default()
	settings.Launch.Lease.Duration = 3 * time.Second
	h := New(Spec{Book: &lease.Book{Repo: git.Open(bare), Settings: settings, Launcher: "alpha"}, Settings: settings, Log: zerolog.Nop(), Name: "alpha",
		Slots: 1, Where: func(string) string { return "test" }})
	h.spec.Run = func(ctx context.Context, j *Job) error {
		j.Up()
		j.Lives()
		io.WriteString(os.Stdout, "works on "+j.Directive+"\n")
		<-ctx.Done()
		io.WriteString(os.Stdout, "ended: "+context.Cause(ctx).Error()+"\n")
		return ctx.Err()
	}
	h.Serve(context.Background())
}

// TestStopped: of a launcher that is stopped for longer than its lease holds another takes the
// directive; going on, the stopped one ends its worker, and leaves the other's lease alone.
func TestStopped(t *testing.T) {
	tier.First(t, "a launcher's process, and a lease that ends")
	r := newRepository(t, "")
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "HOST_TEST_LAUNCHER="+r.repo.Dir)
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	says := func(what string) {
		t.Helper()
		await.True(t, what, func() bool {
			data, err := os.ReadFile(out.Name())
			return err == nil && strings.Contains(string(data), what)
		})
	}
	says("works on D-1")
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// To this one's clock the lease, and what is left for the old holder's last steps, are over.
	later := func() time.Time {
		now := time.Now()
		return now.Add(protocol.Grace + 3*time.Second)
	}
	began := make(chan *Job, 1)
	var h *Host
	over := make(chan struct{})
	h = r.host(1, func(ctx context.Context, j *Job) error {
		j.Up()
		began <- j
		select {
		case <-ctx.Done():
			t.Error("the other's worker is ended:", context.Cause(ctx))
		case <-over:
		}
		r.closes(h, j.Directive)
		return nil
	})
	h.spec.Name, h.spec.Book.Launcher, h.spec.Book.Now = "beta", "beta", later
	served := make(chan error, 1)
	go func() { served <- h.Serve(t.Context()) }()
	j := await.Value(t, "the other's worker", began)
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	says("ended: the lease of D-1 is lost")
	if l, ok := j.Hold.Current(t.Context()); !ok || l.Holder != "beta.1" {
		t.Error(l, ok)
	}
	close(over)
	if err := await.Value(t, "the end", served); err != nil {
		t.Error(err)
	}
	r.over()
}
