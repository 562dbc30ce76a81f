package hooks_test

import (
	"os/exec"
	"strings"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// TestSlowDisk: where the disk takes longer for a record than the record's work may, a refusal is
// recorded all the same: the deadline counts work, and the hook only waits.
func TestSlowDisk(t *testing.T) {
	tier.Full(t, "each fsync takes seconds")
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("SKIPPED: a slow disk is made by strace: ", err)
	}
	p := newPair(t)
	p.Git("switch", "--quiet", "--create", "other")
	p.Commit("f", "1")
	env, err := gittest.AgentToken(p.Bare)
	if err != nil {
		t.Fatal(err)
	}
	push := p.Command(p.Work, env, "git", "push", "origin", "other")
	slow := exec.Command(strace, append([]string{"-f", "-qq", "-e", "signal=none", "-e", "trace=fsync,fdatasync",
		"-e", "inject=fsync,fdatasync:delay_exit=3500000", push.Path}, push.Args[1:]...)...)
	slow.Dir, slow.Env = push.Dir, push.Env
	out, err := await.Output(t, slow)
	if err == nil || !strings.Contains(out, "rights/ref") || strings.Contains(out, "not recorded") {
		t.Errorf("%v\n%s", err, out)
	}
	if !strings.Contains(out, "DELAYED") {
		t.Errorf("the disk was not slow, the test proves nothing:\n%s", out)
	}
	p.Fsck()
}
