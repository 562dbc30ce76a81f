package host

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestUnfolded: a worker whose messages do not come into COMMS.md ends, and another directive gets
// its slot. The next begins when they are in, or when the PM has changed the directive; a launch
// that ends by itself says why it left the directive.
func TestUnfolded(t *testing.T) {
	full := errors.New("COMMS.md is full")
	var h *Host
	var began []string
	serve := func(r *repository, run func(ctx context.Context, j *Job)) error {
		began = nil
		h = r.host(1, func(ctx context.Context, j *Job) error {
			j.Up()
			began = append(began, j.Directive)
			run(ctx, j)
			return nil
		})
		h.unfolded.patience = time.Millisecond
		return h.Serve(t.Context())
	}
	mute := func(ctx context.Context, j *Job) {
		h.Unfolded(map[string]error{j.Directive: full})
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), errUnfolded) {
			t.Errorf("it was ended otherwise: %v", context.Cause(ctx))
		}
		if Followed(ctx, ctx.Err()) {
			t.Error("its status says that another one follows, where the directive is held")
		}
	}
	for name, want := range map[string]struct {
		then  func(r *repository) // when the second directive is worked on
		began []string
		left  bool
	}{
		"it lasts":               {func(*repository) {}, []string{"D-1", "D-2"}, true},
		"the messages are in":    {func(*repository) { h.Unfolded(nil) }, []string{"D-1", "D-2", "D-1"}, false},
		"the PM changes another": {func(r *repository) { r.push(strings.Replace(r.doc, "D-2: x", "D-2: z", 1)) }, []string{"D-1", "D-2"}, true},
		"the PM changes it": {func(r *repository) {
			r.push(strings.Replace(r.doc, "D-1: x", "D-1: z", 1))
			r.turns(h, 2)
		}, []string{"D-1", "D-2", "D-1"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, "", "")
			err := serve(r, func(ctx context.Context, j *Job) {
				switch {
				case len(began) == 1:
					mute(ctx, j)
				case j.Directive == "D-2":
					want.then(r)
					r.turns(h, 2)
					r.closes(h, "D-2")
				default:
					r.closes(h, "D-1")
				}
			})
			if !slices.Equal(began, want.began) || errors.Is(err, full) != want.left {
				t.Errorf("began %v; %v", began, err)
			}
			r.over()
		})
	}
}
