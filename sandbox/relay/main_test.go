package relay

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/lease"
	"git-ward/sandbox/door/keys"
	"git-ward/sandbox/lab"
)

func TestMain(m *testing.M) {
	if socket := os.Getenv("NEAR_TEST_CONNECT"); socket != "" {
		lab.Connect(socket)
		return
	}
	code := m.Run()
	gittest.Clean()
	os.Exit(code)
}

// gateHost is a repository with an sshd in front of it, reached over a wire that a test can
// cut, and a key for one lease.
type gateHost struct {
	*gittest.Pair
	dir    string // of all files; short, for sockets
	client string // ssh
	bin    string
	wire   *wire
	sshd   int // its process
	lease  lease.Lease
	keys   keys.File
}

// newGateHost starts them; it needs sshd, and is slow.
func newGateHost(t *testing.T) *gateHost {
	t.Helper()
	tier.First(t, "it starts sshd and Ward's binaries")
	sshd, client := needed(t, "sshd"), needed(t, "ssh")
	bin, err := gittest.Bin()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "near")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	h := &gateHost{Pair: gittest.New(t), dir: dir, bin: bin, client: client}
	h.keys = keys.File{Bare: h.Bare, Program: filepath.Join(bin, "git-ward-launch")}
	h.direct("D-1")
	h.startSSHD(sshd)
	h.grant("D-1")
	return h
}

// direct gives the gate a directive: fsck finds fault with a lease of what nobody has asked for.
func (h *gateHost) direct(directive string) {
	h.T.Helper()
	h.Commit("COMMS.md", "# COMMS\n\n## Directives\n\n### "+directive+": do it\n- [ ] it is (`true`)\n\n## Reports\n")
	if out, err := h.Push("HEAD:main"); err != nil {
		h.T.Fatal(out)
	}
}

// needed finds a program, in the administrators' directories, too, or skips the test.
func needed(t *testing.T, program string) string {
	t.Helper()
	if path := filepath.Join("/usr/sbin", program); syscall.Access(path, 1) == nil {
		return path
	}
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("SKIPPED: %s is not installed (scripts/setup --hosting)", program)
	}
	return path
}

func (h *gateHost) path(name string) string { return filepath.Join(h.dir, name) }

func (h *gateHost) startSSHD(sshd string) {
	h.T.Helper()
	h.Run(h.dir, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", h.path("host"))
	port := gittest.Port(h.T)
	if os.Geteuid() == 0 {
		os.MkdirAll("/run/sshd", 0o755)
	}
	// The HOME is the test's: the shell of a session reads .bashrc there.
	writeFile(h.T, h.path("config"), fmt.Sprintf(`Port %d
ListenAddress 127.0.0.1
HostKey %s
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
AuthorizedKeysFile %s
AcceptEnv GIT_PROTOCOL
SetEnv HOME=%s
PermitUserRC no
MaxStartups 200:30:400
`, port, h.path("host"), filepath.Join(h.Bare, keys.Path), h.dir), 0o600)
	cmd := exec.Command(sshd, "-D", "-e", "-f", h.path("config"))
	var log lab.Log
	cmd.Stderr = &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		h.T.Fatal(err)
	}
	h.sshd = cmd.Process.Pid
	h.T.Cleanup(func() {
		h.killSessions()
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
		if h.T.Failed() {
			h.T.Logf("the server said:\n%s", &log)
		}
	})
	h.wire = newWire(h.T, fmt.Sprintf("127.0.0.1:%d", port))
	await.True(h.T, "the server answers", func() bool {
		conn, err := net.Dial("tcp", h.wire.far)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	public, err := os.ReadFile(h.path("host.pub"))
	if err != nil {
		h.T.Fatal(err)
	}
	_, port2, _ := net.SplitHostPort(h.wire.near)
	writeFile(h.T, h.path("known_hosts"), fmt.Sprintf("[127.0.0.1]:%s %s", port2, public), 0o644)
}

// killSessions ends what sshd runs for its clients, and all that this runs, at once.
func (h *gateHost) killSessions() {
	parents := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		data, _ := os.ReadFile(path)
		fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && len(fields) > 1 {
			parent, _ := strconv.Atoi(fields[1])
			parents[parent] = append(parents[parent], pid)
		}
	}
	var end func(int)
	end = func(pid int) {
		for _, child := range parents[pid] {
			end(child)
			syscall.Kill(child, syscall.SIGKILL)
		}
	}
	end(h.sshd)
}

// grant gives a directive's lease away and makes the key for it.
func (h *gateHost) grant(directive string) {
	h.T.Helper()
	var id [lease.IDBytes]byte
	rand.Read(id[:])
	h.lease = lease.New(directive, id, "test.1", "process", time.Now(), lease.DefaultTerm)
	h.writeLease(h.lease)
	h.allow(h.T, "--lease", h.lease.Name())
}

// allow makes the key anew, for what follows its forced command.
func (h *gateHost) allow(t testing.TB, door ...string) {
	t.Helper()
	private, public, err := keys.New(h.lease.Name())
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, h.path("key"), string(private), 0o600)
	if err := h.keys.Add(keys.Key{Name: h.lease.Name(), Public: public, Door: door, Until: time.Now().Add(time.Hour)}, time.Now()); err != nil {
		t.Fatal(err)
	}
}

func (h *gateHost) writeLease(l lease.Lease) {
	h.T.Helper()
	data, err := l.Format()
	if err != nil {
		h.T.Fatal(err)
	}
	writeFile(h.T, h.path("lease"), string(data), 0o644)
	id := strings.TrimSpace(h.Run(h.Bare, "git", "hash-object", "-w", h.path("lease")))
	h.Run(h.Bare, "git", "update-ref", lease.Ref(l.Directive), id)
}

// revoke takes the lease away.
func (h *gateHost) revoke() { h.Run(h.Bare, "git", "update-ref", "-d", lease.Ref(h.lease.Directive)) }

func (h *gateHost) url() string {
	me, err := user.Current()
	if err != nil {
		h.T.Fatal(err)
	}
	return "ssh://" + me.Username + "@" + h.wire.near + "/x"
}

func (h *gateHost) sockets() string { return h.path("n") }
func (h *gateHost) mirror() string  { return filepath.Join(h.sockets(), "mirror") }

// nearProcess is `git ward near` as it runs.
type nearProcess struct {
	cmd   *exec.Cmd
	log   lab.Log
	ended chan struct{}
}

// server starts `git ward near` and waits until it is ready.
func (h *gateHost) server(args ...string) *nearProcess {
	h.T.Helper()
	p := h.launch(args...)
	await.True(h.T, "near is ready", func() bool { return IsReady(context.Background(), h.sockets()) == nil })
	return p
}

func (h *gateHost) launch(args ...string) *nearProcess {
	h.T.Helper()
	p := &nearProcess{ended: make(chan struct{})}
	p.cmd = exec.Command(filepath.Join(h.bin, "git-ward-launch"), append([]string{"near", "--gate", h.url(), "--key", h.path("key"),
		"--known-hosts", h.path("known_hosts"), "--dir", h.sockets()}, args...)...)
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		h.T.Fatal(err)
	}
	go func() {
		p.cmd.Wait()
		close(p.ended)
	}()
	h.T.Cleanup(func() {
		p.kill()
		if h.T.Failed() {
			h.T.Logf("near said:\n%s", &p.log)
		}
	})
	return p
}

// kill ends near and what it runs as a machine that loses power would.
func (p *nearProcess) kill() {
	syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.ended
}

// code waits for near's own end.
func (p *nearProcess) code(t testing.TB) int {
	t.Helper()
	await.Value(t, "near's own end", p.ended)
	return p.cmd.ProcessState.ExitCode()
}

// push pushes a commit of the clone through near's door, as the agent does.
func (h *gateHost) push(refspec string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		h.T.Fatal(err)
	}
	connector := fmt.Sprintf("env NEAR_TEST_CONNECT=%s %s", filepath.Join(h.sockets(), "door", "sock"), self)
	return h.Try(h.Work, nil, "", "git", "push", "--receive-pack="+connector, h.mirror(), refspec)
}

// refs are a repository's.
func (h *gateHost) refs(dir string) string { return h.Run(dir, "git", "for-each-ref") }

// ssh runs the real client with the key and what else is asked of it.
func (h *gateHost) ssh(stdin io.Reader, args ...string) (string, error) {
	host, port, _ := net.SplitHostPort(h.wire.near)
	me, err := user.Current()
	if err != nil {
		h.T.Fatal(err)
	}
	cmd := exec.CommandContext(h.T.Context(), h.client, append([]string{"-F", "none", "-q", "-p", port, "-i", h.path("key"), "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes",
		"-o", "UserKnownHostsFile=" + h.path("known_hosts"), "-o", "StrictHostKeyChecking=yes", "-l", me.Username}, append([]string{host}, args...)...)...)
	cmd.Stdin = stdin
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	return out.String(), err
}

func writeFile(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// wire is a connection to a host that can be cut as a network is: in silence, or by a reset.
type wire struct {
	near, far string
	mu        sync.Mutex
	down      chan struct{} // closed: nothing goes through, and nobody is told
	conns     map[net.Conn]bool
}

func newWire(t testing.TB, far string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{near: l.Addr().String(), far: far, down: make(chan struct{}), conns: map[net.Conn]bool{}}
	t.Cleanup(func() { l.Close(); w.reset() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go w.carry(conn)
		}
	}()
	return w
}

func (w *wire) carry(conn net.Conn) {
	w.mu.Lock()
	down := w.down
	w.mu.Unlock()
	far, err := net.Dial("tcp", w.far)
	if err != nil {
		conn.Close()
		return
	}
	w.mu.Lock()
	w.conns[conn], w.conns[far] = true, true
	w.mu.Unlock()
	copyWhile := func(to, from net.Conn) {
		buf := make([]byte, 32<<10)
		for {
			n, err := from.Read(buf)
			select {
			case <-down:
				select {} // what comes now is lost; the test's end ends this
			default:
			}
			if n > 0 {
				if _, err := to.Write(buf[:n]); err != nil {
					break
				}
			}
			if err != nil {
				to.Close()
				from.Close()
				return
			}
		}
	}
	go copyWhile(far, conn)
	copyWhile(conn, far)
}

// silence cuts what there is without a word; new connections go through again.
func (w *wire) silence() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.down)
	w.down = make(chan struct{})
}

// reset cuts what there is.
func (w *wire) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for conn := range w.conns {
		if tcp, ok := conn.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
		conn.Close()
	}
	clear(w.conns)
}

// exitCode is a program's, 0 for none.
func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}
