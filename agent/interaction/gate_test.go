package interaction

import (
	"context"
	"errors"
	"testing"

	"git-ward/agent/stop"
	"git-ward/protocols/uow"
)

func TestGate(t *testing.T) {
	ctx := context.Background()
	var none *Gate
	none.Note(1)
	if err := errors.Join(none.Turn(ctx), none.Next(ctx, "bash")); err != nil || none.Calls() != 0 {
		t.Errorf("no gate: %v, %d calls", err, none.Calls())
	}
	g := &Gate{MaxCalls: 3, Guard: uow.NewGuard(uow.Policy{Sequence: []string{"read_file", "bash"}})}
	var blocked *uow.Blocked
	if err := g.Next(ctx, "bash"); !errors.As(err, &blocked) || g.Calls() != 0 {
		t.Errorf("bash before read_file: %v, %d calls", err, g.Calls())
	}
	if err := errors.Join(g.Next(ctx, "read_file"), g.Next(ctx, "bash")); err != nil || g.Calls() != 2 {
		t.Errorf("%v, %d calls", err, g.Calls())
	}
	g.Note(1)
	if err := g.Next(ctx, "bash"); !stop.Is(err, stop.Unfinished) || g.Calls() != 3 {
		t.Errorf("beyond the bound: %v, %d calls", err, g.Calls())
	}
	held := stop.New(stop.Suspended, "paused")
	g = &Gate{Hold: func(context.Context) error { return held }}
	if err := g.Turn(ctx); !errors.Is(err, held) {
		t.Errorf("held: %v", err)
	}
	if err := g.Next(ctx, "bash"); !errors.Is(err, held) || g.Calls() != 0 {
		t.Errorf("held: %v, %d calls", err, g.Calls())
	}
}

// What a program has called already counts, and ends the work where it was out of order:
// nobody can take it back.
func TestSeen(t *testing.T) {
	ctx := context.Background()
	var none *Gate
	if err := none.Seen(ctx, "Bash"); err != nil {
		t.Error(err)
	}
	g := &Gate{MaxCalls: 2, Guard: uow.NewGuard(uow.Policy{Sequence: []string{"read_file", "bash"}})}
	if err := g.Seen(ctx, "Bash"); !stop.Is(err, stop.Unfinished) || g.Calls() != 1 {
		t.Errorf("out of order: %v, %d calls", err, g.Calls())
	}
	if err := g.Seen(ctx, "Read"); err != nil || g.Calls() != 2 {
		t.Errorf("in order: %v, %d calls", err, g.Calls())
	}
	if err := g.Seen(ctx, "Bash"); !stop.Is(err, stop.Unfinished) || g.Calls() != 3 {
		t.Errorf("beyond the bound: %v, %d calls", err, g.Calls())
	}
}
