package host

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/await"
	"git-ward/protocols/schedule"
	"git-ward/protocols/uow"
)

// TestClockJumps: where the wall clock is put back, a launcher that waits for a time makes its plan
// anew, and says so once; it does not wait for the whole jump.
func TestClockJumps(t *testing.T) {
	r := newRepository(t, "")
	began, idle := make(chan string, 1), make(chan bool, 1)
	h := r.host(1, func(ctx context.Context, j *Job) error {
		j.Up()
		began <- j.Directive
		<-ctx.Done()
		return nil
	})
	if _, err := h.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.fail = uow.TransientFailure
	r.unit("D-1", h.refs.known.Directive("D-1").Hash, uow.Open, uow.Activate, uow.Block) // at noon
	var said bytes.Buffer
	var by atomic.Int64
	start := time.Now()
	h.spec.Once, h.spec.Log = false, zerolog.New(&said)
	h.spec.Now = func() time.Time { return noon.Add(time.Since(start) + time.Duration(by.Load())) }
	settings := *h.spec.Settings
	settings.Agent.RetryPause.Duration = 24 * time.Hour
	h.spec.Settings = &settings
	h.spec.Idle = func() {
		select {
		case idle <- true:
		default:
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- h.Serve(ctx) }()
	await.Value(t, "the first plan", idle)
	select {
	case <-began:
		t.Error("the pause of what failed just now is over")
	default:
	}
	by.Store(int64(-30 * 24 * time.Hour))
	if got := await.Value(t, "a worker", began); got != "D-1" {
		t.Error(got)
	}
	cancel()
	if err := await.Value(t, "the end", served); err != nil {
		t.Error(err)
	}
	if n := strings.Count(said.String(), "the clock was put back"); n != 1 {
		t.Errorf("said %d times: %s", n, said.String())
	}
	r.over()
}

// TestDatedAhead: a unit whose worker's clock is ahead of the launcher's has its pause all the same, by
// the launcher's clock.
func TestDatedAhead(t *testing.T) {
	r := newRepository(t, "")
	h := r.host(1, func(context.Context, *Job) error { return nil })
	read := noon.Add(-time.Hour)
	h.spec.Now = func() time.Time { return read }
	if _, err := h.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.fail = uow.TransientFailure
	r.unit("D-1", h.refs.known.Directive("D-1").Hash, uow.Open, uow.Activate, uow.Block) // at noon
	if _, err := h.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	rules, pause := h.rules(read.Add(time.Second)), h.spec.Settings.Agent.RetryPause.Duration
	if due, at := rules.Due(h.refs.known.Directive("D-1")); due != schedule.Later || !at.Equal(read.Add(pause)) {
		t.Errorf("%d at %s, want a pause of %s from %s", due, at, pause, read)
	}
}
