package firewall

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ward/internal/tier"
	"git-ward/sandbox/lab"
)

// routed is a wire with a host in the middle: it translates what the container sends to
// its own address, as podman's bridge has it, and so has an entry for each connection.
type routed struct {
	inside, host, world *lab.Process
}

func newRouted(t *testing.T) *routed {
	needRoot(t)
	r := &routed{}
	for _, p := range []**lab.Process{&r.inside, &r.host, &r.world} {
		*p = lab.Start(t, "actor", syscall.CLONE_NEWNET)
	}
	r.host.Sh(fmt.Sprintf(`
		ip link add v0 type veth peer name v0 netns %d
		ip link add v1 type veth peer name v1 netns %d
		for v in v0 v1; do ip link set $v up; done
		ip addr add 192.0.2.1/24 dev v0; ip addr add 203.0.113.1/24 dev v1
		ip addr add 2001:db8:1::1/64 dev v0 nodad; ip addr add 2001:db8:2::1/64 dev v1 nodad
		echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
		nft 'table inet n { chain c { type nat hook postrouting priority 100; oifname v1 masquerade; }; }'
	`, r.inside.Cmd.Process.Pid, r.world.Cmd.Process.Pid))
	r.inside.Sh(`
		ip link set lo up; ip link set v0 up
		ip addr add 192.0.2.2/24 dev v0; ip route add default via 192.0.2.1
		ip addr add 2001:db8:1::2/64 dev v0 nodad; ip route add default via 2001:db8:1::1
	`)
	r.world.Sh(`
		ip link set lo up; ip link set v1 up
		echo 3 >/proc/sys/net/ipv4/tcp_fastopen
		for a in 203.0.113.5/24 203.0.113.53/24; do ip addr add $a dev v1; done
		ip addr add 2001:db8:2::5/64 dev v1 nodad
	`)
	r.world.Tell(lab.Order{Listen: []string{"tcp :80", "udp 203.0.113.5:4444", "udp [2001:db8:2::5]:4444"}}, lab.Order{Names: &lab.Names{At: ":53", Silent: true}})
	return r
}

// entries is how many the host's table of connections has.
func (r *routed) entries(t *testing.T) int {
	return number(t, r.host.Sh("cat /proc/sys/net/netfilter/nf_conntrack_count"))
}

// arrived is how many packets have come to the world.
func (r *routed) arrived(t *testing.T) int {
	return number(t, r.world.Sh("awk '/v1:/ { print $3 }' /proc/net/dev"))
}

// arrivedBytes is how many bytes have.
func (r *routed) arrivedBytes(t *testing.T) int {
	return number(t, r.world.Sh("awk '/v1:/ { print $2 }' /proc/net/dev"))
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestFloods: each flood is one of the harms that a fence's network could do to the host,
// first with the bound, then with its rule taken away.
func TestFloods(t *testing.T) {
	tier.Full(t, "floods of connections, by networks of three namespaces")
	const bound = 150
	udp, six := netip.MustParseAddrPort("203.0.113.5:4444"), netip.MustParseAddrPort("[2001:db8:2::5]:4444")
	few := func(p *Policy) { p.Connections = bound }
	for _, c := range []struct {
		what            string
		flood           lab.Flood
		change          func(*Policy)
		before, after   []string // the rules that are not there, for the bound and without it
		most, otherwise int      // entries in the host's table, or packets
		more            float64  // of them that the bound lets through each second
		packets         bool
	}{
		// As slow as the rate allows, there is no end of open ones.
		{what: "open connections, answered", flood: lab.Flood{Proto: "udp", To: udp, Flows: 3000}, change: few,
			before: []string{"/minute"}, after: []string{"/minute", "ct count"}, most: bound, otherwise: 3000},
		{what: "open connections, answered, IPv6", flood: lab.Flood{Proto: "udp", To: six, Flows: 3000}, change: few,
			before: []string{"/minute"}, after: []string{"/minute", "ct count"}, most: bound, otherwise: 3000},
		{what: "connections that are closed at once", flood: lab.Flood{Proto: "tcp", To: netip.MustParseAddrPort("203.0.113.5:80"), Flows: 3000, Shut: true}, change: few,
			after: []string{"/minute"}, most: bound + 10, otherwise: 2 * bound, more: bound / 60.}, // some are open still, on a slow machine more
		{what: "packets", flood: lab.Flood{Proto: "udp", To: udp, Flows: 1, Again: time.Second}, change: func(p *Policy) { p.Packets = 1000 },
			after: []string{"packets drop", "bytes drop"}, most: 1500, otherwise: 10_000, packets: true, more: 1000},
	} {
		t.Run(c.what, func(t *testing.T) {
			measured := func(without []string) (int, lab.Flooded) {
				r := newRouted(t)
				p := openPolicy()
				c.change(&p)
				r.enforce(t, p, without)
				before := r.arrived(t)
				done := r.inside.Flood(c.flood)
				n := r.entries(t)
				if c.packets {
					n = r.arrived(t) - before
				}
				t.Logf("%d sent and %d refused in %d ms: %d at the host", done.Sent, done.Refused, done.Took.Milliseconds(), n)
				return n, done
			}
			got, done := measured(c.before)
			if most := c.most + int(c.more*done.Took.Seconds()); got > most {
				t.Errorf("with the bound %d, want %d at most", got, most)
			}
			if got, _ := measured(c.after); got < c.otherwise {
				t.Errorf("without the bound %d, want %d: the attack proves nothing", got, c.otherwise)
			}
		})
	}
}

// enforce puts a policy in place without the rules that have one of the words.
func (r *routed) enforce(t *testing.T, p Policy, without []string) {
	t.Helper()
	prog, err := compile(p)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range prog.chains {
		prog.chains[i].rules = slices.DeleteFunc(slices.Clone(c.rules), func(r rule) bool {
			return slices.ContainsFunc(without, func(word string) bool { return strings.Contains(r.text(), word) })
		})
	}
	if err := enforce(t.Context(), int(opened(t, r.inside).Fd()), prog, queue); err != nil {
		t.Fatal(err)
	}
}
