package firewall

import (
	"fmt"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// rule is a list of matches with a verdict, and its reason.
type rule struct {
	why   string
	parts []part
}

// part is one match or verdict: its nft text, and nft's expressions for it. A test loads both
// and compares the results in the kernel.
type part struct {
	text  string
	exprs []expr.Any
}

// exprs are all parts' expressions, in order.
func (r rule) exprs() []expr.Any {
	var all []expr.Any
	for _, p := range r.parts {
		all = append(all, p.exprs...)
	}
	return all
}

// reg is the register that every match loads and compares.
const reg = 1

// loopbackIndex is lo's index in every network namespace. The rules match it, because the name
// can be changed.
const loopbackIndex = 1

// The verdicts. A drop without an answer is the policy of base chains only.
var (
	accept     = part{"accept", []expr.Any{&expr.Verdict{Kind: expr.VerdictAccept}}}
	drop       = part{"drop", []expr.Any{&expr.Verdict{Kind: expr.VerdictDrop}}}
	gotoRefuse = goTo("refuse")

	tcpReset        = part{"reject with tcp reset", []expr.Any{&expr.Reject{Type: unix.NFT_REJECT_TCP_RST}}}
	adminProhibited = part{"reject with icmpx admin-prohibited", []expr.Any{
		&expr.Reject{Type: unix.NFT_REJECT_ICMPX_UNREACH, Code: unix.NFT_REJECT_ICMPX_ADMIN_PROHIBITED},
	}}
)

func goTo(chain string) part {
	return part{"goto " + chain, []expr.Any{&expr.Verdict{Kind: expr.VerdictGoto, Chain: chain}}}
}

// Matches without a parameter.
var (
	oifLoopback = part{`oif "lo"`, metaIs(expr.MetaKeyOIF, binaryutil.NativeEndian.PutUint32(loopbackIndex))}
	iifLoopback = part{`iif "lo"`, metaIs(expr.MetaKeyIIF, binaryutil.NativeEndian.PutUint32(loopbackIndex))}
	hopLimit255 = part{"ip6 hoplimit 255", append(family("ip6"), load(expr.PayloadBaseNetworkHeader, 7, 1), is(255))}
	// 5 words: a header without options.
	ipOptions = part{"ip hdrlength != 5", append(family("ip"), load(expr.PayloadBaseNetworkHeader, 0, 1), masked([]byte{0x0f}), isNot(5))}
	// Byte 8 of the destination, see zeroOctet.
	notZeroOctet = part{"@nh,256,8 != 0x0", []expr.Any{load(expr.PayloadBaseNetworkHeader, 24+zeroOctet, 1), isNot(0)}}
	// The source is none of the interface's current addresses.
	foreignSource = part{"fib saddr . oif type != local", []expr.Any{
		&expr.Fib{Register: reg, ResultADDRTYPE: true, FlagSADDR: true, FlagOIF: true},
		isNot(binaryutil.NativeEndian.PutUint32(unix.RTN_LOCAL)...),
	}}
	ping4 = part{"icmp type echo-request", slices.Concat(family("ip"), l4proto("icmp").exprs, []expr.Any{load(expr.PayloadBaseTransportHeader, 0, 1), is(8)})}
	ping6 = part{"icmpv6 type echo-request", slices.Concat(family("ip6"), l4proto("ipv6-icmp").exprs, []expr.Any{load(expr.PayloadBaseTransportHeader, 0, 1), is(128)})}
)

// ctState matches a connection's state.
func ctState(name string) part {
	bit := map[string]uint32{"established": expr.CtStateBitESTABLISHED, "related": expr.CtStateBitRELATED}[name]
	return part{"ct state " + name, []expr.Any{
		&expr.Ct{Key: expr.CtKeySTATE, Register: reg}, masked(binaryutil.NativeEndian.PutUint32(bit)), isNot(0, 0, 0, 0),
	}}
}

// ctFirst matches the packet that creates a connection table entry. A retransmission is still
// "new" but creates none.
var ctFirst = part{"ct status ! confirmed", []expr.Any{
	&expr.Ct{Key: expr.CtKeySTATUS, Register: reg}, masked(binaryutil.NativeEndian.PutUint32(ctConfirmed)), is(0, 0, 0, 0),
}}

// ctConfirmed is the kernel's IPS_CONFIRMED, which x/sys does not have.
const ctConfirmed = 1 << 3

// openOver matches when more than so many connections are open.
func openOver(count int) part {
	return part{fmt.Sprintf("ct count over %d", count), []expr.Any{&expr.Connlimit{Count: uint32(count), Flags: expr.NFT_CONNLIMIT_F_INV}}}
}

// moreThan matches packets beyond a rate and a burst.
func moreThan(rate int, unit expr.LimitTime, burst int) part {
	per := map[expr.LimitTime]string{expr.LimitTimeSecond: "second", expr.LimitTimeMinute: "minute"}[unit]
	return part{fmt.Sprintf("limit rate over %d/%s burst %d packets", rate, per, burst), []expr.Any{
		&expr.Limit{Type: expr.LimitTypePkts, Rate: uint64(rate), Unit: unit, Burst: uint32(burst), Over: true},
	}}
}

// moreBytesThan is moreThan for bytes a second; the kernel adds the rate to the burst.
func moreBytesThan(rate, atOnce int) part {
	return part{fmt.Sprintf("limit rate over %d bytes/second burst %d bytes", rate, atOnce-rate), []expr.Any{
		&expr.Limit{Type: expr.LimitTypePktBytes, Rate: uint64(rate), Unit: expr.LimitTimeSecond, Burst: uint32(atOnce - rate), Over: true},
	}}
}

// daddr and saddr match an address in a set. The family ("ip", "ip6") is matched first,
// because in an inet table the same offset means something else in the other family.
func daddr(fam, set string) part {
	offset, size := uint32(16), uint32(4)
	if fam == "ip6" {
		offset, size = 24, 16
	}
	return part{fam + " daddr @" + set, append(family(fam), load(expr.PayloadBaseNetworkHeader, offset, size), in(set))}
}

func saddr(fam, set string) part {
	offset, size := uint32(12), uint32(4)
	if fam == "ip6" {
		offset, size = 8, 16
	}
	return part{fam + " saddr @" + set, append(family(fam), load(expr.PayloadBaseNetworkHeader, offset, size), in(set))}
}

// noted puts the destination into a dynamic set. Where that is full the rule ends there.
func noted(fam, set string) part {
	to := daddr(fam, set)
	last := len(to.exprs) - 1
	return part{fmt.Sprintf("add @%s { %s daddr }", set, fam), append(to.exprs[:last:last],
		&expr.Dynset{SrcRegKey: reg, SetName: set, Operation: unix.NFT_DYNSET_OP_ADD})}
}

// nextHeaderNotIn matches IPv6 packets by the header right after theirs. `meta l4proto` would
// skip extension headers.
func nextHeaderNotIn(set string) part {
	return part{"ip6 nexthdr != @" + set, append(family("ip6"), load(expr.PayloadBaseNetworkHeader, 6, 1),
		&expr.Lookup{SourceRegister: reg, SetName: set, Invert: true})}
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

var protocolNumbers = map[string]byte{"tcp": unix.IPPROTO_TCP, "udp": unix.IPPROTO_UDP, "icmp": unix.IPPROTO_ICMP, "ipv6-icmp": unix.IPPROTO_ICMPV6}

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

func isNot(data ...byte) expr.Any {
	return &expr.Cmp{Op: expr.CmpOpNeq, Register: reg, Data: data}
}

// masked keeps some bits of the loaded value.
func masked(mask []byte) expr.Any {
	return &expr.Bitwise{SourceRegister: reg, DestRegister: reg, Len: uint32(len(mask)), Mask: mask, Xor: make([]byte, len(mask))}
}

// in looks up in a set by its name, which the kernel finds in the same batch.
func in(set string) expr.Any { return &expr.Lookup{SourceRegister: reg, SetName: set} }
