package receive

import (
	"context"
	"os/exec"
	"testing"
	"time"
)

// TestWithin: a deadline ends who works, in itself or by a child, and waits for who gets no
// turn on the machine.
func TestWithin(t *testing.T) {
	for _, c := range []struct {
		name string
		work func(ctx context.Context)
	}{
		{"a loop", func(ctx context.Context) {
			for ctx.Err() == nil {
			}
		}},
		{"a child", func(ctx context.Context) {
			exec.CommandContext(ctx, "sh", "-c", "while :; do :; done").Run()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := within(t.Context(), time.Now(), 30*time.Millisecond)
			defer cancel()
			c.work(ctx)
			if context.Cause(ctx) != context.DeadlineExceeded {
				t.Error(context.Cause(ctx))
			}
		})
	}
	t.Run("nothing", func(t *testing.T) {
		deadline := worked() // before, which does not count
		began := time.Now()
		ctx, cancel := within(t.Context(), began, deadline)
		defer cancel()
		<-ctx.Done()
		if time.Since(began) < patience*deadline {
			t.Errorf("ended after %s of %s, without work", time.Since(began), deadline)
		}
	})
	ctx, cancel := within(t.Context(), time.Now(), time.Hour)
	cancel()
	if context.Cause(ctx) != context.Canceled {
		t.Error(context.Cause(ctx))
	}
}
