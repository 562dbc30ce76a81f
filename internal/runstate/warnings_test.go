package runstate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/config"
	"git-ward/internal/growth"
)

// TestWarnings: a full share and a full disk are told with what can be done; nothing else
// is.
func TestWarnings(t *testing.T) {
	bare := t.TempDir()
	if err := os.Mkdir(filepath.Join(bare, "ward"), 0o755); err != nil {
		t.Fatal(err)
	}
	settings := config.Default()
	settings.Limits.DiskFree = 1
	settings.Limits.AgentObjects = 10 << 20
	want := func(what string, words ...string) {
		t.Helper()
		got := Warnings(bare, settings)
		if len(words) == 0 != (len(got) == 0) || len(got) > 1 {
			t.Errorf("%s: %q", what, got)
			return
		}
		for _, w := range words {
			if !strings.Contains(got[0], w) {
				t.Errorf("%s: %q lacks %q", what, got[0], w)
			}
		}
	}
	want("nothing")
	if err := growth.Add(t.Context(), bare, "", 8<<20, 10<<20); err != nil {
		t.Fatal(err)
	}
	want("room for more")
	settings.Limits.AgentObjects = 9 << 20
	want("full", "takes 8192 KiB of the 9216 of [limits] agent_objects", "git ward maintain --reclaim "+bare)
	settings.Limits.AgentObjects = 100 << 20
	settings.Limits.DiskFree = 1 << 60
	want("no disk", "less than [limits] disk_free", "verdicts wait")
	settings.Limits.DiskFree = 1
}
