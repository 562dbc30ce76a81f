package tier

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// SeedVar is the environment variable that repeats a test of random moments: with the seed
// that it printed, it chooses the same ones.
const SeedVar = "WARD_SEED"

// Seed is the seed of a test's random choices. The log says how to repeat them.
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
