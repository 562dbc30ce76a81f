package sandbox

import (
	"slices"
	"syscall"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/failpoint"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// TestAssignmentKilled: a launcher that is killed at each step of an assignment, and one that
// gives a lease back, leaves nothing that keeps the next one from any directive, and none is
// done twice.
func TestAssignmentKilled(t *testing.T) {
	tier.Full(t, "five launches, with directives")
	const n = 3
	p := gittest.New(t)
	toWorkOn(t, p, n)
	for _, point := range []string{"lease/free", "lease/taken", "host/assigned", "host/ended"} {
		cmd := launchMany(p, 2, "--unfenced")
		cmd.Env = append(slices.Clone(cmd.Env), failpoint.Var+"="+point+"=kill")
		out, _ := await.Output(t, cmd)
		if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
			t.Errorf("it is not killed at %s: %v\n%s", point, cmd.ProcessState, out)
		}
	}
	if out, err := await.Output(t, launchMany(p, 2, "--unfenced")); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	eachOnce(t, p, n)
	p.Fsck()
}
