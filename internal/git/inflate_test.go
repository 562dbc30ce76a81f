package git

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestInflateAgain: the memory to inflate with is made once, and not for each object, be it packed
// or loose.
func TestInflateAgain(t *testing.T) {
	r, ids := packedRepo(t)
	loose, err := r.CommitTree("a <a@b>", strings.TrimSpace(mustOutput(t, r, "rev-parse", "HEAD^{tree}")), "", time.Unix(1, 0), "loose")
	if err != nil {
		t.Fatal(err)
	}
	var small string // a packed object
	for _, id := range ids {
		b := r.Batch(t.Context())
		if o, err := b.Info(id); err == nil && o.Kind == "commit" {
			small = id
		}
		b.Close()
	}
	for _, id := range []string{loose, small} {
		const reads = 100
		b := r.Batch(t.Context())
		defer b.Close()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range reads {
			if _, _, err := b.Read(id, maxPacked); err != nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		if each := (after.TotalAlloc - before.TotalAlloc) / reads; each > 8<<10 || b.child != nil {
			t.Errorf("loose %v, child %v: %d bytes of memory for each read", id == loose, b.child != nil, each)
		}
	}
}

func mustOutput(t *testing.T, r *Repo, args ...string) string {
	t.Helper()
	out, err := r.Output(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
