package process

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestAwaitEnd: it returns with the last of the processes, which nobody has reaped yet, and with
// one that is not there at once; of one that goes on it does not wait for ever.
func TestAwaitEnd(t *testing.T) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	const long = time.Hour
	AwaitEnd(time.Millisecond, os.Getpid(), cmd.Process.Pid)
	if p, ok := Read(cmd.Process.Pid); !ok || p.Dead {
		t.Fatalf("%+v, %v", p, ok)
	}
	in.Close()
	AwaitEnd(long, cmd.Process.Pid)
	if p, ok := Read(cmd.Process.Pid); !ok || !p.Dead {
		t.Errorf("it has not ended: %+v, %v", p, ok)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	AwaitEnd(long, cmd.Process.Pid)
}
