package local

import (
	"os"
	"path/filepath"
	"testing"

	"git-ward/internal/config"
)

// TestCompany: a second container at a time is there where memory has room for two at their limits,
// and never beyond what the launch may judge at once.
func TestCompany(t *testing.T) {
	v := &Verifier{Settings: config.Default()}
	v.Settings.Sandbox.Memory = 1
	company := func(want bool) func() {
		t.Helper()
		leave, ok := v.company()
		if ok != want {
			t.Errorf("room for a second: %v", ok)
		}
		return leave
	}
	first := v.places.take()
	leave := company(true)
	company(false)
	leave()
	company(true)()
	second := v.places.take() // another verdict's
	company(false)
	v.AtOnce = 3
	company(true)()
	v.Settings.Sandbox.Memory = 1 << 60
	company(false)
	first()
	second()
	if v.places.taken != 0 {
		t.Errorf("%d places are left", v.places.taken)
	}
	file := filepath.Join(t.TempDir(), "meminfo")
	for text, want := range map[string]int64{"MemTotal:  9 kB\nMemAvailable:    2 kB\nSwap: 1 kB\n": 2048, "MemTotal: 9 kB\n": 0, "MemAvailable: many\n": 0} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := memAvailable(file); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d %v", text, got, err)
		}
	}
}
