package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/await"
)

// launcher listens as one does, in a directory with a short path.
func launcher(t *testing.T) *net.UnixListener {
	t.Helper()
	dir, err := os.MkdirTemp("", "ward-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "sock"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// first is ward-inside as the first process of a PID namespace of its own.
func first(args ...string) *exec.Cmd {
	cmd := exec.Command("unshare", append([]string{"--user", "--map-root-user", "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc", "--", os.Args[0]}, args...)...)
	cmd.Env = append(os.Environ(), "INSIDE_TEST_MAIN=1")
	return cmd
}

// hostile holds on to the first process with all that a payload has, says so, and goes on
// for ever: it stops and kills it, looks for its descriptors, and spins in many processes.
const hostile = `exec 4>&1 >/dev/null
trap '' TERM
kill -STOP 1; kill -KILL 1; kill -TERM 1
:
for i in $(seq 16); do (trap '' TERM; while :; do :; done) & done
for i in $(seq 64); do (exec 3<>/dev/null; cat </proc/1/fd/3) & done
echo up >&4; while :; do sleep 1; done`

// TestLife: what runs in front of a payload ends, and all of the payload with it, when the
// other end of its connection is closed, whatever the payload does about it. Without the
// connection the same payload goes on.
func TestLife(t *testing.T) {
	if out, err := exec.Command("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "true").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no namespaces for this user: %s", out)
	}
	l := launcher(t)
	// Without the connection comes first, and is looked at when the other has ended.
	var without <-chan struct{}
	for _, held := range []bool{false, true} {
		way := []string{"--life", l.Addr().String()}
		if !held {
			way = []string{"--gateway", l.Addr().String()}
		}
		cmd := first(append(way, "--", "bash", "-c", hostile)...)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var conn net.Conn
		if held {
			l.SetDeadline(await.Deadline(t))
			if conn, err = l.Accept(); err != nil {
				t.Fatal(err)
			}
			conn.Write([]byte{1})
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "up\n" {
			t.Fatal(line, err)
		}
		if conn != nil {
			conn.Close()
		}
		gone := make(chan struct{})
		go func() {
			io.Copy(io.Discard, out) // its end is that of all who have it
			close(gone)
		}()
		defer cmd.Wait()
		defer func() { <-gone }()
		defer cmd.Process.Kill()
		if !held {
			without = gone
			continue
		}
		await.Value(t, "the end of a payload whose launcher is gone", gone)
		select {
		case <-without:
			t.Error("without the connection it ends, too: the test shows nothing")
		default:
		}
	}
}

// TestLifeIsRequired: nothing starts without a launcher that takes the connection.
func TestLifeIsRequired(t *testing.T) {
	l := launcher(t)
	go func() {
		if conn, err := l.Accept(); err == nil {
			conn.Close()
		}
	}()
	for _, socket := range []string{"/nowhere", l.Addr().String()} {
		var stderr bytes.Buffer
		cmd := self("--life", socket, "--", "echo", "it started")
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || len(out) > 0 || !strings.Contains(stderr.String(), "nothing starts") {
			t.Errorf("%s: %v: %s%s", socket, err, out, &stderr)
		}
	}
}
