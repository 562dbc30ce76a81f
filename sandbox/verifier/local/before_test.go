package local

import (
	"path/filepath"
	"testing"

	"git-ward/internal/config"
	"git-ward/sandbox/verifier"
)

// TestEnds: nothing is kept of commands that reach a network, or programs of the host's, which
// change and nobody here sees it; and a build of Ward has a name.
func TestEnds(t *testing.T) {
	v := &Verifier{Bare: "bare", Settings: config.Default()}
	if e := v.ends(nil, nil, &verifier.Containers{}); e == nil || e.File != filepath.Join("bare", "ward", "before") {
		t.Errorf("%+v", e)
	}
	v.Settings.Verify.Network = "public"
	if v.ends(nil, nil, &verifier.Containers{}) != nil {
		t.Error("ends are kept of commands with a network")
	}
	v.Settings.Verify.Network, v.Settings.Sandbox.Programs = "none", "/srv/programs"
	if v.ends(nil, nil, &verifier.Containers{}) != nil {
		t.Error("ends are kept of commands with programs of the host's")
	}
	if id, err := build("/proc/self/exe"); err != nil || len(id) < 20 {
		t.Errorf("%q %v", id, err)
	}
	if _, err := build("/dev/null"); err == nil {
		t.Error("what is no program has a build")
	}
}
