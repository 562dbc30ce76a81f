package firewall

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"

	"git-ward/internal/tier"
	"git-ward/sandbox/lab"
)

// wire is a container's namespace and, at the other end of its only wire, a
// world that owns every address there is: whatever gets out is seen there, and
// nothing can get further, because the world has no other wire.
type wire struct {
	inside, outside *lab.Process
}

const openPort = 4444 // where the world answers UDP

func newWire(t *testing.T) *wire {
	needRoot(t)
	l := &wire{lab.Start(t, "actor", syscall.CLONE_NEWNET), lab.Start(t, "actor", syscall.CLONE_NEWNET)}
	l.inside.Sh(fmt.Sprintf(`
		ip link set lo up
		ip link add v0 type veth peer name v1 netns %d
		ip link set v0 up
		ip addr add 192.0.2.2/24 dev v0
		ip addr add 2001:db8:1::2/64 dev v0 nodad
		echo 0 0 >/proc/sys/net/ipv4/ping_group_range
	`, l.outside.Cmd.Process.Pid))
	// In table main, so that the way back to the container stays.
	l.outside.Sh(`
		echo 0 0 >/proc/sys/net/ipv4/ping_group_range
		for c in all v1; do
			echo 0 >/proc/sys/net/ipv4/conf/$c/rp_filter
			echo 1 >/proc/sys/net/ipv4/conf/$c/accept_source_route
			echo 1 >/proc/sys/net/ipv4/conf/$c/route_localnet
		done
		ip link set lo up
		ip link set v1 up
		ip addr add 192.0.2.1/24 dev v1
		ip addr add 2001:db8:1::1/64 dev v1 nodad
		ip addr add fe80::5/64 dev v1 nodad
		ip route add local default dev lo table main
		ip -6 route add local default dev lo table main
		for a in 203.0.113.5/32 203.0.113.6/32 10.0.2.3/32 2001:db8::5/128 fd00:53::3/128; do ip addr add $a dev lo; done
	`)
	l.inside.Sh(`
		ip route add default via 192.0.2.1
		ip route add default via 2001:db8:1::1
		for i in $(seq 100); do ip -6 addr show dev v0 tentative | grep -q . || exit 0; sleep 0.05; done
	`)
	l.outside.Tell(lab.Order{Sniff: "v1"}, lab.Order{Listen: []string{
		"tcp :53", "tcp :80", "tcp :443", "tcp :853", "udp 203.0.113.5:4444", "udp [2001:db8::5]:4444",
		"udp 10.0.2.3:53", "udp [fd00:53::3]:53", "udp 203.0.113.5:53", "udp [2001:db8::5]:53", "udp 203.0.113.5:853",
		"drip 203.0.113.5:4446", "drip 203.0.113.6:4446", "drip [2001:db8::5]:4446",
	}})
	l.inside.Tell(lab.Order{Listen: []string{"tcp :9000", "udp 127.0.0.1:9000", "udp 192.0.2.2:9000"}})
	return l
}

// try gives what happened at both ends of the wire.
func (l *wire) try(attempts []lab.Attempt) (outcomes []lab.Outcome, seen map[string]int) {
	l.outside.Seen()
	outcomes = l.inside.Try(attempts)
	return outcomes, l.outside.Seen()
}

// every gives an attempt by each protocol.
func every(addrs ...string) (all []lab.Attempt) {
	for _, a := range addrs {
		to := netip.MustParseAddr(a)
		all = append(all,
			lab.Attempt{Proto: "tcp", To: to, Port: 80}, lab.Attempt{Proto: "udp", To: to, Port: openPort}, lab.Attempt{Proto: "icmp", To: to})
	}
	return all
}

func each(protos string, port int, addrs ...string) (all []lab.Attempt) {
	for _, proto := range strings.Fields(protos) {
		for _, a := range addrs {
			all = append(all, lab.Attempt{Proto: proto, To: netip.MustParseAddr(a), Port: port})
		}
	}
	return all
}

// allowed is what a container in mode public must be able to do.
func allowed() (all []lab.Attempt) {
	all = append(all, every("203.0.113.5", "2001:db8::5")...)
	all = append(all, each("tcp", 443, "203.0.113.5", "2001:db8::5", "8.8.8.8", "2606:4700::1111")...)
	all = append(all, each("tcp udp", 53, "10.0.2.3", "fd00:53::3")...)
	all = append(all, each("tcp", 443, "2001:db8:6464:808:8:800::", "2001:db8:96::8.8.8.8")...) // 8.8.8.8 behind translators
	return append(all, ownLoopback()...)
}

func ownLoopback() (all []lab.Attempt) {
	all = append(all, each("tcp udp", 9000, "127.0.0.1", "192.0.2.2")...)
	all = append(all, each("tcp", 9000, "::1", "0.0.0.0", "2001:db8:1::2")...)
	return append(all, lab.Attempt{Proto: "icmp", To: netip.MustParseAddr("127.0.0.1")})
}

// forbidden is what no container may do. All of it reaches the world when there
// are no rules.
func forbidden() (all []lab.Attempt) {
	all = append(all, every(
		"0.1.2.3", "10.1.2.3", "100.64.0.1", "100.127.255.254", "168.63.129.16", "169.254.169.254", "172.16.0.9", "172.31.255.254",
		"192.0.0.192", "192.88.99.1", "192.168.7.7", "198.18.0.1", "198.19.255.254", "240.0.0.1",
		"10.88.0.1", "203.0.113.77", "198.51.100.9", // the host
		"::10.0.0.1", "::ffff:0:10.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::10.0.0.1", "2001::1", "2002:a00:1::1",
		"fd00::5", "fd00:ec2::254", "fe80::5%v0", "fec0::5",
		"2001:db8:77::9", "2001:db8:78::1", // the host
		"203.0.113.66", "203.0.113.47", "2001:db8:66::1", // the admin's
		"2001:db8:6464:a01:2:300::", "2001:db8:6464:cb00:71:4d00::", "2001:db8:96::10.1.2.3", "2001:db8:96::203.0.113.66", // behind translators
		"2001:db8:6464:808:108:800::", // 8.8.8.8 with a byte that is not 0
	)...)
	all = append(all, each("tcp udp", openPort, "::ffff:10.1.2.3", "::ffff:169.254.169.254")...)
	all = append(all, each("udp", openPort, "224.0.0.251", "239.1.2.3", "255.255.255.255", "255.255.255.254", "ff02::fb%v0", "ff05::2%v0")...)
	all = append(all, each("tcp udp", 53, "203.0.113.5", "2001:db8::5", "10.9.9.9", "fd00:53::4", "192.0.2.1")...)
	all = append(all, each("tcp udp", 853, "203.0.113.5", "2001:db8::5", "10.0.2.3")...)
	all = append(all, each("tcp udp", 80, "10.0.2.3", "fd00:53::3")...)
	all = append(all, lab.Attempt{Proto: "icmp", To: netip.MustParseAddr("10.0.2.3")})
	// A reset comes from the first hop, and the socket waits for the last one.
	hidden := netip.MustParseAddr("10.1.2.3")
	return append(all,
		lab.Attempt{Proto: "tcp", To: hidden, Port: 80, First: "203.0.113.6", Quiet: true},
		lab.Attempt{Proto: "udp", To: hidden, Port: openPort, First: "203.0.113.6"},
		lab.Attempt{Proto: "udp", To: hidden, Port: openPort, First: "192.0.2.1", Exact: true},
		lab.Attempt{Proto: "udp", To: netip.MustParseAddr("fd00::5"), Port: openPort, First: "2001:db8::6"},
		lab.Attempt{Proto: "tcp", To: netip.MustParseAddr("fd00::5"), Port: 80, First: "2001:db8::7", Quiet: true},
		lab.Attempt{Proto: "udp", To: netip.MustParseAddr("2001:db8::6"), Port: openPort, From: "2001:db8:2::9"},
		lab.Attempt{Proto: "tcp", To: netip.MustParseAddr("2001:db8::6"), Port: 80, From: "2001:db8:2::9", Quiet: true},
		lab.Attempt{Proto: "icmp", To: netip.MustParseAddr("ff02::1%v0"), Quiet: true}) // multicast is never answered
}

// protocols that nothing in a container has a use for, and headers that hide one. Their
// sockets need privileges, or kernels with more than this one; the first three do not
// everywhere.
func protocols() (all []lab.Attempt) {
	for _, number := range []string{"132", "136", "115", "33", "4", "41", "47", "50", "51", "103"} { // SCTP, UDP-Lite, L2TP, DCCP, tunnels, IPsec, PIM
		all = append(all, each(number, 0, "203.0.113.5", "2001:db8::5")...)
	}
	all = append(all, each("43 60 135 59", 0, "2001:db8::5")...)                                      // routing, options, mobility, nothing
	return append(all, lab.Attempt{Proto: "44", To: netip.MustParseAddr("2001:db8::5"), Quiet: true}) // a fragment waits for the others
}

// odd is refused by the kernel itself or by the rules, whichever comes first.
func odd() (all []lab.Attempt) {
	for _, a := range []string{"127.0.0.9", "::1", "10.1.2.3"} {
		for _, x := range every(a) {
			x.Via = "v0"
			all = append(all, x)
		}
	}
	// By IPv4 the kernel has no way for a source that is not its own.
	all = append(all, lab.Attempt{Proto: "udp", To: netip.MustParseAddr("203.0.113.6"), Port: openPort, From: "198.51.100.200"},
		lab.Attempt{Proto: "udp", To: netip.MustParseAddr("203.0.113.6"), Port: openPort, From: "127.0.0.1"})
	return append(all, every("255.255.255.255", "224.0.0.1")...)
}

func TestEscapes(t *testing.T) {
	tier.First(t, "it makes network namespaces")
	l := newWire(t)
	control, seen := l.try(forbidden())
	for i, a := range forbidden() {
		if seen[a.Wire()] == 0 {
			t.Errorf("without rules %v does not reach the world (%v): the lab proves nothing about it", a, control[i])
		}
	}
	oddControl, oddSeen := l.try(odd())
	rawControl, rawSeen := l.try(protocols())
	for i, a := range protocols() {
		if rawSeen[a.Wire()] == 0 {
			t.Errorf("without rules %v does not reach the world (%v)", a, rawControl[i])
		}
	}
	apply(t, public(), l.inside)

	t.Run("allowed", func(t *testing.T) {
		outcomes, _ := l.try(allowed())
		for i, a := range allowed() {
			row(t, a, outcomes[i], "")
			if outcomes[i].Err != "" {
				t.Errorf("%v: %v", a, outcomes[i])
			}
		}
	})
	t.Run("forbidden", func(t *testing.T) { l.mustRefuse(t, forbidden(), control, seen) })
	t.Run("protocols", func(t *testing.T) { l.mustRefuse(t, protocols(), rawControl, rawSeen) })
	t.Run("odd", func(t *testing.T) { l.mustRefuse(t, odd(), oddControl, oddSeen) })
	t.Run("inbound", func(t *testing.T) {
		in := each("tcp udp", 9000, "192.0.2.2", "2001:db8:1::2")
		in = append(in, each("icmp", 0, "192.0.2.2", "2001:db8:1::2")...)
		for i, o := range l.outside.Try(in) {
			row(t, in[i], o, "")
			if !o.Timeout {
				t.Errorf("from outside, %v: %v", in[i], o)
			}
		}
	})
	t.Run("allowlist", func(t *testing.T) {
		apply(t, Policy{Mode: Allowlist, Resolvers: public().Resolvers}, l.inside)
		l.mustRefuse(t, forbidden(), control, seen)
		l.mustRefuse(t, every("203.0.113.5", "2001:db8::5"), nil, nil)
		l.mustRefuse(t, each("tcp udp", 53, "10.0.2.3", "fd00:53::3"), nil, nil)
		outcomes, _ := l.try(ownLoopback())
		for i, a := range ownLoopback() {
			if outcomes[i].Err != "" {
				t.Errorf("%v: %v", a, outcomes[i])
			}
		}
	})
}

// Without any one of the rules something goes wrong, and the attempts show it:
// none is there for nothing, and none goes untested.
func TestEveryRuleIsNeeded(t *testing.T) {
	tier.Full(t, "half a minute of waiting for answers that do not come")
	l := newWire(t)
	f := opened(t, l.inside)
	for _, name := range []string{"connections", "names", "output", "input"} {
		for i := 0; ; i++ {
			p, err := compile(public())
			if err != nil {
				t.Fatal(err)
			}
			c := slices.IndexFunc(p.chains, func(c chain) bool { return c.name == name })
			if i == len(p.chains[c].rules) {
				break
			}
			gone := p.chains[c].rules[i]
			if name == "output" && i+1 == len(p.chains[c].rules) {
				break // without the last one packets are dropped just the same
			}
			if test := triedElsewhere(name, gone); test != "" {
				t.Logf("%s without `%s`: see %s", name, gone.text(), test)
				continue
			}
			p.chains[c].rules = slices.Delete(slices.Clone(p.chains[c].rules), i, i+1)
			if err := enforce(t.Context(), int(f.Fd()), p, queue); err != nil {
				t.Fatal(err)
			}
			if wrong := l.whatIsWrong(); wrong == "" {
				t.Errorf("%s works without rule %d, %s", name, i, gone.text())
			} else {
				t.Logf("%s without `%s`: %s", name, gone.text(), wrong)
			}
		}
	}
	apply(t, public(), l.inside)
	if wrong := l.whatIsWrong(); wrong != "" {
		t.Error(wrong)
	}
}

// triedElsewhere is the test that shows what a rule is for where attempts that come one by
// one cannot: a bound, or a refusal that comes later than the connection.
func triedElsewhere(chain string, r rule) string {
	switch text := r.text(); {
	case strings.Contains(text, "limit rate") || strings.Contains(text, "ct count"):
		return "TestFloods"
	case chain == "input" && strings.HasSuffix(text, "drop"):
		return "TestEstablishedIsCut"
	}
	return ""
}

// whatIsWrong tells one thing that is not as mode public wants it.
func (l *wire) whatIsWrong() string {
	l.inside.Sh("ip neigh flush all")
	l.outside.Sh("ip neigh flush all")
	outcomes, _ := l.try(allowed())
	for i, a := range allowed() {
		if outcomes[i].Err != "" {
			return fmt.Sprintf("%v: %v", a, outcomes[i])
		}
	}
	// An error from the way is heard: nobody listens there.
	shut := lab.Attempt{Proto: "udp", To: netip.MustParseAddr("203.0.113.5"), Port: 4445}
	if o := l.inside.Try([]lab.Attempt{shut})[0]; o.Timeout || o.Err == "" {
		return fmt.Sprintf("%v: %v", shut, o)
	}
	_, seen := l.try(slices.Concat(forbidden(), protocols()))
	// The end of a connection that an earlier round had, without the rule that let its
	// answers in, is sent again for as long as the kernel likes.
	for _, a := range allowed() {
		delete(seen, a.Wire())
	}
	for what := range seen {
		return "got out: " + what
	}
	return ""
}

// mustRefuse wants each attempt to be refused, not dropped, and nothing on the wire at all,
// of whatever kind.
func (l *wire) mustRefuse(t *testing.T, attempts []lab.Attempt, control []lab.Outcome, before map[string]int) {
	t.Helper()
	outcomes, seen := l.try(attempts)
	for i, a := range attempts {
		without := ""
		if control != nil {
			without = fmt.Sprintf("without rules: %v, %d packets outside", control[i], before[a.Wire()])
		}
		row(t, a, outcomes[i], without)
		if o := outcomes[i]; o.Err == "" || !a.Quiet && o.Timeout {
			t.Errorf("%v: %v after %v", a, o, o.Took)
		}
	}
	for what, n := range seen {
		t.Errorf("got out: %s, %d packets", what, n)
	}
}

func row(t *testing.T, a lab.Attempt, o lab.Outcome, without string) {
	t.Logf("%-48v %-38v %6.1f ms  %s", a, o, float64(o.Took.Microseconds())/1000, without)
}
