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
	for _, unfenced := range []bool{true, false} {
		v := &Verifier{Bare: t.TempDir(), Settings: config.Default(), Unfenced: unfenced}
		if err := v.room(); err != nil {
			t.Skipf("SKIPPED: this machine's disk has less than [limits] disk_free: %v", err)
		}
		v.Settings.Limits.DiskFree = 1 << 60
		_, err := v.Verify(t.Context(), verifier.Claim{})
		if err == nil || !strings.Contains(err.Error(), "nothing is judged or built") {
			t.Errorf("unfenced %v: %v", unfenced, err)
		}
	}
}
