package tier

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// SeedVar is the environment variable that has a test of random moments choose again
// what it chose before.
const SeedVar = "WARD_SEED"

// Seed is where a test of random moments begins. The log says how to have it again.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv(SeedVar); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", SeedVar, err)
		}
	}
	t.Logf("%s=%d", SeedVar, seed)
	return seed
}
