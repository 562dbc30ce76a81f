package main

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/cli"
)

// TestMain lets the test binary be ward-inside itself, as a process of its own.
func TestMain(m *testing.M) {
	switch os.Getenv("INSIDE_TEST_MAIN") {
	case "":
	case "again": // it starts itself once more
		os.Setenv("INSIDE_TEST_MAIN", "1")
		main()
	default:
		os.Unsetenv("INSIDE_TEST_MAIN")
		main()
	}
	os.Exit(m.Run())
}

func self(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "INSIDE_TEST_MAIN=1")
	return cmd
}

func TestUsage(t *testing.T) {
	for _, words := range []string{"", "--gateway x", "-- true", "--gateway x --listen 0.0.0.0:0 -- true", "--gateway x --listen :0 -- true", "--gateway x --probe {} -- true", "--life x --probe null -- true", "--life x --probe x -- true", "--life x --user -1 -- true", "--life x --user root -- true"} {
		var out bytes.Buffer
		err := run(context.Background(), &cli.Env{Program: "ward-inside", Args: strings.Fields(words), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Dir: "/"})
		if err == nil {
			t.Errorf("%s passes", words)
		}
	}
}

func TestSignalsAreForwarded(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGWINCH} {
		cmd := self("--gateway", "/nowhere", "--", "bash", "-c", `trap 'exit 42' TERM INT HUP USR1 WINCH; echo ready; while :; do sleep 0.05; done`)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		out.Read(make([]byte, 8))
		cmd.Process.Signal(s)
		await.Exit(t, cmd)
		if cmd.ProcessState.ExitCode() != 42 {
			t.Errorf("%v: %v", s, cmd.ProcessState)
		}
	}
}

// As the first process of a PID namespace it buries the orphans of its payload.
func TestFirstProcessReaps(t *testing.T) {
	cmd := exec.Command("unshare", "--pid", "--fork", "--mount-proc", "--", os.Args[0], "--gateway", "/nowhere", "--", "bash", "-c",
		`for i in 1 2 3 4 5; do (sleep 0.05 & sleep 0.01 & true); done; while grep -qs -e '^State:.*Z' -e '^Name:.sleep' /proc/[0-9]*/status; do sleep 0.02; done; cat /proc/1/comm; exit 5`)
	cmd.Env = append(os.Environ(), "INSIDE_TEST_MAIN=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if strings.Contains(stderr.String(), "not permitted") {
		t.Skip("SKIPPED: no PID namespace for this user: ", stderr.String())
	}
	if cmd.ProcessState.ExitCode() != 5 || !strings.HasPrefix(string(out), "ward-inside") {
		t.Errorf("%v: %s %s", err, out, &stderr)
	}
}

// What is broken here, where nothing is fenced, is told to the launcher, and nothing starts.
func TestNothingStartsInABrokenFence(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	said := make(chan string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		conn.Write([]byte{1})
		line, _ := bufio.NewReader(conn).ReadString('\n')
		said <- line
	}()
	// A network of its own, so that what is tried leads nowhere.
	cmd := exec.Command("unshare", "--map-root-user", "--net", "--", os.Args[0], "--life", socket,
		"--probe", `{"bare":"/nowhere","state":"/tmp","egress":"allowlist"}`, "--", "echo", "started")
	cmd.Env = append(os.Environ(), "INSIDE_TEST_MAIN=1")
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "not permitted") {
		t.Skip("SKIPPED: no namespaces for this user: ", string(out))
	}
	if cmd.ProcessState.ExitCode() != 2 || strings.Contains(string(out), "started") {
		t.Fatalf("%v: %s", err, out)
	}
	if line := <-said; !strings.Contains(line, `"broken":{"id":"SBX-3"`) {
		t.Error(line)
	}
}
