package firewall

import (
	"net/netip"

	"github.com/google/nftables"
)

// A program is a policy as sets, chains and rules. The kernel's messages, the
// text for people and what read-back must find are three renderings of it.
type program struct {
	mode   Mode
	sets   []set
	chains []chain
}

// set is a named set. Constant: nothing may add to it while rules use it.
type set struct {
	name     string
	why      string
	key      nftables.SetDatatype
	interval bool // elements are prefixes; if not, single values
	elements []element
}

// element is a value or a range of a set: text for people, keys for the kernel.
type element struct {
	text        string
	why         string
	first, last []byte
}

// chain is a base chain with policy drop, or without a hook one to go to.
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
	if p.Mode == Allowlist {
		return program{p.Mode, nil, []chain{refuse, closedOutput, closedInput, forward}}, nil
	}
	return program{p.Mode, publicSets(p), []chain{refuse, publicOutput, publicInput, forward}}, nil
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

// publicOutput is in this order because the first match decides: the resolver
// may stand in a refused range, and refusals go to the sender over lo.
var publicOutput = chain{name: "output", why: "What leaves.", hook: nftables.ChainHookOutput, rules: []rule{
	{"Loopback is the container's own; refusals come back on it.", []part{oifLoopback, accept}},
	{"Without neighbour discovery IPv6 finds no router. A router would have lowered 255.", []part{hopLimit255, icmp6Type("discovery_out"), accept}},
	{"A source route hides the last destination in an option; any program can set one.", []part{ipOption("lsrr"), gotoRefuse}},
	{"", []part{ipOption("ssrr"), gotoRefuse}},
	{"Names: the configured resolvers' port 53.", []part{daddr("ip", "resolver4"), dport("udp"), accept}},
	{"", []part{daddr("ip", "resolver4"), dport("tcp"), accept}},
	{"", []part{daddr("ip6", "resolver6"), dport("udp"), accept}},
	{"", []part{daddr("ip6", "resolver6"), dport("tcp"), accept}},
	{"Never reached.", []part{daddr("ip", "reserved4"), gotoRefuse}},
	{"", []part{daddr("ip6", "reserved6"), gotoRefuse}},
	{"The host and the networks that it knows.", []part{daddr("ip", "host4"), gotoRefuse}},
	{"", []part{daddr("ip6", "host6"), gotoRefuse}},
	{"No other server is asked for names, by TLS or QUIC neither.", []part{dportIn("udp", "dns"), gotoRefuse}},
	{"", []part{dportIn("tcp", "dns"), gotoRefuse}},
	{"The public Internet; no tunnels, whose inner destination nobody sees.", []part{l4protoIn("protocols"), accept}},
	{"", []part{gotoRefuse}},
}}

var publicInput = chain{name: "input", why: "What comes in: answers. New connections are dropped, and learn nothing.", hook: nftables.ChainHookInput, rules: []rule{
	{"", []part{iifLoopback, accept}},
	{"", []part{hopLimit255, icmp6Type("discovery_in"), accept}},
	{"", []part{ctAnswer, accept}},
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
	return []set{
		{"resolver4", "The configured resolvers.", ip4, false, prefixElements(resolver4)},
		{"resolver6", "", ip6, false, prefixElements(resolver6)},
		{"reserved4", "What is not the public Internet, or leads round it.", ip4, true, reserved4},
		{"reserved6", "", ip6, true, reserved6},
		{"host4", "The host's own addresses and routes, as far as they are not above.", ip4, true, prefixElements(host4)},
		{"host6", "", ip6, true, prefixElements(host6)},
		{"dns", "Ports that answer for names.", nftables.TypeInetService, false, []element{
			{"53", "DNS", []byte{0, 53}, nil}, {"853", "DNS over TLS, over QUIC", []byte{3, 85}, nil},
		}},
		{"protocols", "What programs without privileges speak.", nftables.TypeInetProto, false, []element{
			byteElement("icmp", 1), byteElement("tcp", 6), byteElement("udp", 17), byteElement("ipv6-icmp", 58),
		}},
		{"discovery_out", "Neighbour discovery, as a host sends it and as a host takes it.", nftables.TypeICMP6Type, false, []element{
			byteElement("nd-router-solicit", 133), byteElement("nd-neighbor-solicit", 135), byteElement("nd-neighbor-advert", 136),
		}},
		{"discovery_in", "", nftables.TypeICMP6Type, false, []element{
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
