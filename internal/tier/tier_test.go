package tier

import (
	"testing"
)

// skips reports whether a call skips its test.
func skips(t *testing.T, call func(testing.TB)) bool {
	skipped := true
	t.Run("inner", func(t *testing.T) {
		t.Cleanup(func() { skipped = t.Skipped() })
		call(t)
	})
	return skipped
}

func TestFull(t *testing.T) {
	for _, value := range []string{"", "first", "full"} { // in this order: subtests are numbered
		t.Setenv(Var, value)
		if got, want := skips(t, func(t testing.TB) { Full(t, "an example") }), value != "full"; got != want {
			t.Errorf("%s=%q: skipped %v, want %v", Var, value, got, want)
		}
	}
}

func TestFirst(t *testing.T) {
	for _, call := range []func(testing.TB, string){First, Long} {
		if got := skips(t, func(t testing.TB) { call(t, "an example") }); got != testing.Short() {
			t.Errorf("skipped %v, and -short is %v", got, testing.Short())
		}
	}
}

func TestSeed(t *testing.T) {
	t.Setenv(SeedVar, "7")
	if got := Seed(t); got != 7 {
		t.Error(got)
	}
}
