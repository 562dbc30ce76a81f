package host

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"git-ward/internal/config"
	"git-ward/internal/tier"
	"git-ward/protocols/schedule"
	"git-ward/protocols/uow"
	"git-ward/sandbox/lastgood"
)

// TestDeaths: only ends that the work may have caused are counted for the next worker, however
// long each took: not those of a worker that was never made, or that the host ended itself.
func TestDeaths(t *testing.T) {
	tier.First(t, "a repository")
	for what, c := range map[string]struct {
		agent string // the commit that the agent answered with
		err   error
		ends  int
	}{
		"killed":              {"c", errors.New("exit 137"), 2},
		"mute":                {"c", &Ended{errMute}, 2},
		"no container":        {"", errors.New("no room"), 0},
		"mute from the start": {"", &Ended{errMute}, 0},
		"silent":              {"c", &Ended{errSilent}, 0},
		"lost its lease":      {"c", &Ended{errors.New("the lease of D-1 is lost")}, 0},
		"did nothing":         {"c", nil, 0},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRepository(t, "")
			book := lastgood.Book{Bare: r.repo.Dir, Control: config.Default().Control}
			h := r.host(1, nil)
			h.spec.Ends = book
			for range 2 {
				j := &Job{Directive: "D-1", Number: 1, err: c.err, over: make(chan struct{}), began: time.Unix(0, 0), guarded: guarded{runs: program{commit: c.agent}}}
				if _, err := h.look(t.Context()); err != nil {
					t.Fatal(err)
				}
				j.before = h.refs.trace(t.Context(), r.repo, "D-1")
				h.workerEnded(t.Context(), j)
			}
			want := map[string]int{"D-1": c.ends}
			if c.ends == 0 {
				want = nil
			}
			if ends, err := book.BadEnds(t.Context()); err != nil || !maps.Equal(ends, want) {
				t.Errorf("%v %v, want %d", ends, err, c.ends)
			}
			if b := h.backoff("D-1"); b.Failures != 2 || b.pause != firstPause {
				t.Errorf("after a long run: %+v", b)
			}
		})
	}
}

// TestDeathsApart: a bad end after a long run whose unit got on is the first in a row, as where a
// laptop loses its network now and then. A long run that only moves refs, or a short one, is no excuse.
func TestDeathsApart(t *testing.T) {
	tier.First(t, "a repository")
	for what, c := range map[string]struct {
		began time.Time
		does  []uow.Event // what each worker adds to the journal
		ends  int
	}{
		"an iteration":       {time.Unix(0, 0), []uow.Event{uow.Iterate}, 1},
		"a sign only":        {time.Unix(0, 0), []uow.Event{uow.Heartbeat}, 2},
		"nothing":            {time.Unix(0, 0), nil, 2},
		"an iteration, soon": {time.Now(), []uow.Event{uow.Iterate}, 2},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRepository(t, "")
			book := lastgood.Book{Bare: r.repo.Dir, Control: config.Default().Control}
			h := r.host(1, nil)
			h.spec.Ends = book
			look := func() *schedule.Directive {
				if _, err := h.look(t.Context()); err != nil {
					t.Fatal(err)
				}
				return h.refs.known.Directive("D-1")
			}
			journal := []uow.Event{uow.Open, uow.Activate, uow.Iterate}
			hash := look().Hash
			r.unit("D-1", hash, journal...)
			for range 2 {
				if u := look().Unit; u.Last == nil || u.Broken {
					t.Fatal("there is no unit")
				}
				j := &Job{Directive: "D-1", Number: 1, err: errors.New("exit 137"), over: make(chan struct{}), began: c.began, guarded: guarded{runs: program{commit: "c"}}}
				j.before = h.refs.trace(t.Context(), r.repo, "D-1")
				if journal = append(journal, c.does...); c.does != nil {
					r.unit("D-1", hash, journal...)
				}
				h.workerEnded(t.Context(), j)
			}
			if ends, err := book.BadEnds(t.Context()); err != nil || ends["D-1"] != c.ends || h.backoff("D-1").Failures != c.ends {
				t.Errorf("%v %v, %d failures, want %d", ends, err, h.backoff("D-1").Failures, c.ends)
			}
		})
	}
}

// TestDeathsOverLaunches: the bad end before a long run whose unit got on is forgotten, too, where the
// run ends with its launch: the next launch's bad end may be days later.
func TestDeathsOverLaunches(t *testing.T) {
	tier.First(t, "a repository")
	for what, c := range map[string]struct {
		began time.Time
		does  []uow.Event // what the worker adds to the journal
		ends  int
	}{
		"an iteration":       {time.Unix(0, 0), []uow.Event{uow.Iterate}, 0},
		"nothing":            {time.Unix(0, 0), nil, 1},
		"an iteration, soon": {time.Now(), []uow.Event{uow.Iterate}, 1},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRepository(t, "")
			book := lastgood.Book{Bare: r.repo.Dir, Control: config.Default().Control}
			if err := book.Ended(t.Context(), "D-1", false); err != nil {
				t.Fatal(err)
			}
			journal := []uow.Event{uow.Open, uow.Activate, uow.Iterate}
			ctx, stop := context.WithCancel(t.Context())
			var h *Host
			h = r.host(1, func(ctx context.Context, j *Job) error {
				j.began = c.began
				j.Up()
				j.Runs("c")
				if journal = append(journal, c.does...); c.does != nil {
					r.unit("D-1", h.refs.known.Directive("D-1").Hash, journal...)
				}
				stop()
				<-ctx.Done()
				return ctx.Err()
			})
			if _, err := h.look(ctx); err != nil {
				t.Fatal(err)
			}
			r.unit("D-1", h.refs.known.Directive("D-1").Hash, journal...)
			h.spec.Ends = book
			if err := h.Serve(ctx); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if ends, err := book.BadEnds(t.Context()); err != nil || ends["D-1"] != c.ends {
				t.Errorf("%v %v, want %d", ends, err, c.ends)
			}
			r.over()
		})
	}
}
