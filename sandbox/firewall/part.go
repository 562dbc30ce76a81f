package firewall

import (
	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// rule is a row of matches that ends in a verdict, and why it is there.
type rule struct {
	why   string
	parts []part
}

// part is one match or verdict: nft's words, and the expressions that nft makes
// of them. A test loads both and compares what the kernel then has.
type part struct {
	text  string
	exprs []expr.Any
}

// exprs are the expressions of all parts, in order.
func (r rule) exprs() []expr.Any {
	var all []expr.Any
	for _, p := range r.parts {
		all = append(all, p.exprs...)
	}
	return all
}

// reg is the register that every match loads and compares.
const reg = 1

// loopbackIndex is lo's in every network namespace. The index is matched and
// not the name, which can be changed.
const loopbackIndex = 1

// The verdicts. A drop without an answer is the policy of base chains only.
var (
	accept     = part{"accept", []expr.Any{&expr.Verdict{Kind: expr.VerdictAccept}}}
	gotoRefuse = part{"goto refuse", []expr.Any{&expr.Verdict{Kind: expr.VerdictGoto, Chain: "refuse"}}}

	tcpReset        = part{"reject with tcp reset", []expr.Any{&expr.Reject{Type: unix.NFT_REJECT_TCP_RST}}}
	adminProhibited = part{"reject with icmpx admin-prohibited", []expr.Any{
		&expr.Reject{Type: unix.NFT_REJECT_ICMPX_UNREACH, Code: unix.NFT_REJECT_ICMPX_ADMIN_PROHIBITED},
	}}
)

// Matches without a parameter.
var (
	oifLoopback = part{`oif "lo"`, metaIs(expr.MetaKeyOIF, binaryutil.NativeEndian.PutUint32(loopbackIndex))}
	iifLoopback = part{`iif "lo"`, metaIs(expr.MetaKeyIIF, binaryutil.NativeEndian.PutUint32(loopbackIndex))}
	hopLimit255 = part{"ip6 hoplimit 255", append(family("ip6"), load(expr.PayloadBaseNetworkHeader, 7, 1), is(255))}
	ctAnswer    = part{"ct state established,related", []expr.Any{
		&expr.Ct{Key: expr.CtKeySTATE, Register: reg},
		&expr.Bitwise{
			SourceRegister: reg, DestRegister: reg, Len: 4, Xor: make([]byte, 4),
			Mask: binaryutil.NativeEndian.PutUint32(expr.CtStateBitESTABLISHED | expr.CtStateBitRELATED),
		},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: reg, Data: make([]byte, 4)},
	}}
)

// daddr matches a destination in a set. A family ("ip", "ip6") comes first: in
// an inet table the same offset means another thing in the other family.
func daddr(fam, set string) part {
	offset, size := uint32(16), uint32(4)
	if fam == "ip6" {
		offset, size = 24, 16
	}
	return part{fam + " daddr @" + set, append(family(fam), load(expr.PayloadBaseNetworkHeader, offset, size), in(set))}
}

// dport matches port 53 of a transport protocol, dportIn a set of ports.
func dport(proto string) part {
	return part{proto + " dport 53", append(l4proto(proto).exprs, load(expr.PayloadBaseTransportHeader, 2, 2), is(0, 53))}
}

func dportIn(proto, set string) part {
	return part{proto + " dport @" + set, append(l4proto(proto).exprs, load(expr.PayloadBaseTransportHeader, 2, 2), in(set))}
}

func icmp6Type(set string) part {
	return part{"icmpv6 type @" + set, append(l4proto("ipv6-icmp").exprs, load(expr.PayloadBaseTransportHeader, 0, 1), in(set))}
}

// optionNumbers are the numbers of IPv4 options (RFC 791).
var optionNumbers = map[string]uint8{"lsrr": 131, "ssrr": 137}

// extHdrIPv4 is the kernel's NFT_EXTHDR_OP_IPV4, which x/sys does not have.
const extHdrIPv4 expr.ExthdrOp = 2

// ipOption matches a packet that has an option.
func ipOption(name string) part {
	return part{"ip option " + name + " exists", append(family("ip"),
		&expr.Exthdr{DestRegister: reg, Type: optionNumbers[name], Len: 1, Flags: unix.NFT_EXTHDR_F_PRESENT, Op: extHdrIPv4}, is(1))}
}

var protocolNumbers = map[string]byte{"tcp": unix.IPPROTO_TCP, "udp": unix.IPPROTO_UDP, "ipv6-icmp": unix.IPPROTO_ICMPV6}

func l4proto(name string) part {
	return part{"meta l4proto " + name, metaIs(expr.MetaKeyL4PROTO, []byte{protocolNumbers[name]})}
}

func l4protoIn(set string) part {
	return part{"meta l4proto @" + set, []expr.Any{&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: reg}, in(set)}}
}

func family(name string) []expr.Any {
	number := byte(nftables.TableFamilyIPv4)
	if name == "ip6" {
		number = byte(nftables.TableFamilyIPv6)
	}
	return metaIs(expr.MetaKeyNFPROTO, []byte{number})
}

func metaIs(key expr.MetaKey, data []byte) []expr.Any {
	return []expr.Any{&expr.Meta{Key: key, Register: reg}, is(data...)}
}

func load(base expr.PayloadBase, offset, size uint32) expr.Any {
	return &expr.Payload{DestRegister: reg, Base: base, Offset: offset, Len: size}
}

func is(data ...byte) expr.Any {
	return &expr.Cmp{Op: expr.CmpOpEq, Register: reg, Data: data}
}

// in looks up in a set by its name: the kernel finds it in the same batch.
func in(set string) expr.Any { return &expr.Lookup{SourceRegister: reg, SetName: set} }
