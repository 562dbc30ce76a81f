package git

import (
	"runtime"
	"strings"
	"testing"
)

// TestInflateAgain: the memory to inflate with, 46 kB, is made once, and not for each object. The
// race detector's pool loses a quarter of what it is given.
func TestInflateAgain(t *testing.T) {
	r, _ := packedRepo(t)
	b := r.Batch(t.Context())
	defer b.Close()
	commit := strings.TrimSpace(mustOutput(t, r, "rev-parse", "HEAD"))
	const reads = 100
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range reads {
		if _, _, err := b.Read(commit, maxPacked); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / reads; each > 24<<10 || b.child != nil {
		t.Errorf("child %v: %d bytes of memory for each read", b.child != nil, each)
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
