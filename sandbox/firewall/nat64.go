package firewall

import (
	"bytes"
	"net/netip"
	"slices"
)

// translatorLengths are those of NAT64 prefixes (RFC 6052, section 2.2).
var translatorLengths = []int{32, 40, 48, 56, 64, 96}

// zeroOctet is the byte that a NAT64 prefix shorter than 96 bits skips, and that must be 0.
// Some translators ignore its value.
const zeroOctet = 8

func isTranslator(p netip.Prefix) bool {
	return p.IsValid() && p.Addr().Is6() && slices.Contains(translatorLengths, p.Bits())
}

// short gives the prefixes that have a zero octet and that the fixed table does not refuse
// completely, in order.
func (p Policy) short() (all []netip.Prefix) {
	for _, t := range merge(p.Translators) {
		if t.Bits() < 96 && !isReserved(t) {
			all = append(all, t)
		}
	}
	return all
}

// translated gives the translators' forms of the fixed table's and a list's IPv4 addresses.
func (p Policy) translated(list []netip.Prefix) (all []netip.Prefix) {
	for _, t := range p.Translators {
		for _, r := range reservedPrefixes {
			if r.prefix.Addr().Is4() {
				all = append(all, translate(t, r.prefix))
			}
		}
		for _, four := range list {
			if four.Addr().Is4() {
				all = append(all, translate(t, four))
			}
		}
	}
	return all
}

// translate maps an IPv4 prefix into a translator's.
func translate(t, four netip.Prefix) netip.Prefix {
	a, begin := t.Masked().Addr().As16(), t.Bits()/8
	bits := t.Bits() + four.Bits()
	for i, b := range four.Masked().Addr().AsSlice() {
		at := begin + i
		if begin <= zeroOctet && at >= zeroOctet {
			at++
		}
		a[at] = b
	}
	if begin <= zeroOctet && bits > zeroOctet*8 {
		bits += 8
	}
	return netip.PrefixFrom(netip.AddrFrom16(a), bits).Masked()
}

// wellKnown are the IPv4 addresses of ipv4only.arpa (RFC 7050). If an IPv6 address of that
// name ends in one, the rest is a translator's prefix.
var wellKnown = [][]byte{{192, 0, 0, 170}, {192, 0, 0, 171}}

// Translators gives the NAT64 prefixes that IPv6 addresses of ipv4only.arpa tell. An
// address may be read in more than one way: then all of them count.
func Translators(addrs []netip.Addr) (all []netip.Prefix) {
	for _, a := range addrs {
		if !a.Is6() || a.Is4In6() {
			continue
		}
		for _, bits := range translatorLengths {
			p := netip.PrefixFrom(a.WithZone(""), bits).Masked()
			found := slices.ContainsFunc(wellKnown, func(four []byte) bool {
				want := translate(p, netip.PrefixFrom(netip.AddrFrom4([4]byte(four)), 32))
				return contains(want, netip.PrefixFrom(a.WithZone(""), 128))
			})
			if found && !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	slices.SortFunc(all, func(a, b netip.Prefix) int { return bytes.Compare(a.Addr().AsSlice(), b.Addr().AsSlice()) })
	return all
}
