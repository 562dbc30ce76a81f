package hooks_test

import (
	"os"
	"testing"
	"time"
)

// fuzzTime says whether a loop of random tries goes on: a fixed number of them, or
// as long as WARD_FUZZ says.
func fuzzTime(t *testing.T, tries int) func(n int) bool {
	t.Helper()
	text := os.Getenv("WARD_FUZZ")
	if text == "" {
		return func(n int) bool { return n < tries }
	}
	long, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(long)
	return func(int) bool { return time.Now().Before(end) }
}
