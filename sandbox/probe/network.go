package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// atOnce is how fast a refusal must be: an agent that runs into a timeout cannot tell a fence
// from a slow network.
const atOnce = time.Second

// forbidden is an address from each range that SBX-2 blocks.
var forbidden = []struct{ what, addr string }{
	{"private 10/8", "10.0.0.1"}, {"private 172.16/12", "172.16.0.1"}, {"private 192.168/16", "192.168.0.1"},
	{"link-local, cloud metadata", "169.254.169.254"}, {"shared 100.64/10", "100.64.0.1"},
	{"benchmark 198.18/15", "198.18.0.1"}, {"reserved 240/4", "240.0.0.1"}, {"this network 0/8", "0.1.2.3"},
	{"unique local fc00::/7", "fd00::1"}, {"site-local fec0::/10", "fec0::1"},
	{"NAT64", "64:ff9b::a00:1"}, {"6to4", "2002:a00:1::1"}, {"Teredo", "2001:0:1::1"},
}

func network(p *Surroundings) []attempt {
	var list []attempt
	for _, f := range forbidden {
		list = append(list, refusedTCP(f.what, f.addr, 80))
	}
	list = append(list,
		refusedMapped("v4-mapped", "::ffff:10.0.0.1", 80),
		refusedMapped("v4-mapped cloud metadata", "::ffff:169.254.169.254", 80),
		refusedUDP("multicast", "224.0.0.251", 5353),
		refusedUDP("multicast, IPv6", "ff05::fb", 5353))
	if i := outward(); i != "" {
		list = append(list, refusedTCP("link-local, IPv6", "fe80::1%"+i, 80))
	}
	for _, host := range p.Hosts {
		list = append(list, refusedTCP("the host's own address", host, 22))
	}
	for _, at := range p.Refused {
		to, err := netip.ParseAddrPort(at)
		if err != nil { // the attempt reports it and fails
			list = append(list, refusedTCP("the pod's surroundings", at, 0))
			continue
		}
		list = append(list, refusedTCP("the pod's surroundings", to.Addr().String(), to.Port()))
	}
	if p.Resolver != "" {
		list = append(list, refusedTCP("the resolver, another port", p.Resolver, 80))
	}
	list = append(list,
		refusedTCP("DNS over TCP to another server", "203.0.113.53", 53),
		refusedUDP("DNS to another server", "203.0.113.53", 53))
	if p.Egress == "allowlist" {
		list = append(list, refusedTCP("a public address (no route out)", "203.0.113.80", 443),
			refusedTCP("a public address, IPv6 (no route out)", "2001:db8::80", 443))
	}
	return list
}

func refusedTCP(what, addr string, port uint16) attempt {
	return attempt{"SBX-2", fmt.Sprintf("refused at once: %s, %s tcp %d", what, addr, port), func(ctx context.Context, _ *Surroundings) (bool, string) {
		to, err := netip.ParseAddr(addr)
		if err != nil {
			return false, err.Error()
		}
		ctx, cancel := context.WithTimeout(ctx, 3*atOnce)
		defer cancel()
		start := time.Now()
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", netip.AddrPortFrom(to, port).String())
		if err == nil {
			conn.Close()
			return false, "CONNECTED"
		}
		return refusal(err, time.Since(start))
	}}
}

// refusedMapped tries an IPv4 address over an IPv6 socket; the net package would use an IPv4
// socket.
func refusedMapped(what, addr string, port uint16) attempt {
	return attempt{"SBX-2", fmt.Sprintf("refused at once: %s, [%s] tcp %d", what, addr, port), func(context.Context, *Surroundings) (bool, string) {
		fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return false, err.Error()
		}
		defer unix.Close(fd)
		wait := unix.NsecToTimeval(int64(3 * atOnce))
		if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &wait); err != nil {
			return false, err.Error()
		}
		start := time.Now()
		err = unix.Connect(fd, &unix.SockaddrInet6{Port: int(port), Addr: netip.MustParseAddr(addr).As16()})
		if err == nil {
			return false, "CONNECTED"
		}
		return refusal(err, time.Since(start))
	}}
}

// outward is the interface of the default route, "" for none.
func outward() string {
	all, _ := net.Interfaces()
	for _, i := range all {
		if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 {
			return i.Name
		}
	}
	return ""
}

// refusal reports whether an error is a fence's refusal, and fast enough.
func refusal(err error, took time.Duration) (bool, string) {
	for _, errno := range []syscall.Errno{syscall.ECONNREFUSED, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EACCES,
		syscall.EPERM, syscall.EINVAL, syscall.EADDRNOTAVAIL, syscall.ECONNRESET} {
		if errors.Is(err, errno) {
			return took < atOnce, fmt.Sprintf("%v after %d ms", errno, took.Milliseconds())
		}
	}
	return false, fmt.Sprintf("not refused at once: %v", err)
}

func refusedUDP(what, addr string, port uint16) attempt {
	return attempt{"SBX-2", fmt.Sprintf("refused at once: %s, %s udp %d", what, addr, port), func(context.Context, *Surroundings) (bool, string) {
		to := net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(addr), port))
		start := time.Now()
		conn, err := net.DialUDP("udp", nil, to)
		if err != nil {
			return refusal(err, time.Since(start))
		}
		defer conn.Close()
		conn.SetDeadline(start.Add(3 * atOnce))
		if _, err = conn.Write(query); err == nil {
			_, err = conn.Read(make([]byte, 512))
		}
		if err == nil {
			return false, "ANSWERED"
		}
		return refusal(err, time.Since(start))
	}}
}

// query asks for the root's name servers (RFC 1035).
var query = []byte{0x12, 0x34, 0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1}
