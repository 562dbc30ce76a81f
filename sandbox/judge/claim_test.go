package judge

import (
	"testing"

	"git-ward/internal/config"
	"git-ward/protocols/comms"
)

// TestAlone: a directive whose criteria want no company says so, and no other.
func TestAlone(t *testing.T) {
	for body, want := range map[string]bool{"": false, "- alone: yes\n": true} {
		doc, found := comms.Parse([]byte("# COMMS\n\n## Directives\n\n### D-1: t\n\n" + body + "\n- [ ] it is (`true`)\n\n## Reports\n"))
		if len(found) > 0 {
			t.Fatal(found)
		}
		if got := ClaimOf(&doc.Directives[0], config.Default(), "c", "m").Alone; got != want {
			t.Errorf("%q: alone is %v", body, got)
		}
	}
}
