// Package firewall fences a container's network namespace with nftables: a
// Policy goes in whole, is put in place in one batch, and is read back from the
// kernel and compared before anyone may rely on it (SBX-1, SBX-2).
//
// The rules filter what passes the kernel's IP output. Packet sockets and
// tunnels need CAP_NET_RAW or CAP_NET_ADMIN and go round it or take it down:
// the container must have neither (SBX-3).
package firewall

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// Mode says what a container may reach besides its own loopback.
type Mode string

// The two modes of [egress] mode.
const (
	// Public opens the public Internet, and the resolvers for names.
	Public Mode = "public"
	// Allowlist opens nothing: allowed names are reached through the gateway's unix socket.
	Allowlist Mode = "allowlist"
)

// Policy is the complete configuration of one container's firewall. It is a plain value, which
// goes as JSON to the child that programs a rootless container.
type Policy struct {
	Mode Mode `json:"mode"`
	// Resolvers are open in mode public on port 53, UDP and TCP, wherever they are; on other
	// ports the usual refusals apply to them. No other name server is reachable.
	Resolvers []netip.Addr `json:"resolvers,omitempty"`
	// HostAddrs and HostRoutes are the host's, see HostFacts.
	HostAddrs  []netip.Addr   `json:"host_addrs,omitempty"`
	HostRoutes []netip.Prefix `json:"host_routes,omitempty"`
	// Refuse is what the admin refuses in addition ([egress] refuse). An address that a router
	// translates back to the host is not among the host's own.
	Refuse []netip.Prefix `json:"refuse,omitempty"`
	// Translators are the NAT64 prefixes of the host's network: an address that is refused in
	// IPv4 is also refused behind them.
	Translators []netip.Prefix `json:"translators,omitempty"`
	// Connections is how many may be open and how many may be opened a minute; Packets is how
	// many packets may leave a second. Mode public needs both.
	Connections int `json:"connections,omitempty"`
	Packets     int `json:"packets,omitempty"`
	// Gates are the ends of a pod's way to Ward's host, all on one port. Only GateUser reaches
	// them, and it reaches nothing else (MANY-3).
	Gates    []netip.AddrPort `json:"gates,omitempty"`
	GateUser int              `json:"gate_user,omitempty"`
}

// The largest values of Policy.Connections and Policy.Packets that still limit anything.
const (
	maxConnections = 1_000_000
	maxPackets     = 10_000_000
)

// maxHost bounds the host's prefixes after merging: a batch is one message, and the kernel
// refuses it beyond the socket's send buffer.
const maxHost = 1000

// Validate says why a policy cannot be installed. Follow and Text call it.
func (p Policy) Validate() error {
	if p.Mode != Public && p.Mode != Allowlist {
		return fmt.Errorf("unknown egress mode %q: it is %q or %q", p.Mode, Public, Allowlist)
	}
	for _, a := range p.Resolvers {
		if !a.IsValid() || a.IsUnspecified() || a.IsMulticast() {
			return fmt.Errorf("%v is not the address of a resolver", a)
		}
	}
	for _, a := range p.HostAddrs {
		if !a.IsValid() {
			return errors.New("an address of the host is empty")
		}
	}
	for _, r := range p.HostRoutes {
		// A default route in this list would refuse the whole Internet.
		if !r.IsValid() || unmapPrefix(r).Bits() == 0 {
			return fmt.Errorf("%v is not a non-default route of the host", r)
		}
	}
	if err := errors.Join(p.validateEgress(), p.validateGates()); err != nil {
		return err
	}
	if four, six := p.host(); len(four)+len(six) > maxHost {
		return fmt.Errorf("the host has %d separate routes and addresses; the firewall takes %d", len(four)+len(six), maxHost)
	}
	return nil
}

// validateEgress is Validate for the [egress] settings and what they lead to.
func (p Policy) validateEgress() error {
	for _, r := range p.Refuse {
		if !r.IsValid() || unmapPrefix(r).Bits() == 0 {
			return fmt.Errorf("[egress] refuse: %v is not a network", r)
		}
	}
	for _, t := range p.Translators {
		if !isTranslator(t) {
			return fmt.Errorf("%v is not the prefix of a NAT64", t)
		}
	}
	if p.Mode == Allowlist { // no traffic leaves that could be counted
		return nil
	}
	if p.Connections < 1 || p.Connections > maxConnections {
		return fmt.Errorf("[egress] connections is %d: it is 1 to %d", p.Connections, maxConnections)
	}
	if p.Packets < 1 || p.Packets > maxPackets {
		return fmt.Errorf("[egress] packets is %d: it is 1 to %d", p.Packets, maxPackets)
	}
	return nil
}

// host gives those of the host's addresses and routes, and of the admin's refusals, that the
// fixed table does not refuse already, behind translators too, disjoint and in order.
func (p Policy) host() (four, six []netip.Prefix) {
	all := make([]netip.Prefix, 0, len(p.HostAddrs)+len(p.HostRoutes)+len(p.Refuse))
	for _, a := range p.HostAddrs {
		a = plain(a)
		all = append(all, netip.PrefixFrom(a, a.BitLen()))
	}
	all = merge(slices.Concat(all, p.HostRoutes, p.Refuse))
	for _, prefix := range merge(append(all, p.translated(all)...)) {
		switch {
		case isReserved(prefix):
		case prefix.Addr().Is4():
			four = append(four, prefix)
		default:
			six = append(six, prefix)
		}
	}
	return four, six
}

// refused are the prefixes that the policy refuses besides those of Reserved, disjoint.
func (p Policy) refused() []netip.Prefix {
	four, six := p.host()
	return slices.Concat(four, six)
}

// Refuses makes what says of an address whether the rules never let the fence reach it: a special
// one, the host's, or behind a translator a spelling of an IPv4 address that is none.
func (p Policy) Refuses() func(netip.Addr) bool {
	refused, short := p.refused(), p.short()
	in := func(list []netip.Prefix, addr netip.Addr) bool {
		return slices.ContainsFunc(list, func(prefix netip.Prefix) bool { return prefix.Contains(addr) })
	}
	return func(addr netip.Addr) bool {
		addr = plain(addr)
		return !addr.IsValid() || Reserved(addr) || in(refused, addr) ||
			addr.Is6() && in(short, addr) && addr.As16()[zeroOctet] != 0
	}
}

// resolvers gives them by family, each once, in order.
func (p Policy) resolvers() (four, six []netip.Prefix) {
	var all []netip.Prefix
	for _, a := range p.Resolvers {
		a = plain(a)
		all = append(all, netip.PrefixFrom(a, a.BitLen()))
	}
	for _, prefix := range merge(all) {
		if prefix.Addr().Is4() {
			four = append(four, prefix)
		} else {
			six = append(six, prefix)
		}
	}
	return four, six
}

// plain is the address as in a packet: without a zone, and a mapped address as an IPv4
// address.
func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }
