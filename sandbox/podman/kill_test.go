package podman_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ward/sandbox/podman"
)

// launcher is this test binary as a program that makes containers until it is
// killed.
func launcher() {
	ctx := context.Background()
	e, err := podman.Connect(ctx, podman.Options{Owner: "killed", Storage: os.Getenv("WARD_TEST_LAUNCHER")})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	s := &podman.Spec{Image: os.Getenv("WARD_TEST_IMAGE"), Command: []string{"sleep", "60"},
		NoNewPrivileges: true, ReadOnlyRoot: true, Network: podman.NetworkNone}
	fmt.Println("ready")
	for {
		c, err := e.Create(ctx, s)
		if err == nil {
			_, err = c.Init(ctx)
		}
		if err == nil {
			err = c.Start(ctx)
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		c.Remove(ctx)
	}
}

// Kill the launcher, with SIGKILL, at any moment: no container stays.
func TestKill(t *testing.T) {
	e := connect(t, "killed")
	name := spec(t, "true").Image
	for i := range 5 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "WARD_TEST_LAUNCHER="+storage, "WARD_TEST_IMAGE="+name)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if line != "ready\n" {
			t.Fatal(line, err)
		}
		time.Sleep(time.Duration(rand.IntN(400)) * time.Millisecond) // any moment: that is the test
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
		if !gone(t, 10*time.Second) {
			t.Errorf("kill %d: a container is left", i)
		}
	}
	if n, err := e.Sweep(t.Context()); n != 0 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
}

// gone waits until no payload of the launcher and no reaper is left.
func gone(t *testing.T, patience time.Duration) bool {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) { // what is looked for is nobody's child here
		all, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil || len(all) == 0 {
			t.Fatal(all, err)
		}
		mine := 0
		for _, path := range all {
			data, _ := os.ReadFile(path) // it may have ended
			if line := string(data); strings.Contains(line, storage) && (strings.Contains(line, "ward-reaper") || strings.Contains(line, "conmon")) {
				mine++
			}
		}
		if mine <= 1 { // the reaper of the test's own engine
			return true
		}
	}
	return false
}
