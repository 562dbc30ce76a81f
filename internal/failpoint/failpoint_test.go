package failpoint

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"git-ward/internal/await"
)

// TestMain lets the test binary play the program: armed by an argument, as the linker
// would, it passes two points three times each.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && strings.HasPrefix(os.Args[1], "play") {
		armed = strings.TrimPrefix(os.Args[1], "play")
		for i := range 3 {
			Reach("one")
			fmt.Println("one", i)
			Reach("two")
			fmt.Println("two", i)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func play(t *testing.T, armed, rules string) (*exec.Cmd, *strings.Builder) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "play"+armed)
	cmd.Env = append(os.Environ(), Var+"="+rules)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, &out
}

func TestKill(t *testing.T) {
	cmd, out := play(t, "yes", "two#2=kill,none=kill")
	err := cmd.Run()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL || out.String() != "one 0\ntwo 0\none 1\n" {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestHold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "held")
	cmd, out := play(t, "yes", "two=hold:"+file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await.True(t, "the program is held", func() bool { _, err := os.Stat(file); return err == nil })
	if pid, err := os.ReadFile(file); err != nil || string(pid) != strconv.Itoa(cmd.Process.Pid) {
		t.Errorf("the file says %s, %v", pid, err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || !strings.HasSuffix(out.String(), "two 2\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestUnarmed: the environment alone does nothing.
func TestUnarmed(t *testing.T) {
	cmd, out := play(t, "", "one=kill,two=hold:/nowhere/at/all,one#2=nonsense")
	if err := cmd.Run(); err != nil || !strings.HasSuffix(out.String(), "two 2\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestNonsense: an unknown action panics.
func TestNonsense(t *testing.T) {
	cmd, out := play(t, "yes", "one=nonsense")
	if err := cmd.Run(); err == nil || !strings.Contains(out.String(), `no action "nonsense"`) {
		t.Errorf("%v\n%s", err, out)
	}
}
