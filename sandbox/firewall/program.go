package firewall

import (
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
)

// A program is a policy as sets, chains and rules. It is rendered three ways: as messages to
// the kernel, as text for people, and as the result that read-back must find.
type program struct {
	mode   Mode
	sets   []set
	chains []chain
}

// set is a named set.
type set struct {
	name     string
	why      string
	key      nftables.SetDatatype
	kind     kind
	elements []element
}

// kind is what a set's flags say.
type kind int

const (
	constant kind = 1 << iota // constant while rules use it; the others follow the host
	interval                  // elements are prefixes, else single values
	dynamic                   // packets put its elements in, up to maxMet
)

// maxMet bounds a dynamic set: whoever asked for more has shown what he is after.
const maxMet = 64

// element is a value or range of a set: text for people, keys for the kernel.
type element struct {
	text        string
	why         string
	first, last []byte
}

// chain is a base chain with policy drop, or a chain without a hook to jump to.
type chain struct {
	name  string
	why   string
	hook  *nftables.ChainHook
	rules []rule
}

// compile makes the program of a policy.
func compile(p Policy) (program, error) {
	if err := p.Validate(); err != nil {
		return program{}, err
	}
	refuse := chain{name: "refuse", why: "Refused at once, so that a client says so instead of waiting.", rules: []rule{
		{"", []part{l4proto("tcp"), tcpReset}},
		{"", []part{adminProhibited}},
	}}
	forward := chain{name: "forward", why: "The container is not a router.", hook: nftables.ChainHookForward}
	prog := program{p.Mode, publicSets(p), []chain{refuse, publicNever(), publicConnections(p), publicNames(), publicOutput(p), publicInput, forward}}
	if p.Mode == Allowlist {
		prog.sets, prog.chains = nil, []chain{refuse, closedOutput, closedInput, forward}
	}
	if len(p.Gates) > 0 {
		prog.openGates(p)
	}
	return prog, nil
}

var (
	closedOutput = chain{name: "output", why: "Nothing leaves, names included.", hook: nftables.ChainHookOutput, rules: []rule{
		{"", []part{oifLoopback, accept}},
		{"", []part{gotoRefuse}},
	}}
	closedInput = chain{name: "input", why: "Nothing comes in.", hook: nftables.ChainHookInput, rules: []rule{
		{"", []part{iifLoopback, accept}},
	}}
)

// publicOutput has this order because the first match decides: the resolver may lie in a
// refused range, and rejects go to the sender over lo.
func publicOutput(p Policy) chain {
	return chain{name: "output", why: "What leaves. No packet leaves because its connection is an old one.", hook: nftables.ChainHookOutput, rules: []rule{
		{"Loopback is the container's own; refusals come back on it.", []part{oifLoopback, accept}},
		{"Without neighbour discovery IPv6 finds no router. A router would have lowered 255.", []part{hopLimit255, icmp6Type("discovery_out"), accept}},
		{"A flood is the host's work, too.", []part{moreThan(p.Packets, expr.LimitTimeSecond, p.Packets), drop}},
		{"Some the kernel parts after these rules: no more bytes than so many whole ones have.", []part{moreBytesThan(p.Packets*wholePacket, p.Packets*wholePacket+longestPacket), drop}},
		{"Any program can take another's address (IP_FREEBIND); an answer to it would be the other's.", []part{foreignSource, drop}},
		{"Options and headers in between hide the last destination (source routes, segment", []part{ipOptions, gotoRefuse}},
		{"routing) or what is sent; any program can set some.", []part{nextHeaderNotIn("headers"), gotoRefuse}},
		{"Names: the configured resolvers' port 53.", []part{daddr("ip", "resolver4"), dport("udp"), goTo("names")}},
		{"", []part{daddr("ip", "resolver4"), dport("tcp"), goTo("names")}},
		{"", []part{daddr("ip6", "resolver6"), dport("udp"), goTo("names")}},
		{"", []part{daddr("ip6", "resolver6"), dport("tcp"), goTo("names")}},
		{"Never reached.", []part{daddr("ip", "reserved4"), goTo("never")}},
		{"", []part{daddr("ip6", "reserved6"), goTo("never")}},
		{"The host and the networks that it knows, and what its admin refuses.", []part{daddr("ip", "host4"), goTo("never")}},
		{"", []part{daddr("ip6", "host6"), goTo("never")}},
		{"Behind a translator, a spelling of an IPv4 address that is none.", []part{daddr("ip6", "translators"), notZeroOctet, goTo("never")}},
		{"No other server is asked for names, by TLS or QUIC neither.", []part{dportIn("udp", "dns"), gotoRefuse}},
		{"", []part{dportIn("tcp", "dns"), gotoRefuse}},
		{"The public Internet; no tunnels, whose inner destination nobody sees.", []part{l4protoIn("protocols"), goTo("connections")}},
		{"", []part{ping4, goTo("connections")}},
		{"", []part{ping6, goTo("connections")}},
		{"", []part{gotoRefuse}},
	}}
}

// publicNever notes what programs asked for, for who reviews their work. What the kernel sends by
// itself (groups that it joins) is no program's wish.
func publicNever() chain {
	return chain{name: "never", why: "Where nothing may go. Who reviews the work is told what its programs asked for.", rules: []rule{
		{"", []part{l4protoIn("protocols"), noted("ip", "met4")}},
		{"", []part{l4protoIn("protocols"), noted("ip6", "met6")}},
		{"", []part{gotoRefuse}},
	}}
}

// A fence may ask for NameRate names a second, and for NameBurst at once: a resolver is
// somebody else's, and names carry data out. How many questions a packet has these rules do
// not see: a stream has many, and the kernel parts a bundle (UDP_SEGMENT) after them. So
// bytes count as well. The question for a name of 18 letters has NameBytes; alone in a
// packet it counts with its headers.
const (
	NameRate  = 200
	NameBurst = 1000
	NameBytes = 36
)

func publicNames() chain {
	return chain{name: "names", why: "Questions for names, a packet each or a few, and as many bytes.", rules: []rule{
		{"", []part{moreThan(NameRate, expr.LimitTimeSecond, NameBurst), gotoRefuse}},
		{"", []part{moreBytesThan(NameRate*NameBytes, NameBurst*NameBytes), gotoRefuse}},
		{"", []part{goTo("connections")}},
	}}
}

// wholePacket is what an Ethernet takes, longestPacket what the kernel has in one.
const (
	wholePacket   = 1500
	longestPacket = 1 << 16
)

// publicConnections bounds a fence's share of the host's connection table. Closed connections
// stay there for up to two minutes without counting as open, hence the rate.
func publicConnections(p Policy) chain {
	return chain{name: "connections", why: "Each connection is an entry in the host's table, and stays there for a while when it is closed.", rules: []rule{
		{"", []part{ctFirst, moreThan(p.Connections, expr.LimitTimeMinute, p.Connections), gotoRefuse}},
		{"", []part{ctFirst, openOver(p.Connections), gotoRefuse}},
		{"", []part{accept}},
	}}
}

// publicInput refuses answers from where nothing may go, because a connection may be older
// than the refusal of its other end.
var publicInput = chain{name: "input", why: "What comes in: answers. New connections are dropped, and learn nothing.", hook: nftables.ChainHookInput, rules: []rule{
	{"", []part{iifLoopback, accept}},
	{"", []part{hopLimit255, icmp6Type("discovery_in"), accept}},
	{"Errors on the way; routers may have private addresses.", []part{l4protoIn("errors"), ctState("related"), accept}},
	{"", []part{saddr("ip", "resolver4"), ctState("established"), accept}},
	{"", []part{saddr("ip6", "resolver6"), ctState("established"), accept}},
	{"Nothing from where nothing may go, however old the connection is.", []part{saddr("ip", "reserved4"), drop}},
	{"", []part{saddr("ip6", "reserved6"), drop}},
	{"", []part{saddr("ip", "host4"), drop}},
	{"", []part{saddr("ip6", "host6"), drop}},
	{"", []part{ctState("established"), accept}},
}}

func publicSets(p Policy) []set {
	resolver4, resolver6 := p.resolvers()
	host4, host6 := p.host()
	var reserved4, reserved6 []element
	for _, r := range reservedPrefixes {
		if r.prefix.Addr().Is4() {
			reserved4 = append(reserved4, prefixElement(r.prefix, r.why))
		} else {
			reserved6 = append(reserved6, prefixElement(r.prefix, r.why))
		}
	}
	ip4, ip6 := nftables.TypeIPAddr, nftables.TypeIP6Addr
	return append([]set{
		{"resolver4", "The configured resolvers.", ip4, constant, prefixElements(resolver4)},
		{"resolver6", "", ip6, constant, prefixElements(resolver6)},
		{"reserved4", "What is not the public Internet, or leads round it.", ip4, constant | interval, reserved4},
		{"reserved6", "", ip6, constant | interval, reserved6},
		{"host4", "The host's own addresses and routes, as they are now, and [egress] refuse, as far", ip4, interval, prefixElements(host4)},
		{"host6", "as they are not above; by IPv6 behind translators, too.", ip6, interval, prefixElements(host6)},
		{"translators", "NAT64 prefixes with a byte that must be 0.", ip6, interval, prefixElements(p.short())},
		{"dns", "Ports that answer for names.", nftables.TypeInetService, constant, []element{
			{"53", "DNS", []byte{0, 53}, nil}, {"853", "DNS over TLS, over QUIC", []byte{3, 85}, nil},
		}},
		{"protocols", "What programs without privileges speak, besides echo requests.", nftables.TypeInetProto, constant, []element{
			byteElement("tcp", 6), byteElement("udp", 17),
		}},
		{"headers", "What may stand right behind an IPv6 header.", nftables.TypeInetProto, constant, []element{
			byteElement("tcp", 6), byteElement("udp", 17), byteElement("ipv6-icmp", 58),
		}},
		{"met4", "What programs asked for and no packet may reach.", ip4, dynamic, nil},
		{"met6", "", ip6, dynamic, nil},
		{"errors", "", nftables.TypeInetProto, constant, []element{
			byteElement("icmp", 1), byteElement("ipv6-icmp", 58),
		}},
	}, discoverySets()...)
}

// discoverySets are what neighbour discovery needs.
func discoverySets() []set {
	return []set{
		{"discovery_out", "Neighbour discovery, as a host sends it and as a host takes it.", nftables.TypeICMP6Type, constant, []element{
			byteElement("nd-router-solicit", 133), byteElement("nd-neighbor-solicit", 135), byteElement("nd-neighbor-advert", 136),
		}},
		{"discovery_in", "", nftables.TypeICMP6Type, constant, []element{
			byteElement("nd-router-advert", 134), byteElement("nd-neighbor-solicit", 135), byteElement("nd-neighbor-advert", 136),
		}},
	}
}

func byteElement(text string, value byte) element {
	return element{text: text, first: []byte{value}}
}

func prefixElements(prefixes []netip.Prefix) []element {
	var all []element
	for _, p := range prefixes {
		all = append(all, prefixElement(p, ""))
	}
	return all
}

func prefixElement(p netip.Prefix, why string) element {
	text := p.String()
	if p.IsSingleIP() {
		text = p.Addr().String()
	}
	return element{text, why, p.Addr().AsSlice(), last(p).AsSlice()}
}
