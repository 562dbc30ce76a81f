package stop_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"git-ward/agent/stop"
	"git-ward/internal/diag"
)

// TestAs: a Stop is found by its kind through wrapping and joining, the outermost
// first, and an error without one has none.
func TestAs(t *testing.T) {
	refused := stop.Refuse("a: no\n", diag.Diagnostic{Rule: "r/x"})
	step := &stop.Stop{Kind: stop.StepFailed, Why: "step p#1 failed", Err: fmt.Errorf("push: %w", refused)}
	for name, c := range map[string]struct {
		err  error
		of   *stop.Stop
		kind stop.Kind
	}{
		"nil":     {nil, nil, stop.None},
		"another": {io.EOF, nil, stop.None},
		"itself":  {refused, refused, stop.Refused},
		"wrapped": {fmt.Errorf("D-1: %w", step), step, stop.StepFailed},
		"joined":  {errors.Join(io.EOF, fmt.Errorf("%w", errors.Join(step, refused))), step, stop.StepFailed},
	} {
		if got := stop.Of(c.err); got != c.of || stop.KindOf(c.err) != c.kind {
			t.Errorf("%s: %v, %s", name, got, stop.KindOf(c.err))
		}
	}
	if got := stop.As(errors.Join(io.EOF, step), stop.Blocked, stop.Refused); got != refused || len(got.Findings) != 1 {
		t.Errorf("what a failed step was refused for is not found: %v", got)
	}
	if stop.Is(step, stop.Suspended) || !stop.Is(step, stop.StepFailed) || !errors.Is(&stop.Stop{Err: io.EOF}, io.EOF) {
		t.Error("Is looks at kinds, errors.Is at what led to a Stop")
	}
}

func TestError(t *testing.T) {
	for want, s := range map[string]*stop.Stop{
		"refused:\na: no\nb: no":          stop.Refuse("a: no\nb: no\n"),
		"step p#1 failed: EOF":            {Kind: stop.StepFailed, Why: "step p#1 failed", Err: io.EOF},
		"the model is D-1's no more":      stop.New(stop.Spent, "the model is %s no more", "D-1's"),
		"The command failed: exit 3.":     {Kind: stop.Unfinished, Why: "The command failed: exit 3.", Output: "its last words"},
		"the plan has findings:\np:1: no": {Kind: stop.Findings, Why: "the plan has findings", Output: "p:1: no\n"},
	} {
		if got := s.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestKindsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for k := stop.None; k <= stop.Restart; k++ {
		if name := k.String(); name == "" || seen[name] {
			t.Errorf("kind %d is called %q", int(k), name)
		} else {
			seen[name] = true
		}
	}
}
