package relay

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/gittest"
	"git-ward/internal/runstate"
	"git-ward/internal/tier"

	"golang.org/x/sys/unix"
)

// TestHostileClient: who has stolen a lease's key has what the lease's holder has, by real
// ssh: no other command, no shell, no terminal, no forwarding, no variable.
func TestHostileClient(t *testing.T) {
	tier.Full(t, "two dozen sessions of sshd")
	t.Parallel()
	h := newGateHost(t)
	for _, command := range []string{"", "id", "sh", "ward", "ward watch; id", "ward  watch", "ward watch --all", "ward gateway /etc/passwd", "ward result", "ward door", "git-ward log",
		"git-receive-pack '/x'; id", "git-receive-pack", "git-upload-archive '/x'", "git-upload-pack --strict '/x'", "scp -t /tmp", "sftp-server", "git-receive-pack $(id)", "ward watch\nid"} {
		out, err := h.ssh(strings.NewReader(""), command)
		if err == nil || strings.Contains(out, "uid=") || !strings.Contains(out, "git-ward: ") {
			t.Errorf("%q: %v\n%s", command, err, out)
		}
	}
	for _, args := range [][]string{{"-tt", "id"}, {"-s", "sftp"}, {"-o", "SendEnv=LD_PRELOAD", "-o", "SetEnv=WARD_NAME=pat", "id"}} {
		if out, err := h.ssh(strings.NewReader(""), args...); err == nil || strings.Contains(out, "uid=") {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
	// A forwarding is refused, which ends a client that insists on it.
	port := gittest.Port(t)
	for _, args := range [][]string{{"-R", fmt.Sprintf("%d:127.0.0.1:1", port)}, {"-o", "ControlPath=none", "-W", h.wire.far}} {
		out, err := h.ssh(strings.NewReader(""), append([]string{"-o", "ExitOnForwardFailure=yes"}, append(args, "ward watch")...)...)
		if err == nil || strings.Contains(out, "refs/") {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
	// Input without an end is cut, in a list of refs and before it.
	for what, input := range map[string]io.Reader{"zeros": zeros{}, "commands": &endless{text: "00a0" + strings.Repeat("1", 40) + " " + strings.Repeat("2", 40) + " refs/heads/agent/D-1" + strings.Repeat("x", 54)}} {
		if out, err := h.ssh(input, "git-receive-pack '/x'"); err == nil {
			t.Errorf("%s: %s", what, out[max(0, len(out)-200):])
		}
	}
	h.Fsck()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

type endless struct{ text, rest string }

func (e *endless) Read(p []byte) (int, error) {
	if e.rest == "" {
		e.rest = e.text
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// TestManySessions: a hundred connections with one key are served in turn or sent away, and
// leave nothing that runs.
func TestManySessions(t *testing.T) {
	tier.Full(t, "a hundred connections at sshd")
	t.Parallel()
	h := newGateHost(t)
	var clients sync.WaitGroup
	for range 100 {
		clients.Go(func() {
			conn, err := net.Dial("tcp", h.wire.near)
			if err == nil {
				defer conn.Close()
				io.CopyN(conn, zeros{}, 1<<10)
				io.Copy(io.Discard, conn)
			}
		})
	}
	clients.Wait()
	h.server()
	if out, err := h.push("HEAD:refs/heads/agent/D-1"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestHostileAgent: an agent at near's sockets opens a thousand connections, says nothing,
// sends noise, reads nothing; near keeps its size, and an honest push comes in after it.
func TestHostileAgent(t *testing.T) {
	tier.Full(t, "3,000 connections at sshd")
	t.Parallel()
	h := newGateHost(t)
	p := h.server()
	var held []net.Conn
	for range 1000 {
		for _, name := range []string{"door", "gateway", "life"} {
			if conn, err := net.DialTimeout("unix", filepath.Join(h.sockets(), name, "sock"), time.Second); err == nil {
				held = append(held, conn)
				go conn.Write([]byte(strings.Repeat("noise", 10_000)))
			}
		}
	}
	time.Sleep(3 * time.Second) // the gate has begun what it will begin for them
	fds, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	var kib int
	for line := range strings.Lines(string(status)) {
		fmt.Sscanf(line, "VmRSS: %d kB", &kib)
	}
	t.Logf("%d connections: near has %d descriptors and %d KiB", len(held), len(fds), kib)
	if len(fds) > 200 || kib > 120<<10 {
		t.Errorf("near has %d descriptors and %d KiB", len(fds), kib)
	}
	for _, conn := range held {
		conn.Close()
	}
	await.True(t, "an honest push comes in", func() bool {
		_, err := h.push("HEAD:refs/heads/agent/D-1")
		return err == nil
	})
	h.Fsck()
}

// TestStaleSockets: what an earlier near left answers nobody and keeps no later one out, and
// a directory that the agent may not change is not changed by it.
func TestStaleSockets(t *testing.T) {
	tier.Full(t, "sshd")
	t.Parallel()
	h := newGateHost(t)
	p := h.server()
	p.kill()
	if _, err := os.Stat(lifeSocket(h.sockets())); err != nil {
		t.Fatal("the killed near has left no socket to try")
	}
	lock := filepath.Join(h.mirror(), "refs/heads/main.lock")
	writeFile(t, lock, "", 0o644)
	writeFile(t, filepath.Join(h.mirror(), "packed-refs.lock"), "", 0o644)
	if IsReady(t.Context(), h.sockets()) == nil {
		t.Error("a dead near is ready")
	}
	h.Commit("a", "1")
	if out, err := h.Push("HEAD:main"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	h.server()
	if mine, gate := h.refs(h.mirror()), h.refs(h.Bare); mine != gate {
		t.Errorf("the mirror has\n%s\nand the gate\n%s", mine, gate)
	}
}

// TestGateway: a connection to near's gateway socket is one to the holder's at the gate, whole
// in both directions; where the launcher is not there, the client is told in HTTP.
func TestGateway(t *testing.T) {
	tier.Full(t, "sshd")
	t.Parallel()
	h := newGateHost(t)
	h.server()
	ask := func() string {
		conn, err := net.Dial("unix", filepath.Join(h.sockets(), "gateway", "sock"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(await.Deadline(t))
		io.WriteString(conn, "question")
		conn.(*net.UnixConn).CloseWrite()
		answer, _ := io.ReadAll(conn)
		return string(answer)
	}
	if answer := ask(); !strings.HasPrefix(answer, "HTTP/1.1 503 ") || !strings.Contains(answer, "no launcher here gives ") {
		t.Errorf("without a launcher: %q", answer)
	}
	socket := h.path("g")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				said, _ := io.ReadAll(conn)
				fmt.Fprintf(conn, "answer to %s%s", said, strings.Repeat(".", 1<<20))
			}()
		}
	}()
	lock, err := os.Create(filepath.Join(h.Bare, runstate.LockPath))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	gate, err := os.Open(runstate.Gate(h.Bare))
	if err == nil {
		err = unix.Flock(int(gate.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	w := runstate.Worker{Holder: h.lease.Holder, Directive: h.lease.Directive, Lease: h.lease.ID, Gateway: socket, Doing: runstate.Works}
	if err := w.Tell(h.Bare); err != nil {
		t.Fatal(err)
	}
	if answer := ask(); !strings.HasPrefix(answer, "answer to question...") || len(answer) != len("answer to question")+1<<20 {
		t.Errorf("%d bytes: %.80q", len(answer), answer)
	}
}

// TestVerdictKey: a verifier's key reads and brings its result; it pushes nothing, and serves
// as long as somebody waits for the result.
func TestVerdictKey(t *testing.T) {
	tier.Full(t, "sshd")
	t.Parallel()
	h := newGateHost(t)
	if err := h.keys.Remove(h.lease.Name()); err != nil {
		t.Fatal(err)
	}
	socket := h.path("r")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	h.allow(t, "--verdict", socket)
	p := h.server("--verdict")
	got := make(chan string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		said, _ := io.ReadAll(conn)
		got <- string(said)
		io.WriteString(conn, "taken")
	}()
	conn, err := net.Dial("unix", filepath.Join(h.sockets(), "result", "sock"))
	if err != nil {
		t.Fatal(err)
	}
	facts, _ := json.Marshal(map[string]string{"fact": strings.Repeat("x", 100_000)})
	conn.Write(facts)
	conn.(*net.UnixConn).CloseWrite()
	if answer, _ := io.ReadAll(conn); string(answer) != "taken" || <-got != string(facts) {
		t.Errorf("the answer is %q", answer)
	}
	if _, err := os.Stat(filepath.Join(h.sockets(), "door")); err == nil {
		t.Error("a verifier has a door")
	}
	// The commands in the same pod are another user, of no group: they read no claim here (PROOF-6).
	seen := 0
	filepath.WalkDir(h.mirror(), func(path string, e os.DirEntry, err error) error {
		if info, statErr := os.Lstat(path); err != nil || statErr != nil || strings.Contains(path, "/objects/") && info.Mode().Perm()&0o007 != 0 || path == filepath.Join(h.mirror(), "objects") && info.Mode().Perm()&0o057 != 0o050 {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
		seen++
		return nil
	})
	if seen < 10 {
		t.Errorf("the mirror has %d files", seen)
	}
	for _, command := range []string{"git-receive-pack '/x'", "ward gateway", "id"} {
		if out, err := h.ssh(strings.NewReader("0000"), command); err == nil || !strings.Contains(out, "may only read the repository and deliver its result") {
			t.Errorf("%s: %v %s", command, err, out)
		}
	}
	l.Close() // which removes the socket
	if code := p.code(t); code != 1 || !strings.Contains(p.log.String(), "the verification is over") {
		t.Errorf("exit %d", code)
	}
}
