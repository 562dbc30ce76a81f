package gateway

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestAssisted: whose calls were billed is kept over a restart, bounded, and is no text that a
// worker could make a commit's message of.
func TestAssisted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m")
	m, err := OpenMeter(path)
	if err != nil {
		t.Fatal(err)
	}
	use := func(userAgent, model string, tokens int64) {
		t.Helper()
		r, err := m.Reserve(t.Context(), "D-1", Budget{1 << 40, Unlimited}, Charge{Calls: 1}, Charge{Calls: 1})
		if err != nil {
			t.Fatal(err)
		}
		r.by = assistant(userAgent, model)
		r.Settle(Charge{Calls: 1, Usage: Usage{Output: tokens}}, time.Millisecond, false)
	}
	use("claude-cli/2.1.4 (external, cli)", "claude-x", 3)
	use("claude-cli/2.1.4 (external, cli)", "claude-x", 3)
	use("evil\nSigned-off-by: me", "gpt-5\nx", 3)
	use("free/1", "gpt-5", 0)
	use("\x1b", "gpt-5", 1)
	use("a", "", 1)
	want := []string{"claude-cli/2.1.4:claude-x", "evil:gpt-5", "unknown:gpt-5"}
	if got := m.Assisted("D-1"); !slices.Equal(got, want) || m.Assisted("D-2") != nil {
		t.Errorf("%q", got)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if m, err = OpenMeter(path); err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if got := m.Assisted("D-1"); !slices.Equal(got, want) {
		t.Errorf("after a restart: %q", got)
	}
	for i := range 20 {
		use(fmt.Sprint("p", i), "m", 1)
	}
	if got := m.Assisted("D-1"); len(got) != maxAssisted {
		t.Errorf("%d: %q", len(got), got)
	}
}
