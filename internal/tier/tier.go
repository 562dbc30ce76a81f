// Package tier says in which of scripts/test's tiers a test runs, so that the
// choice is made in one place and a script can list what each tier holds.
package tier

import (
	"os"
	"testing"
)

// Var is the environment variable by which scripts/test full asks for every test.
const Var = "WARD_TIER"

// First keeps a test out of `scripts/test quick`, which is go test -short. why says
// what makes it slow.
func First(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED in the quick tier: " + why)
	}
}

// Long is First for a test that takes minutes by itself: scripts/test begins with its package,
// so that it does not run alone at the end. Call it in the test function itself, as Full.
func Long(t testing.TB, why string) {
	t.Helper()
	First(t, why)
}

// Full leaves a test to `scripts/test full`. why says what makes it slow, or which
// server or hardware it needs. Call it in the test function itself, not in a helper:
// the tier finds its tests by the text of their functions (internal/house TestTiers).
func Full(t testing.TB, why string) {
	t.Helper()
	if os.Getenv(Var) != "full" {
		t.Skip("SKIPPED in the first tier: " + why)
	}
}
