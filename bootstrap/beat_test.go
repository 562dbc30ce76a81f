package bootstrap_test

import (
	"strings"
	"testing"

	"git-ward/protocols/boot"
)

// TestBeats: a launcher that reads what the watcher prints hears that it lives, before anything of
// the agent's has run and on; nobody else does.
func TestBeats(t *testing.T) {
	s := newSite(t, steadily)
	s.env = []string{boot.LiveVar + "=1"}
	s.start("--once")
	booted := boot.Booted + s.head() + "\n"
	s.until("signs of life", func() bool { return strings.Contains(s.out.String(), booted+boot.Lives) })
	if got := s.out.String(); !strings.HasPrefix(got, boot.Lives) {
		t.Errorf("the agent runs before the first sign: %q", got)
	}
	if got := s.err.String(); strings.Contains(got, boot.Lives) {
		t.Errorf("people read it: %s", got)
	}
}
