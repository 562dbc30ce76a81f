package audit

import (
	"os"
	"os/exec"
	"testing"

	"git-ward/internal/await"
)

// TestAlive: a process that ended is not taken for alive because nobody has waited
// for it yet, as an orphan's new parent may be slow to do.
func TestAlive(t *testing.T) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	p, err := Identify(cmd.Process.Pid)
	if err != nil || !p.Alive() {
		t.Fatalf("%+v, %v", p, err)
	}
	if other := (Process{p.PID, p.Start + 1, p.Boot}); other.Alive() {
		t.Error("another process of the same id is taken for it")
	}
	// The kernel tells nobody that a child has ended before somebody waits for it, which is
	// what this test must not do.
	in.Close()
	await.True(t, "a zombie counts as ended", func() bool { return !p.Alive() })
	if self, err := Identify(os.Getpid()); err != nil || !self.Alive() {
		t.Error(self, err)
	}
}
