package firewall

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
)

// nodePorts are ports on which a Kubernetes node answers everybody: the kubelet's two. A pod
// may use them nowhere, because it does not know all nodes' addresses.
var nodePorts = []element{
	{"10250", "kubelet", []byte{0x28, 0x0a}, nil}, {"10255", "kubelet, without asking who", []byte{0x28, 0x0f}, nil},
}

// validateGates is Validate for the gates.
func (p Policy) validateGates() error {
	if len(p.Gates) == 0 {
		if p.GateUser != 0 {
			return errors.New("a user of the gate, and no gate")
		}
		return nil
	}
	for _, g := range p.Gates {
		if a := g.Addr(); !g.IsValid() || g.Port() == 0 || a.IsUnspecified() || a.IsLoopback() || a.IsMulticast() {
			return fmt.Errorf("%v is not the address and port of a gate", g)
		}
		if g.Port() != p.Gates[0].Port() {
			return fmt.Errorf("the gates %v and %v have different ports: a pod's rules know one", p.Gates[0], g)
		}
	}
	if p.GateUser < 1 {
		return fmt.Errorf("the user who may reach the gate is number %d: it is to be one of its own, neither root nor nobody", p.GateUser)
	}
	return nil
}

// openGates puts the gate's rules before all others except loopback's, so that a flood by
// others in the same namespace does not count against the gate's user.
func (p *program) openGates(policy Policy) {
	if policy.Mode == Allowlist {
		p.sets = discoverySets()
	}
	p.sets = append(p.sets, gateSets(policy)...)
	for i, c := range p.chains {
		switch c.name {
		case "output":
			p.chains[i].rules = slices.Insert(slices.Clone(c.rules), 1, gateOutput(policy)...)
		case "input":
			p.chains[i].rules = slices.Insert(slices.Clone(c.rules), 1, gateInput(policy)...)
		}
	}
}

func gateSets(p Policy) []set {
	all := make([]netip.Addr, 0, len(p.Gates))
	for _, g := range p.Gates {
		all = append(all, plain(g.Addr()))
	}
	slices.SortFunc(all, netip.Addr.Compare)
	var four, six []element
	for _, a := range slices.Compact(all) {
		if one := prefixElement(netip.PrefixFrom(a, a.BitLen()), ""); a.Is4() {
			four = append(four, one)
		} else {
			six = append(six, one)
		}
	}
	return []set{
		{"gate4", "Ward's host, for one user alone.", nftables.TypeIPAddr, constant, four},
		{"gate6", "", nftables.TypeIP6Addr, constant, six},
		{"node_ports", "What answers on every node.", nftables.TypeInetService, constant, nodePorts},
	}
}

// gateOutput: packets without a socket, such as a closed one's last, have no user, hence the
// second pair. It lets no SYN through, so connections begin only by the first pair.
func gateOutput(p Policy) []rule {
	port, user := p.Gates[0].Port(), skuid(p.GateUser)
	return []rule{
		{"Without neighbour discovery IPv6 finds no gate.", []part{hopLimit255, icmp6Type("discovery_out"), accept}},
		{"One user reaches the gate,", []part{user, daddr("ip", "gate4"), tcpDport(port), accept}},
		{"", []part{user, daddr("ip6", "gate6"), tcpDport(port), accept}},
		{"with what its closed connections still have to say,", []part{daddr("ip", "gate4"), tcpDport(port), noSyn, ctState("established"), accept}},
		{"", []part{daddr("ip6", "gate6"), tcpDport(port), noSyn, ctState("established"), accept}},
		{"and nothing else;", []part{user, gotoRefuse}},
		{"the gate's host has nothing for others, on any port.", []part{daddr("ip", "gate4"), gotoRefuse}},
		{"", []part{daddr("ip6", "gate6"), gotoRefuse}},
		{"Nodes are found by nobody.", []part{dportIn("tcp", "node_ports"), gotoRefuse}},
	}
}

// gateInput lets the gate's answers in, whatever range its address is in.
func gateInput(p Policy) []rule {
	port := p.Gates[0].Port()
	return []rule{
		{"", []part{hopLimit255, icmp6Type("discovery_in"), accept}},
		{"The gate's answers.", []part{saddr("ip", "gate4"), tcpSport(port), ctState("established"), accept}},
		{"", []part{saddr("ip6", "gate6"), tcpSport(port), ctState("established"), accept}},
	}
}

// skuid matches packets of a user's sockets, by the user id in the namespace's owner.
func skuid(user int) part {
	return part{fmt.Sprintf("meta skuid %d", user), metaIs(expr.MetaKeySKUID, binaryutil.NativeEndian.PutUint32(uint32(user)))}
}

// noSyn matches TCP packets that open no connection.
var noSyn = part{"tcp flags & syn == 0x0", []expr.Any{load(expr.PayloadBaseTransportHeader, 13, 1), masked([]byte{0x02}), is(0)}}

func tcpDport(port uint16) part { return tcpPort("dport", 2, port) }
func tcpSport(port uint16) part { return tcpPort("sport", 0, port) }

func tcpPort(name string, offset uint32, port uint16) part {
	return part{fmt.Sprintf("tcp %s %d", name, port), append(l4proto("tcp").exprs,
		load(expr.PayloadBaseTransportHeader, offset, 2), is(binary.BigEndian.AppendUint16(nil, port)...))}
}
