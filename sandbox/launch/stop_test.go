package launch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"git-ward/internal/runstate"

	"golang.org/x/sys/unix"
)

// TestForeignLock: somebody else's lock on the launchers' directory is no free one, and the
// process whose number stands there, a stranger's by now, neither passes for the launcher
// nor is ended in its place.
func TestForeignLock(t *testing.T) {
	bare := t.TempDir()
	if err := os.Mkdir(filepath.Join(bare, "ward"), 0o700); err != nil {
		t.Fatal(err)
	}
	stranger := exec.Command("sleep", "1000")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer stranger.Wait()
	defer stranger.Process.Kill()
	for what, content := range map[string]string{
		"a killed launcher's number, which a stranger has now": fmt.Sprintf("%d\n", stranger.Process.Pid),
		"this process's own, which only asks":                  fmt.Sprintf("%d\n", os.Getpid()),
		"no number yet":                                        "",
		"the first process":                                    "1\n",
		"a group's number":                                     fmt.Sprintf("-%d\n", stranger.Process.Pid),
	} {
		path := filepath.Join(bare, runstate.LockPath)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		other := exec.Command("flock", "--nonblock", runstate.Gate(bare), "sh", "-c", "echo; exec cat")
		in, err := other.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := other.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Start(); err != nil {
			t.Fatal(err)
		}
		out.Read(make([]byte, 1)) // it has the lock
		if pid, running := runstate.Running(bare); !running || pid != 0 {
			t.Errorf("%s: process %d, %v", what, pid, running)
		}
		if err := End(bare, 0); err == nil || !strings.Contains(err.Error(), "cannot be seen") {
			t.Errorf("%s: %v", what, err)
		}
		if err := End(bare, stranger.Process.Pid); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := lockGate(t.Context(), bare); err == nil || strings.Contains(err.Error(), "process 0") {
			t.Errorf("%s: a second launcher: %v", what, err)
		}
		if _, err := AskWork(t.Context(), bare, "x.1", true); err == nil || strings.Contains(err.Error(), "no launcher runs") {
			t.Errorf("%s: a machine that asks for work: %v", what, err)
		}
		in.Close()
		if err := other.Wait(); err != nil {
			t.Error(err)
		}
		var status syscall.WaitStatus
		if pid, _ := syscall.Wait4(stranger.Process.Pid, &status, unix.WNOHANG, nil); pid != 0 {
			t.Fatalf("%s: the stranger was ended: %v", what, status)
		}
	}
}
