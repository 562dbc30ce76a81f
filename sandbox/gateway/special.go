package gateway

import (
	"net"
	"net/netip"
)

// special are the addresses that are nobody's on the public network, the same
// classes as the firewall's (SBX-2): this network, private, shared, loopback,
// link-local, protocol assignments, benchmark, multicast and reserved; for IPv6
// also the forms that wrap an IPv4 address.
var special = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"168.63.129.16/32", // Azure's host agent: a public number, a private server
	"192.0.0.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4",
	"::/96",                          // unspecified, loopback, v4-compatible
	"::ffff:0:0/96",                  // v4-mapped
	"::ffff:0:0:0/96",                // v4-translated
	"64:ff9b::/96", "64:ff9b:1::/48", // NAT64
	"2001::/32", // Teredo
	"2002::/16", // 6to4
	"fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
)

func prefixes(texts ...string) []netip.Prefix {
	var list []netip.Prefix
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

func inAny(ip netip.Addr, list []netip.Prefix) bool {
	for _, p := range list {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// hostNetworks are the host's addresses with the networks that they are in. They
// are asked for anew each time, because a laptop's change.
func hostNetworks() ([]netip.Prefix, error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var list []netip.Prefix
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			list = append(list, p.Masked())
		}
	}
	return list, nil
}
