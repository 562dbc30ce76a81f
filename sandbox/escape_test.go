package sandbox

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/sandbox/fence"
	"git-ward/sandbox/lab"
	"git-ward/sandbox/podman"
)

func attempt(what, proto, to string, port int) lab.Attempt {
	return lab.Attempt{What: what, Proto: proto, To: netip.MustParseAddr(to), Port: port}
}

// open is what a fence in public mode is for.
var open = []lab.Attempt{
	attempt("the public internet", "tcp", "203.0.113.5", 80),
	attempt("the public internet", "tcp", "203.0.113.5", 443),
	attempt("the public internet", "udp", "203.0.113.5", 4444),
	attempt("the public internet", "tcp", "2001:db8::5", 443),
	attempt("the public internet", "udp", "2001:db8::5", 4444),
	attempt("the configured resolver", "udp", resolver, 53),
	attempt("the configured resolver, long answers", "tcp", resolver, 53),
}

// shut is what no fence opens. On the machine all of it answers.
func shut(neighbour string) []lab.Attempt {
	return []lab.Attempt{
		attempt("private 10/8", "tcp", "10.1.2.3", 80),
		attempt("private 10/8", "udp", "10.1.2.3", 4444),
		attempt("private 172.16/12", "tcp", "172.16.0.9", 80),
		attempt("private 192.168/16", "tcp", "192.168.7.7", 80),
		attempt("cloud metadata", "tcp", "169.254.169.254", 80),
		attempt("cloud metadata, Alibaba", "tcp", "100.100.100.200", 80),
		attempt("cloud host agent, Azure", "tcp", "168.63.129.16", 80),
		attempt("shared 100.64/10", "tcp", "100.64.0.1", 80),
		attempt("benchmark 198.18/15", "tcp", "198.18.0.1", 80),
		attempt("reserved 240/4", "tcp", "240.0.0.1", 80),
		attempt("unique local fc00::/7", "tcp", "fd00::5", 80),
		attempt("unique local fc00::/7", "udp", "fd00::5", 4444),
		attempt("cloud metadata, IPv6", "tcp", "fd00:ec2::254", 80),
		attempt("link-local, IPv6", "tcp", neighbour, 80),
		attempt("v4-mapped private", "tcp", "::ffff:10.1.2.3", 80),
		attempt("v4-mapped metadata", "tcp", "::ffff:169.254.169.254", 80),
		attempt("NAT64 of private", "tcp", "64:ff9b::10.1.2.3", 80),
		attempt("NAT64 of metadata", "tcp", "64:ff9b::169.254.169.254", 80),
		attempt("NAT64 that a name tells, of private", "tcp", "2001:db8:64:64::10.1.2.3", 80),
		attempt("6to4 of private", "tcp", "2002:a01:203::1", 80),
		attempt("Teredo", "tcp", "2001::1", 80),
		attempt("the host, on its wire", "tcp", wireAddr, 22),
		attempt("the host, on the bridge", "tcp", "10.88.0.1", 22),
		attempt("the host, on the bridge, IPv6", "tcp", "2001:db8:88::1", 22),
		attempt("the host, another address", "tcp", hostAddr, 22),
		attempt("the host, another address", "udp", hostAddr, 4444),
		attempt("the host, IPv6", "tcp", "2001:db8:1::2", 22),
		attempt("the host, another IPv6 address", "tcp", hostAddr6, 22),
		attempt("a network behind the host", "tcp", "203.0.113.200", 80),
		attempt("a network behind the host, IPv6", "tcp", "2001:db8:78::1", 80),
		attempt("another DNS server", "udp", "203.0.113.53", 53),
		attempt("another DNS server, over TCP", "tcp", "203.0.113.53", 53),
		attempt("another DNS server, IPv6", "udp", "2001:db8::53", 53),
		attempt("another DNS server, IPv6 over TCP", "tcp", "2001:db8::53", 53),
		attempt("DNS over TLS", "tcp", "203.0.113.53", 853),
		attempt("the resolver, another port", "tcp", resolver, 80),
	}
}

// TestEscapes is the table of addresses, from inside `git ward launch`, with a
// control for each line: the same container, its rules taken away, gets through.
// It is the same whatever makes the container's bridge.
func TestEscapes(t *testing.T) {
	tier.Full(t, "it launches containers")
	for _, backend := range []string{podman.Netavark, podman.CNI} {
		t.Run(backend, func(t *testing.T) {
			m := newMachine(t)
			m.network(t, backend)
			testEscapes(t, m)
		})
	}
}

func testEscapes(t *testing.T, m *machine) {
	t.Run("public", func(t *testing.T) {
		p := m.probe(t)
		p.Run("true") // it is up, and so is its bridge
		forbidden := shut(m.neighbour(t) + "%eth0")
		answered(t, open, p.Try(open))
		m.world.Seen()
		outcomes := p.Try(forbidden)
		seen := m.world.Seen()
		m.withoutRules(t)
		control := p.Try(forbidden)
		refused(t, forbidden, outcomes, control, seen)
		if without := m.world.Seen(); len(without) <= len(seen) {
			t.Errorf("without rules the world saw %v", without)
		}
	})
	t.Run("allowlist", func(t *testing.T) {
		m.set(`[egress] mode = "allowlist"`)
		p := m.probe(t)
		p.Run("true") // the launcher has asked what it asks name servers
		m.world.Seen()
		all := append(shut("fe80::1"), open...)
		refused(t, all, p.Try(all), nil, m.world.Seen())
	})
}

// withoutRules takes the rules away from the one container that runs.
func (m *machine) withoutRules(t *testing.T) {
	t.Helper()
	taken := 0
	for pid, line := range m.processes() {
		if !victims["container"](line) {
			continue
		}
		if out, err := exec.Command("nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", pid), "nft", "delete", "table", "inet", "ward").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		taken++
	}
	if taken == 0 {
		t.Fatal("no container runs whose rules could be taken away")
	}
}

// probe launches an actor into a fence.
func (m *machine) probe(t *testing.T) *lab.Process {
	t.Helper()
	bin, err := gittest.Bin()
	if err != nil {
		t.Fatal(err)
	}
	// A program without libraries: the image's are not this machine's.
	build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(bin, "ward-test-actor"), "./lab/testdata/actor")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := m.launch(fence.InsideBin + "/ward-test-actor")
	cmd.Stderr = t.Output()
	return lab.Begin(t, cmd)
}

func answered(t *testing.T, attempts []lab.Attempt, outcomes []lab.Outcome) {
	t.Helper()
	for i, a := range attempts {
		line(t, a, outcomes[i].String(), outcomes[i], "")
		if outcomes[i].Err != "" {
			t.Errorf("%s, %v: %v", a.What, a, outcomes[i])
		}
	}
}

// refused wants every attempt to fail at once and to leave nothing on the wire,
// and, where there is a control, that it got through without rules.
func refused(t *testing.T, attempts []lab.Attempt, outcomes, control []lab.Outcome, seen map[string]int) {
	t.Helper()
	for i, a := range attempts {
		without := ""
		if control != nil {
			without = "without rules: " + control[i].String()
			if control[i].Err != "" {
				t.Errorf("without rules %s, %v: %v; the line proves nothing", a.What, a, control[i])
			}
		}
		o := outcomes[i]
		line(t, a, o.String(), o, without)
		if o.Err == "" || o.Timeout { // a packet that is dropped has no answer at all
			t.Errorf("%s, %v: %v", a.What, a, o)
		}
		if n := seen[a.Wire()]; n > 0 {
			t.Errorf("%s, %v: %d packets got out", a.What, a, n)
		}
	}
}

func line(t *testing.T, a lab.Attempt, what string, o lab.Outcome, more string) {
	t.Logf("%-38s %-38v %-34s %5.1f ms  %s", a.What, a, what, float64(o.Took.Microseconds())/1000, more)
}

// TestFollowsTheHost: an address that the host gains while a fence runs is refused to it,
// and a fence whose rules cannot be kept is ended.
func TestFollowsTheHost(t *testing.T) {
	tier.Full(t, "it launches containers")
	m := newMachine(t)
	t.Run("root", func(t *testing.T) { testFollowsTheHost(t, m, m, "203.0.113.90") })
	t.Run("rootless", func(t *testing.T) { testFollowsTheHost(t, m, m.ordinary(t), "203.0.113.91") })
}

func testFollowsTheHost(t *testing.T, root, m *machine, address string) {
	p := m.probe(t)
	p.Run("true")
	gained := []lab.Attempt{attempt("an address that the host gains", "tcp", address, 22)}
	answered(t, gained, p.Try(gained))
	root.sh("ip addr add " + address + "/32 dev lo")
	await.True(t, "the address is refused", func() bool {
		o := p.Try(gained)[0]
		return o.Err != "" && !o.Timeout
	})
	m.withoutRules(t)
	root.sh("ip addr del " + address + "/32 dev lo")
	await.True(t, "the container has ended", func() bool {
		for _, line := range m.processes() {
			if victims["container"](line) {
				return false
			}
		}
		return true
	})
	var exit *exec.ExitError
	if err := p.End(); !asExit(err, &exit) || exit.ExitCode() != 2 {
		t.Errorf("the launch ended with %v, want exit code 2", err)
	}
}
