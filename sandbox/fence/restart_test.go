package fence

import (
	"context"
	"errors"
	"testing"

	"github.com/rs/zerolog"

	"git-ward/internal/cli"
)

// An agent that ends unasked runs again, in a run of its own; an end that was
// asked for, and trouble with the fence, end the launch.
func TestAgain(t *testing.T) {
	trouble := errors.New("no fence")
	for name, c := range map[string]struct {
		spec Spec
		ends []error
		want error
	}{
		"unasked, then done": {Spec{}, []error{cli.ExitCode(1), nil}, nil},
		"trouble":            {Spec{}, []error{trouble}, trouble},
		"once":               {Spec{Once: true}, []error{cli.ExitCode(3)}, cli.ExitCode(3)},
		"a command":          {Spec{Command: []string{"sh"}}, []error{cli.ExitCode(3)}, cli.ExitCode(3)},
	} {
		t.Run(name, func(t *testing.T) {
			runs := 0
			err := c.spec.again(t.Context(), zerolog.Nop(), func(context.Context) error {
				runs++
				return c.ends[runs-1]
			})
			if !errors.Is(err, c.want) || runs != len(c.ends) {
				t.Errorf("%d runs, %v", runs, err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := (&Spec{}).again(ctx, zerolog.Nop(), func(context.Context) error { cancel(); return cli.ExitCode(143) }); err == nil {
		t.Error("a stopped launch ended well")
	}
}
