package doctor

import (
	"testing"

	"git-ward/internal/tier"
	"git-ward/sandbox/doctor/finding"
)

// A machine without anything on PATH misses what a fence needs, and every such
// line says what to do.
func TestEmptyMachine(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	found := Examine(t.Context())
	missing := map[string]bool{}
	for _, f := range found {
		if f.State != Fine && f.Mend == "" {
			t.Errorf("%s: nothing mends it", f.Thing)
		}
		if f.State == Missing {
			missing[f.Thing] = true
		}
	}
	for _, thing := range []string{"git", "podman"} {
		if !missing[thing] {
			t.Errorf("%s is not reported", thing)
		}
	}
	if !finding.Lacking(found) {
		t.Error("nothing is lacking")
	}
}

// On this machine git is there, since the tests need it.
func TestThisMachine(t *testing.T) {
	tier.First(t, "it asks podman, which takes its time")
	for _, f := range Examine(t.Context()) {
		t.Logf("%s %s: %s", f.State, f.Thing, f.Detail)
		if f.Thing == "git" && f.State != Fine {
			t.Error(f)
		}
	}
}

// A new user's ids are nobody else's.
func TestFreeIDs(t *testing.T) {
	for table, want := range map[string]int{"": 100_000, "ada:100000:65536\n": 165_536, "ada:2000000:65536\nbob:100000:65536": 2_065_536, "#\nx:y:z\n": 100_000} {
		if got := freeIDs(table); got != want {
			t.Errorf("%q: %d, want %d", table, got, want)
		}
	}
}
