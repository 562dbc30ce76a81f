package firewall

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// HostFacts gives the addresses and the non-default routes of the network
// namespace that the caller is in, for a Policy. All routing tables count, so
// that policy routing (VPNs, overlay networks) hides nothing.
//
// What some VPNs write in place of a default route, halves of an address space
// or 2000::/3, counts as one: it says nothing about who is behind it.
func HostFacts(ctx context.Context) ([]netip.Addr, []netip.Prefix, error) {
	addrs, err := hostAddrs(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("the host's addresses: %w", err)
	}
	routes, err := hostRoutes(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("the host's routes: %w", err)
	}
	return addrs, routes, nil
}

func hostAddrs(ctx context.Context) ([]netip.Addr, error) {
	messages, err := dump(ctx, unix.NETLINK_ROUTE, 0, unix.RTM_GETADDR, make([]byte, unix.SizeofIfAddrmsg))
	if err != nil {
		return nil, err
	}
	var addrs []netip.Addr
	for _, m := range messages {
		if len(m.Data) < unix.SizeofIfAddrmsg {
			return nil, fmt.Errorf("a message of %d bytes", len(m.Data))
		}
		ad, err := netlink.NewAttributeDecoder(m.Data[unix.SizeofIfAddrmsg:])
		if err != nil {
			return nil, err
		}
		for ad.Next() {
			// On a point-to-point link LOCAL is the host's own address and ADDRESS the peer's.
			switch ad.Type() {
			case unix.IFA_LOCAL, unix.IFA_ADDRESS, unix.IFA_BROADCAST, unix.IFA_ANYCAST:
				if a, ok := netip.AddrFromSlice(ad.Bytes()); ok {
					addrs = append(addrs, a)
				}
			}
		}
		if err := ad.Err(); err != nil {
			return nil, err
		}
	}
	return addrs, nil
}

func hostRoutes(ctx context.Context) ([]netip.Prefix, error) {
	messages, err := dump(ctx, unix.NETLINK_ROUTE, 0, unix.RTM_GETROUTE, make([]byte, unix.SizeofRtMsg))
	if err != nil {
		return nil, err
	}
	var routes []netip.Prefix
	for _, m := range messages {
		p, err := route(m.Data)
		if err != nil {
			return nil, err
		}
		if p.IsValid() && !isDefault(p) {
			routes = append(routes, p)
		}
	}
	return routes, nil
}

// route gives the destination of a struct rtmsg, and none for cached exceptions and other
// families.
func route(data []byte) (netip.Prefix, error) {
	if len(data) < unix.SizeofRtMsg {
		return netip.Prefix{}, fmt.Errorf("a message of %d bytes", len(data))
	}
	family, bits := data[0], int(data[1])
	cloned := binary.NativeEndian.Uint32(data[8:])&unix.RTM_F_CLONED != 0
	if cloned || family != unix.AF_INET && family != unix.AF_INET6 || bits == 0 {
		return netip.Prefix{}, nil
	}
	ad, err := netlink.NewAttributeDecoder(data[unix.SizeofRtMsg:])
	if err != nil {
		return netip.Prefix{}, err
	}
	var dst []byte
	for ad.Next() {
		if ad.Type() == unix.RTA_DST {
			dst = bytes.Clone(ad.Bytes())
		}
	}
	a, ok := netip.AddrFromSlice(dst)
	p := netip.PrefixFrom(a, bits)
	if ad.Err() == nil && (!ok || !p.IsValid()) {
		return netip.Prefix{}, fmt.Errorf("a route to %x/%d", dst, bits)
	}
	return p, ad.Err()
}

var globalUnicast = netip.MustParsePrefix("2000::/3")

func isDefault(p netip.Prefix) bool { return p.Bits() <= 1 || p == globalUnicast }
