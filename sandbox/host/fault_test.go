package host

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"git-ward/internal/await"
	"git-ward/protocols/comms"
)

// turns makes the host look n times more.
func (r *repository) turns(h *Host, n int) {
	r.t.Helper()
	for range n {
		h.nudge()
		await.True(r.t, "the host looks", func() bool { return len(h.moved) == 0 })
	}
}

// TestFault: nothing is assigned from a COMMS.md with errors, which only a push past the hooks can
// leave. The launch says why once, with place and remedy; who works meanwhile works on, and the
// mended text is assigned from at once.
func TestFault(t *testing.T) {
	r := newRepository(t, "")
	var log bytes.Buffer
	second := false
	var h *Host
	h = r.host(2, func(ctx context.Context, j *Job) error {
		j.Up()
		if j.Directive == "D-2" {
			second = true
			r.closes(h, "D-2")
			return nil
		}
		sound := r.doc
		more := strings.Replace(sound, "## Reports", "### D-2: more\n\n- [ ] y (`true`)\n- after: D-1\n\n## Reports", 1)
		r.push(strings.Replace(more, "- after: D-1", "- after: whenever", 1))
		r.turns(h, 3)
		if second || ctx.Err() != nil {
			t.Errorf("a directive of the faulty text was assigned: %v; or this one ended: %v", second, context.Cause(ctx))
		}
		r.push(more)
		r.turns(h, 2)
		r.closes(h, "D-1")
		return nil
	})
	h.spec.Log = zerolog.New(&log)
	if err := h.Serve(t.Context()); err != nil || !second {
		t.Errorf("after the mend: %v, %v", err, second)
	}
	if n := strings.Count(log.String(), "COMMS.md:12:"); n != 1 || !strings.Contains(log.String(), "git ward lint") {
		t.Errorf("said %d times:\n%s", n, log.String())
	}
	r.over()

	r.push(strings.Replace(r.doc, "D-2 DONE", "D-2 GREAT", 1))
	h = r.host(1, func(context.Context, *Job) error {
		t.Error("a faulty text is assigned")
		return nil
	})
	if err := h.Serve(t.Context()); err == nil || !strings.Contains(err.Error(), "COMMS.md:") {
		t.Errorf("a launch that finds it: %v", err)
	}
	r.over()
}

// TestSaidOnce: what each look of a launch meets again is logged once.
func TestSaidOnce(t *testing.T) {
	r := newRepository(t, "")
	sound := r.doc
	r.push(sound + strings.Repeat("x\n", comms.MaxBytes/2))
	var log bytes.Buffer
	h := r.host(1, func(_ context.Context, j *Job) error { return nil })
	h.spec.Log, h.spec.Once = zerolog.New(&log), false
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(ctx) }()
	r.turns(h, 5)
	cancel()
	if err := await.Value(t, "the launch's end", ended); err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), "cannot be read"); n != 1 {
		t.Errorf("said %d times:\n%s", n, log.String())
	}
}
