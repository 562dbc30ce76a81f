package gateway

import (
	"net"
	"net/netip"
	"slices"
)

// inAny reports whether an address is in one of the prefixes.
func inAny(ip netip.Addr, list []netip.Prefix) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// hostNetworks are the host's addresses with their networks, read each time because a laptop's
// change.
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
