package firewall

import (
	"net/netip"
	"slices"
)

// reserved is a prefix that no container may reach, and why.
type reserved struct {
	prefix netip.Prefix
	why    string
}

// reservedPrefixes is the fixed part of SBX-2: everything that is not the public
// Internet or that hides a private IPv4 address in a public IPv6 one. They are
// disjoint and in order, as interval sets must be.
//
// The documentation prefixes (203.0.113.0/24, 2001:db8::/32 and others) are
// open: nobody is there, and the tests use them as the public side.
var reservedPrefixes = []reserved{
	{netip.MustParsePrefix("0.0.0.0/8"), "this network; 0.0.0.0 is another name of localhost"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private (RFC 1918)"},
	{netip.MustParsePrefix("100.64.0.0/10"), "carrier-grade NAT, overlay networks, Alibaba's metadata"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback, bound to leave by another interface"},
	{netip.MustParsePrefix("168.63.129.16/32"), "Azure's host agent: a public number, a private server"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local, clouds' metadata"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private (RFC 1918)"},
	{netip.MustParsePrefix("192.0.0.0/24"), "protocol assignments, DS-Lite, Oracle's metadata"},
	{netip.MustParsePrefix("192.88.99.0/24"), "6to4 relays"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private (RFC 1918)"},
	{netip.MustParsePrefix("198.18.0.0/15"), "benchmarks (RFC 2544)"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved, and the broadcast address"},

	{netip.MustParsePrefix("::/96"), "unspecified, loopback elsewhere, IPv4-compatible"},
	{netip.MustParsePrefix("::ffff:0:0/96"), "IPv4-mapped"},
	{netip.MustParsePrefix("::ffff:0:0:0/96"), "IPv4-translated (RFC 2765)"},
	{netip.MustParsePrefix("64:ff9b::/96"), "NAT64: an IPv4 address behind a translator"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "NAT64, local use (RFC 8215)"},
	{netip.MustParsePrefix("2001::/32"), "Teredo: an IPv4 address behind a tunnel"},
	{netip.MustParsePrefix("2002::/16"), "6to4: an IPv4 address behind a tunnel"},
	{netip.MustParsePrefix("fc00::/7"), "unique local, clouds' metadata"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("fec0::/10"), "site-local, deprecated"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
}

// Reserved reports whether an address is off limits to every container. The kernel's rules and
// the gateway refuse by the same table.
func Reserved(a netip.Addr) bool {
	a = plain(a)
	return isReserved(netip.PrefixFrom(a, a.BitLen()))
}

// isReserved says whether the fixed table refuses all of a prefix.
func isReserved(p netip.Prefix) bool {
	return slices.ContainsFunc(reservedPrefixes, func(r reserved) bool { return contains(r.prefix, p) })
}

// contains reports whether inner lies in outer. Two prefixes nest or are disjoint.
func contains(outer, inner netip.Prefix) bool {
	return outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr())
}

// merge gives the same addresses as disjoint prefixes in order, IPv4 first.
func merge(prefixes []netip.Prefix) []netip.Prefix {
	sorted := make([]netip.Prefix, len(prefixes))
	for i, p := range prefixes {
		sorted[i] = unmapPrefix(p).Masked()
	}
	slices.SortFunc(sorted, func(a, b netip.Prefix) int {
		if c := a.Addr().Compare(b.Addr()); c != 0 {
			return c
		}
		return a.Bits() - b.Bits() // shorter prefixes first, because they contain the others
	})
	var merged []netip.Prefix
	for _, p := range sorted {
		if n := len(merged); n == 0 || !contains(merged[n-1], p) {
			merged = append(merged, p)
		}
	}
	return merged
}

// unmapPrefix writes ::ffff:10.0.0.0/104 as 10.0.0.0/8.
func unmapPrefix(p netip.Prefix) netip.Prefix {
	if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(a.Unmap(), p.Bits()-96)
	}
	return p
}

// last is the highest address of a prefix.
func last(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}
