package process

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestParse: a command may have any name; fields are counted from behind it.
func TestParse(t *testing.T) {
	fields := " S 7 1 1 0 -1 4194560 1 2 3 4 100 20 3 4 20 0 1 0 99 8192 5 18446744073709551615"
	want := Info{PID: 9, Parent: 7, Session: 1, CPU: 1200 * time.Millisecond, ChildrenCPU: 70 * time.Millisecond, Memory: 5 * int64(os.Getpagesize())}
	for _, name := range []string{"sh", "a b", ") Z 1 (", "x)\n"} {
		if p, ok := parse(9, []byte("9 ("+name+")"+fields)); !ok || p != want {
			t.Errorf("%q: %+v %v", name, p, ok)
		}
	}
	if p, ok := parse(9, []byte("9 (x)"+strings.Replace(fields, "S", "Z", 1))); !ok || !p.Dead {
		t.Errorf("a zombie: %+v %v", p, ok)
	}
	for _, state := range []string{"T", "t"} {
		if p, ok := parse(9, []byte("9 (x)"+strings.Replace(fields, "S", state, 1))); !ok || !p.Stopped {
			t.Errorf("stopped: %+v %v", p, ok)
		}
	}
	for _, bad := range []string{"", "9 sh S 1", "9 (sh) S 1"} {
		if p, ok := parse(9, []byte(bad)); ok {
			t.Errorf("%q: %+v", bad, p)
		}
	}
}

// TestBelow: what comes from this process is found from parent to children, grandchildren
// among them, and nobody else.
func TestBelow(t *testing.T) {
	c := exec.Command("sh", "-c", "sleep 1000 & echo; wait")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
	out.Read(make([]byte, 1)) // the grandchild has been started
	shell := slices.DeleteFunc(Below(), func(p Info) bool { return p.PID != c.Process.Pid })
	child := slices.DeleteFunc(Below(), func(p Info) bool { return p.Parent != c.Process.Pid })
	if len(shell) != 1 || shell[0].Parent != self || len(child) != 1 {
		t.Errorf("%+v, below it %+v", shell, child)
	}
	all := map[int]bool{}
	for _, p := range Descendants() {
		all[p.PID] = true
	}
	for _, p := range Below() {
		if !all[p.PID] {
			t.Errorf("%+v is not below this process", p)
		}
	}
}
