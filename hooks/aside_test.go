package hooks_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNowhereToSetAside is a broken pending file that cannot be set aside, because the
// directory for it is no directory: it holds up nobody, and no hook looks for a place for ever.
func TestNowhereToSetAside(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	for name, text := range map[string]string{"aside": "", "pending/20200101T000000Z-0000000000000001.json": "{bad"} {
		if err := os.WriteFile(filepath.Join(p.Bare, "ward", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.Commit("f", "x")
	if out, err := p.Push("main"); err != nil {
		t.Error(err, out)
	}
}
