package local

import (
	"strings"
	"testing"

	"git-ward/internal/config"
	"git-ward/sandbox/verifier"
)

// TestNoRoom: on a nearly full disk a claim waits, whoever runs its commands; it is no
// verdict on the claim.
func TestNoRoom(t *testing.T) {
	bare, settings := t.TempDir(), config.Default()
	if err := Room(settings, bare); err != nil {
		t.Skipf("SKIPPED: this machine's disk has less than [limits] disk_free: %v", err)
	}
	settings.Limits.DiskFree = 1 << 60
	for _, r := range []Runner{&Verifier{Bare: bare, Settings: settings}, &Processes{Bare: bare, Settings: settings}} {
		_, err := r.Verify(t.Context(), verifier.Claim{})
		if err == nil || !strings.Contains(err.Error(), "nothing is judged or built") {
			t.Errorf("%T: %v", r, err)
		}
	}
}
