package door

import (
	"os"
	"path/filepath"
	"testing"

	"git-ward/internal/config"
)

// TestRoom: what killed receive-packs left is bounded, and no push begins beyond that.
func TestRoom(t *testing.T) {
	bare := t.TempDir()
	s := &service{bare: bare, settings: config.Default(), meter: &meter{}}
	s.settings.Limits.AgentObjects = 1 << 20
	for n, want := range []bool{true, true, false} {
		dir := filepath.Join(bare, "objects", "tmp_objdir-incoming-"+string(rune('a'+n)), "pack")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "tmp_pack_x"), make([]byte, 500_000), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := s.room(); (err == nil) != want {
			t.Errorf("%d quarantines: %v", n+1, err)
		}
	}
}
