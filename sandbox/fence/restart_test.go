package fence

import (
	"context"
	"errors"
	"testing"

	"github.com/rs/zerolog"
)

// A watcher that ends unasked runs again, in a run of its own; an end that was
// asked for, and trouble with the fence, end the launch.
func TestRestart(t *testing.T) {
	trouble := errors.New("no fence")
	for name, c := range map[string]struct {
		payload Payload
		ends    []error
		want    error
	}{
		"unasked, then done": {Payload{}, []error{Exit(1), nil}, nil},
		"trouble":            {Payload{}, []error{trouble}, trouble},
		"once":               {Payload{Once: true}, []error{Exit(3)}, Exit(3)},
		"a command":          {Payload{Command: []string{"sh"}}, []error{Exit(3)}, Exit(3)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // one waits for firstPause
			runs := 0
			w := &worker{launch: &launch{log: zerolog.Nop()}, payload: c.payload}
			err := w.restart(t.Context(), func(context.Context) error {
				runs++
				return c.ends[runs-1]
			})
			if !errors.Is(err, c.want) || runs != len(c.ends) {
				t.Errorf("%d runs, %v", runs, err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := &worker{launch: &launch{log: zerolog.Nop()}}
	if err := w.restart(ctx, func(context.Context) error { cancel(); return Exit(143) }); err == nil {
		t.Error("a stopped launch ended well")
	}
}
