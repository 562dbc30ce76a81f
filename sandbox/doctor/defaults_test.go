package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/config"
)

// TestOldDefaults: what an earlier version's init wrote is named with what moves it; what
// somebody chose, and what is shipped, is not.
func TestOldDefaults(t *testing.T) {
	bare := t.TempDir()
	if err := os.Mkdir(filepath.Join(bare, "ward"), 0o700); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"[limits]\ndeadline = \"120s\"\n": `warning settings: still at an old default: limits.deadline = "120s", now "9s"`,
		"[limits]\ndeadline = \"20s\"\n":  "fine settings: none is still at an old default",
		config.Shipped:                    "fine settings: none is still at an old default",
	} {
		if err := os.WriteFile(filepath.Join(bare, config.Path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		e := &examiner{ctx: t.Context()}
		e.defaults(bare)
		if len(e.found) != 1 {
			t.Fatal(e.found)
		}
		f := e.found[0]
		if got := string(f.State) + " " + f.Thing + ": " + f.Detail; got != want || f.State == Warning && !strings.HasSuffix(f.Mend, "init --update --bare "+bare) {
			t.Errorf("%s %+v, want %s", got, f, want)
		}
	}
}

// TestMode: a gate that only looks is named.
func TestMode(t *testing.T) {
	settings := config.Default()
	for mode, want := range map[string]State{config.Enforce: Fine, config.Observe: Warning} {
		settings.Hooks.Mode = mode
		e := &examiner{ctx: t.Context()}
		e.mode("r.git", settings)
		if len(e.found) != 1 || e.found[0].State != want || !strings.Contains(e.found[0].Detail, mode) {
			t.Errorf("%s: %+v", mode, e.found)
		}
	}
}
