package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// TestFailpointsAreInert: a program that people install passes its failpoints, whatever
// its environment says; the one of the tests is held and killed there (TEST-2).
func TestFailpointsAreInert(t *testing.T) {
	tier.Full(t, "it links Ward's programs twice")
	armed, err := gittest.Bin()
	if err != nil {
		t.Fatal(err)
	}
	shipped := filepath.Join(t.TempDir(), "bin")
	if out, err := exec.Command("./build", shipped).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for dir, killed := range map[string]bool{armed: true, shipped: false} {
		bare := filepath.Join(t.TempDir(), "project.git")
		cmd := exec.Command(filepath.Join(dir, "git-ward"), "init", "--bare", bare)
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "WARD_FAILPOINT=git/child=kill")
		out, err := cmd.CombinedOutput()
		if got := err != nil && strings.Contains(err.Error(), "killed"); got != killed {
			t.Errorf("%s: killed %v: %v\n%s", dir, got, err, out)
		}
	}
}
