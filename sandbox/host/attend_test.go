package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"git-ward/internal/await"
)

// TestAttends: each program that a worker's agent runs is judged by what comes of it. One that the
// directive moves by holds, also where another follows it in the same worker; that one is ended
// where it answers and does nothing, whatever the one before it did.
func TestAttends(t *testing.T) {
	r := newRepository(t, "D-1")
	var told []string
	var runs atomic.Int32
	var h *Host
	h = r.host(1, func(ctx context.Context, j *Job) error {
		if runs.Add(1) > 1 {
			r.closes(h, "D-1")
			return nil
		}
		j.Up()
		j.Runs("first")
		j.Sign()
		r.commit("refs/heads/agent/D-1", "work", "done")
		await.True(t, "the first program holds", func() bool {
			r.push(r.doc) // the host looks where a ref moves
			h.mu.Lock()
			defer h.mu.Unlock()
			return j.runs.held || ctx.Err() != nil
		})
		j.Runs("second")
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), errSilent) {
			t.Errorf("it is ended, because %v", context.Cause(ctx))
		}
		return context.Cause(ctx)
	})
	settings := *h.spec.Settings
	settings.Bootstrap.Check.Duration = 100 * time.Millisecond
	h.spec.Settings = &settings
	h.spec.Worked = func(_ context.Context, commit string, moved bool) {
		told = append(told, fmt.Sprint(commit, " ", moved))
	}
	if err := h.Serve(t.Context()); err != nil {
		t.Error(err)
	}
	if got := strings.Join(told, ", "); got != "first true, second false" {
		t.Error(got)
	}
	r.over()
}
