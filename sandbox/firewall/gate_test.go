package firewall

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ward/internal/tier"
	"git-ward/sandbox/lab"

	"golang.org/x/sys/unix"
)

const (
	nearUser, agentUser = 1002, 1000
	gatePort            = 2222
)

// pod is a policy with a gate in a range that is refused, and one that is public.
func pod(m Mode) Policy {
	p := Policy{Mode: m, GateUser: nearUser}
	for _, g := range []string{"10.4.4.4:2222", "203.0.113.44:2222", "[2001:db8::44]:2222", "203.0.113.44:2222", "203.0.113.45:2222"} {
		p.Gates = append(p.Gates, netip.MustParseAddrPort(g))
	}
	if m == Public {
		p.Connections, p.Packets, p.Resolvers = 4096, 20_000, addrs("10.0.2.3")
	}
	return p
}

// hereRequest is what the test's own verb is asked to put in place where it is.
type hereRequest struct {
	Policy Policy
	Nodes  []netip.Addr
}

func here(stdin io.Reader) error {
	var r hereRequest
	if err := json.NewDecoder(stdin).Decode(&r); err != nil {
		return err
	}
	return Here(context.Background(), r.Policy, r.Nodes)
}

// within runs the test's binary as a verb and a user in another's network namespace. The
// binary goes by descriptor: its directory is root's alone.
func within(t *testing.T, p *lab.Process, user int, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { self.Close() })
	id := fmt.Sprint(user)
	cmd := exec.Command("nsenter", append([]string{"--net=" + p.NetNS(), "--setgid", id, "--setuid", id, "--", "/proc/self/fd/3"}, args...)...)
	cmd.ExtraFiles, cmd.Stderr, cmd.Dir = []*os.File{self}, os.Stderr, "/"
	return cmd
}

func fenceHere(t *testing.T, p *lab.Process, policy Policy, nodes ...string) (said string, err error) {
	t.Helper()
	text, err := json.Marshal(hereRequest{policy, addrs(nodes...)})
	if err != nil {
		t.Fatal(err)
	}
	cmd := within(t, p, 0, "here")
	cmd.Stderr, cmd.Stdin = nil, strings.NewReader(string(text))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Only one user's packets come to the gate, and none of his anywhere else; the gate's
// host, the node, the API server, the cloud's metadata and every kubelet are nobody's.
func TestGateIsOneUsers(t *testing.T) {
	tier.Full(t, "networks of namespaces, by each way of a pod")
	gates := each("tcp", gatePort, "10.4.4.4", "203.0.113.44", "203.0.113.45", "2001:db8::44")
	nobodys := append(each("tcp", 80, "10.4.4.4", "203.0.113.44", "2001:db8::44"), each("udp", gatePort, "203.0.113.44", "2001:db8::44")...)
	nobodys = append(nobodys, each("tcp", 80, "169.254.169.254", "fd00:ec2::254", "192.0.2.1", "203.0.113.90")...) // metadata, own network, node
	nobodys = append(nobodys, each("tcp", 10250, "203.0.113.91", "192.0.2.1", "2001:db8::91", "203.0.113.90")...)  // kubelets
	nobodys = append(nobodys, each("tcp", 443, "203.0.113.92", "10.96.0.1")...)                                    // API server
	nobodys = append(nobodys, each("tcp", 10255, "203.0.113.91", "2001:db8::91")...)
	public := append(each("tcp", 443, "203.0.113.5", "2001:db8::5"), each("tcp udp", 53, "10.0.2.3")...)
	for _, mode := range []Mode{Public, Allowlist} {
		t.Run(string(mode), func(t *testing.T) {
			l := newWire(t)
			l.outside.Tell(lab.Order{Listen: []string{"tcp :2222", "tcp :10250", "tcp :10255"}})
			near := lab.Begin(t, within(t, l.inside, nearUser, "actor"))
			agent := lab.Begin(t, within(t, l.inside, agentUser, "actor"))
			root := lab.Begin(t, within(t, l.inside, 0, "actor"))
			for i, o := range agent.Try(gates) {
				if o.Err != "" {
					t.Fatalf("without rules: %v: %v: the test shows nothing", gates[i], o)
				}
			}
			policy := pod(mode)
			policy.Refuse = prefixes("203.0.113.92/32")
			if said, err := fenceHere(t, l.inside, policy, "203.0.113.90"); err != nil {
				t.Fatal(said, err)
			}
			answered(t, l, near, gates)
			refusedAll(t, l, near, append(nobodys[:len(nobodys):len(nobodys)], public...))
			for _, other := range []*lab.Process{agent, root} {
				refusedAll(t, l, other, append(nobodys[:len(nobodys):len(nobodys)], gates...))
				if mode == Public {
					answered(t, l, other, public)
				} else {
					refusedAll(t, l, other, public)
				}
			}
		})
	}
}

func answered(t *testing.T, l *wire, who *lab.Process, attempts []lab.Attempt) {
	t.Helper()
	for i, o := range who.Try(attempts) {
		if o.Err != "" {
			t.Errorf("%v: %v, want an answer", attempts[i], o)
		}
	}
	l.outside.Seen()
}

func refusedAll(t *testing.T, l *wire, who *lab.Process, attempts []lab.Attempt) {
	t.Helper()
	for i, o := range who.Try(attempts) {
		if o.Err == "" || o.Timeout {
			t.Errorf("%v: %v after %v, want a refusal", attempts[i], o, o.Took)
		}
	}
	seen := l.outside.Seen()
	for _, a := range attempts {
		if n := seen[a.Wire()]; n > 0 {
			t.Errorf("%v: %d packets got out", a, n)
		}
	}
}

// What a closed connection still has to say arrives: its packets have no user any more.
func TestClosedConnectionIsFlushed(t *testing.T) {
	tier.Full(t, "networks of namespaces")
	l := newWire(t)
	if said, err := fenceHere(t, l.inside, pod(Allowlist)); err != nil {
		t.Fatal(said, err)
	}
	drain := within(t, l.outside, 0, "drain")
	out, err := drain.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	poured, err := drain.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := drain.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan() // it listens
	if err := within(t, l.inside, nearUser, "pour").Run(); err != nil {
		t.Fatal(err)
	}
	poured.Close()
	lines.Scan()
	if got := lines.Text(); got != fmt.Sprint(pouring) {
		t.Errorf("%q bytes and an end came, want %d", got, pouring)
	}
	if err := drain.Wait(); err != nil {
		t.Error(err)
	}
}

const pouring = 300_000

// pour writes more than the other side has taken, and ends at once.
func pour() error {
	conn, err := net.Dial("tcp", "203.0.113.44:2222")
	if err != nil {
		return err
	}
	if err := conn.(*net.TCPConn).SetWriteBuffer(2 * pouring); err != nil {
		return err
	}
	_, err = conn.Write(make([]byte, pouring))
	return errors.Join(err, conn.Close())
}

// drain reads when its input ends, and tells what came before the end. A receive buffer that is small when
// the connection begins keeps most of it with the sender.
func drain() error {
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4096) })
		return err
	}}
	l, err := config.Listen(context.Background(), "tcp", ":2222")
	if err != nil {
		return err
	}
	fmt.Println("listening")
	conn, err := l.Accept()
	if err != nil {
		return err
	}
	io.Copy(io.Discard, os.Stdin) // until the sender has closed, and its process has ended
	n, err := io.Copy(io.Discard, conn)
	fmt.Println(n)
	return err
}

// Another user's socket on the port of a connection that has just ended begins none.
func TestOldConnectionOpensNothing(t *testing.T) {
	tier.Full(t, "networks of namespaces")
	l := newWire(t)
	l.outside.Tell(lab.Order{Listen: []string{"tcp :2222"}})
	if said, err := fenceHere(t, l.inside, pod(Public)); err != nil {
		t.Fatal(said, err)
	}
	for _, ending := range []string{"in order", "cut"} {
		out, err := within(t, l.inside, nearUser, "dial", ending).Output()
		port := strings.TrimSpace(string(out))
		if err != nil || port == "" {
			t.Fatalf("near has no connection: %v", err)
		}
		cmd := within(t, l.inside, agentUser, "from", port)
		cmd.Stderr = nil
		said, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("%q: the agent is at the gate from port %s", ending, port)
		}
		t.Logf("%q: %s", ending, said)
	}
}

// dial opens a connection to the gate, tells its port, and ends it.
func dial(ending string) error {
	conn, err := net.Dial("tcp", "203.0.113.44:2222")
	if err != nil {
		return err
	}
	fmt.Println(conn.LocalAddr().(*net.TCPAddr).Port)
	if ending == "cut" {
		return conn.(*net.TCPConn).SetLinger(0)
	}
	return conn.Close()
}

// from dials the gate from a port.
func from(port string) error {
	local, err := net.ResolveTCPAddr("tcp", "192.0.2.2:"+port)
	if err != nil {
		return err
	}
	d := net.Dialer{LocalAddr: local, Timeout: 2 * time.Second, Control: func(_, _ string, c syscall.RawConn) (err error) {
		c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1) })
		return err
	}}
	conn, err := d.Dial("tcp", "203.0.113.44:2222")
	if err == nil {
		conn.Close()
	}
	return err
}

// A namespace that is the node's own, without the right to change it, or with rules of
// somebody else's in it, is not fenced, and says so.
func TestHereRefuses(t *testing.T) {
	tier.First(t, "it makes network namespaces")
	l := newWire(t)
	for _, c := range []struct {
		name  string
		nodes []string
		setup string
		want  string
	}{
		{"the node's own namespace", []string{"192.0.2.2"}, "true", "192.0.2.2 is the node's address"},
		{"somebody else's rules", nil, "nft add table ip mesh", "table 2 mesh: not asked for"},
	} {
		l.inside.Sh(c.setup)
		said, err := fenceHere(t, l.inside, pod(Public), c.nodes...)
		if err == nil || !strings.Contains(said, c.want) {
			t.Errorf("%s: %v\n%s", c.name, err, said)
		}
	}
	text, _ := json.Marshal(hereRequest{Policy: pod(Public)})
	cmd := within(t, l.inside, agentUser, "here")
	cmd.Stderr, cmd.Stdin = nil, strings.NewReader(string(text))
	if said, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(said), "operation not permitted") {
		t.Errorf("without rights: %v\n%s", err, said)
	}
}

func TestGatesAreChecked(t *testing.T) {
	for _, c := range []struct {
		gates []string
		user  int
		want  string
	}{
		{nil, 1002, "no gate"},
		{[]string{"203.0.113.1:22"}, 0, "neither root nor nobody"},
		{[]string{"203.0.113.1:22"}, -1, "neither root nor nobody"},
		{[]string{"203.0.113.1:22", "203.0.113.2:23"}, 1002, "different ports"},
		{[]string{"203.0.113.1:0"}, 1002, "is not the address"},
		{[]string{"0.0.0.0:22"}, 1002, "is not the address"},
		{[]string{"127.0.0.1:22"}, 1002, "is not the address"},
		{[]string{"[ff02::1]:22"}, 1002, "is not the address"},
	} {
		p := Policy{Mode: Allowlist, GateUser: c.user}
		for _, g := range c.gates {
			p.Gates = append(p.Gates, netip.MustParseAddrPort(g))
		}
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v %d: %v, want %s", c.gates, c.user, err, c.want)
		}
	}
}
