package probe

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// packets hide their destination, fake their source, or use a protocol that no program in a
// fence needs. They go to documentation addresses.
func packets(*Surroundings) []attempt {
	const four, six = "203.0.113.80", "2001:db8::80"
	list := []attempt{
		refusedPacket("a source route, by IPv4", four, unix.SOCK_DGRAM, 0, func(fd int) error {
			hop := netip.MustParseAddr("203.0.113.81").AsSlice()
			return keep(fd, unix.IPPROTO_IP, unix.IP_OPTIONS, string(append([]byte{1, 131, 7, 4}, hop...)))
		}),
		refusedPacket("segment routing, by IPv6", six, unix.SOCK_DGRAM, 0, func(fd int) error {
			segments := slices.Concat([]byte{0, 4, 4, 1, 1, 0, 0, 0}, netip.MustParseAddr("fd00::1").AsSlice(), netip.MustParseAddr(six).AsSlice())
			return keep(fd, unix.IPPROTO_IPV6, unix.IPV6_RTHDR, string(segments))
		}),
		refusedPacket("another's address as the source, by IPv6", six, unix.SOCK_DGRAM, 0, func(fd int) error {
			return errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_FREEBIND, 1),
				unix.Bind(fd, &unix.SockaddrInet6{Addr: netip.MustParseAddr("2001:db8:1::80").As16()}))
		}),
	}
	for _, p := range []struct {
		what           string
		kind, protocol int
	}{
		{"SCTP", unix.SOCK_SEQPACKET, unix.IPPROTO_SCTP}, {"UDP-Lite", unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE},
		{"DCCP", unix.SOCK_DCCP, unix.IPPROTO_DCCP}, {"L2TP", unix.SOCK_DGRAM, unix.IPPROTO_L2TP},
	} {
		list = append(list, refusedPacket(p.what, four, p.kind, p.protocol, nil), refusedPacket(p.what+", by IPv6", six, p.kind, p.protocol, nil))
	}
	return list
}

// keep sets an option in a socket's headers. A sandbox's own kernel may accept the call but
// ignore the option: then no packet would carry it.
func keep(fd, level, name int, value string) error {
	if err := unix.SetsockoptString(fd, level, name, value); err != nil {
		return err
	}
	if kept, err := unix.GetsockoptString(fd, level, name); err != nil || kept == "" {
		return errors.New("the option is not kept")
	}
	return nil
}

// refusedPacket sends one packet from a prepared socket. A socket that cannot be made is a
// refusal, too.
func refusedPacket(what, addr string, kind, protocol int, ready func(fd int) error) attempt {
	return attempt{"SBX-2", fmt.Sprintf("refused at once: %s, to %s", what, addr), func(context.Context, *Surroundings) (bool, string) {
		to := netip.MustParseAddr(addr)
		family, address := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: 9, Addr: to.As16()})
		if to.Is4() {
			family, address = unix.AF_INET, &unix.SockaddrInet4{Port: 9, Addr: to.As4()}
		}
		fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, protocol)
		if err != nil {
			return true, fmt.Sprintf("no such socket: %v", err)
		}
		defer unix.Close(fd)
		if ready != nil {
			if err := ready(fd); err != nil {
				return true, fmt.Sprintf("cannot be asked for: %v", err)
			}
		}
		start := time.Now()
		if err = unix.Connect(fd, address); err == nil {
			_, err = unix.Write(fd, query)
		}
		if err == nil || errors.Is(err, unix.EINPROGRESS) {
			return false, "SENT"
		}
		return refusal(err, time.Since(start))
	}}
}

// connections fills a fence's connection limit with packets to an unused address.
func connections(p *Surroundings) []attempt {
	const more = 64 // beyond the limit: a few may have closed meanwhile
	what := fmt.Sprintf("refused at once: more than %d connections", p.Connections)
	return []attempt{{"SBX-2", what, func(context.Context, *Surroundings) (bool, string) {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return false, err.Error()
		}
		defer unix.Close(fd)
		for n := range p.Connections + more {
			to := &unix.SockaddrInet4{Port: 1024 + n%64_000, Addr: [4]byte{203, 0, 113, byte(80 + n/64_000)}}
			if err := unix.Sendto(fd, query, 0, to); err != nil && !errors.Is(err, unix.ECONNREFUSED) && !errors.Is(err, unix.EHOSTUNREACH) {
				return true, fmt.Sprintf("%v after %d", err, n)
			}
		}
		return false, "NOT REFUSED"
	}}}
}

// names asks the resolver for more names at once than a fence may, many with one call: a rule
// that counts packets would see only a few.
func names(p *Surroundings) []attempt {
	resolver, err := netip.ParseAddr(p.Resolver)
	if err != nil || p.Names == 0 {
		return nil
	}
	to := netip.AddrPortFrom(resolver, 53)
	return []attempt{
		{"SBX-2", fmt.Sprintf("refused at once: more than %d questions for names, in packets that the kernel parts", p.Names),
			func(context.Context, *Surroundings) (bool, string) {
				return askMany(unix.SOCK_DGRAM, to, p.Names, nil, func(fd int) error {
					return unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_SEGMENT, questionBytes)
				})
			}},
		{"SBX-2", fmt.Sprintf("refused at once: more than %d questions for names, in one connection", p.Names),
			func(context.Context, *Surroundings) (bool, string) {
				return askMany(unix.SOCK_STREAM, to, p.Names, []byte{0, questionBytes}, func(int) error { return nil })
			}},
	}
}

const (
	// together is how many questions one call carries: as many as older kernels split.
	together = 64
	// questionBytes is the length of each.
	questionBytes = 12 + 1 + 18 + 1 + 7 + 1 + 4
)

// askMany sends ten times as many questions as a fence may ask at once, each preceded by
// frame; those of the previous attempt count, too. A missing resolver is not a refusal. A
// stream is refused by a reset.
func askMany(kind int, to netip.AddrPort, burst int, frame []byte, ready func(fd int) error) (bool, string) {
	family, address := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()})
	if to.Addr().Is4() {
		family, address = unix.AF_INET, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false, err.Error()
	}
	defer unix.Close(fd)
	wait := unix.NsecToTimeval(int64(atOnce))
	if err := errors.Join(unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &wait), unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait)); err != nil {
		return false, err.Error()
	}
	if err := unix.Connect(fd, address); err != nil {
		return true, fmt.Sprintf("nobody answers there: %v", err)
	}
	if err := ready(fd); err != nil {
		return true, fmt.Sprintf("cannot be asked for: %v", err)
	}
	answer, sent := make([]byte, 64<<10), 0
	for ; sent < 10*burst; sent += together {
		var all []byte
		for i := range together {
			all = append(append(all, frame...), question(sent+i)...)
		}
		if err = unix.Sendto(fd, all, unix.MSG_NOSIGNAL, nil); err == nil {
			_, _, err = unix.Recvfrom(fd, answer, unix.MSG_DONTWAIT)
		}
		if err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.ECONNREFUSED) {
			break
		}
	}
	for _, refused := range []unix.Errno{unix.EPERM, unix.EHOSTUNREACH, unix.EACCES, unix.ECONNRESET, unix.EPIPE} {
		if errors.Is(err, refused) {
			return true, fmt.Sprintf("%v after %d", err, sent)
		}
	}
	return false, fmt.Sprintf("NOT REFUSED: %d sent, %v", sent, err)
}

// question asks for a name that nobody has and no name server forwards (RFC 6761).
func question(n int) []byte {
	q := append([]byte{byte(n >> 8), byte(n), 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 18}, fmt.Sprintf("%018d", n)...)
	return append(append(q, 7), "invalid\x00\x00\x01\x00\x01"...)
}
