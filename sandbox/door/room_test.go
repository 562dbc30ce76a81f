package door

import (
	"os"
	"path/filepath"
	"strings"
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

// The client is told why its push does not begin, without the host's directories.
func TestRoomIsTold(t *testing.T) {
	f := newFixture(t, func(c *config.Config) { c.Limits.AgentObjects = 1 << 10 })
	dir := filepath.Join(f.bare, "objects", "tmp_objdir-incoming-a", "pack")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "tmp_pack_x"), strings.Repeat("x", 2<<10), 0o644)
	out, err := f.push("HEAD:refs/heads/x")
	if err == nil || !strings.Contains(out, "remote error: pushes that were ended left") || strings.Contains(out, f.bare+"/") {
		t.Errorf("%v\n%s", err, out)
	}
}
