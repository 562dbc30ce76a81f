package lab

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Attempt is one try to reach something.
type Attempt struct {
	What  string     // in words, for tables
	Proto string     // tcp, udp, icmp, unix, or a protocol number, for which only a refusal is reported
	Path  string     // of a unix socket; @NAME is an abstract one
	To    netip.Addr // with a zone if it needs one; ::ffff:a.b.c.d is used through an IPv6 socket
	Port  int
	Via   string // an interface to bind to
	From  string // source address; need not be the machine's own
	First string // the first hop of a source route to To; for IPv6, of segment routing
	Exact bool   // a strict source route
	Quiet bool   // the kernel cannot report a refusal to this socket
}

func (a Attempt) String() string {
	if a.Proto == "unix" {
		return "unix " + a.Path
	}
	s := fmt.Sprintf("%s %v", a.Proto, a.To)
	if a.Port != 0 {
		s += fmt.Sprintf(" port %d", a.Port)
	}
	if a.Via != "" {
		s += " by " + a.Via
	}
	if a.From != "" {
		s += " from " + a.From
	}
	if a.First != "" {
		s += " through " + a.First
	}
	return s
}

// Wire returns the sniffer's description of the attempt's packets.
func (a Attempt) Wire() string {
	to := a.To.Unmap().WithZone("")
	if a.First != "" {
		to = netip.MustParseAddr(a.First)
	}
	if n, err := strconv.Atoi(a.Proto); err == nil {
		return fmt.Sprintf("protocol %d %v", n, to)
	}
	if a.First != "" && to.Is6() {
		return fmt.Sprintf("protocol %d %v", unix.IPPROTO_ROUTING, to)
	}
	return fmt.Sprintf("%s %v %d", a.Proto, to, a.Port)
}

// Outcome is the result of an attempt; Err is "" if an answer came.
type Outcome struct {
	Err     string
	Timeout bool // nothing came
	Took    time.Duration
}

func (o Outcome) String() string {
	if o.Err == "" {
		return "answered"
	}
	return o.Err
}

const wait = time.Second // timeout for an answer or a refusal

func tryAll(attempts []Attempt) []Outcome {
	outcomes := make([]Outcome, len(attempts))
	var wg sync.WaitGroup
	for i, a := range attempts {
		wg.Go(func() {
			begin := time.Now()
			err := a.try()
			outcomes[i].Took = time.Since(begin)
			if err != nil {
				outcomes[i].Err = err.Error()
				outcomes[i].Timeout = errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINPROGRESS)
			}
		})
	}
	wg.Wait()
	return outcomes
}

// try calls once until no signal interrupts it. The Go runtime sends itself signals, and a call on a
// socket with a timeout is not restarted after one (signal(7)).
func (a Attempt) try() error {
	for {
		if err := a.once(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// once makes the attempt. It uses plain sockets, because package net would convert a mapped address to
// IPv4.
func (a Attempt) once() error {
	family, address := a.sockaddr()
	kind, proto := unix.SOCK_DGRAM, 0
	switch a.Proto {
	case "tcp", "unix":
		kind = unix.SOCK_STREAM
	case "icmp":
		if proto = unix.IPPROTO_ICMP; family == unix.AF_INET6 {
			proto = unix.IPPROTO_ICMPV6
		}
	}
	number, err := strconv.Atoi(a.Proto)
	if err == nil {
		kind, proto = unix.SOCK_RAW, number
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, proto)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	defer unix.Close(fd)
	if err := a.options(fd); err != nil {
		return err
	}
	if err := unix.Connect(fd, address); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	if kind == unix.SOCK_STREAM {
		return nil
	}
	if _, err := unix.Write(fd, a.payload(kind == unix.SOCK_RAW)); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	if _, err := unix.Read(fd, make([]byte, 100)); err != nil {
		return fmt.Errorf("receive: %w", err)
	}
	return nil
}

// payload returns an ICMP echo request, which serves as the payload of UDP, too. If raw, it returns an
// extension header (options or a fragment) followed by a UDP header.
func (a Attempt) payload(raw bool) []byte {
	switch {
	case raw:
		return []byte{unix.IPPROTO_UDP, 0, 0, 1, 4, 0, 0, 0, 0x30, 0x39, 0x11, 0x5c, 0, 8, 0, 0}
	case a.To.Is4():
		return []byte{8, 0, 0, 0, 0, 0, 0, 1}
	}
	return []byte{128, 0, 0, 0, 0, 0, 0, 1}
}

func (a Attempt) sockaddr() (int, unix.Sockaddr) {
	if a.Proto == "unix" {
		return unix.AF_UNIX, &unix.SockaddrUnix{Name: a.Path}
	}
	if a.To.Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: a.Port, Addr: a.To.As4()}
	}
	sa := &unix.SockaddrInet6{Port: a.Port, Addr: a.To.As16()}
	if i, err := net.InterfaceByName(a.To.Zone()); err == nil {
		sa.ZoneId = uint32(i.Index)
	}
	return unix.AF_INET6, sa
}

func (a Attempt) options(fd int) error {
	t := unix.NsecToTimeval(int64(wait))
	err := errors.Join(
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &t),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &t),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_BROADCAST, 1))
	if a.Via != "" {
		err = errors.Join(err, unix.SetsockoptString(fd, unix.SOL_SOCKET, unix.SO_BINDTODEVICE, a.Via))
	}
	if a.From != "" {
		err = errors.Join(err, a.foreign(fd))
	}
	if a.First != "" {
		err = errors.Join(err, a.sourceRoute(fd))
	}
	return err
}

// foreign binds to a source address that need not be the machine's own.
func (a Attempt) foreign(fd int) error {
	from := netip.MustParseAddr(a.From)
	if from.Is4() {
		return errors.Join(unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_FREEBIND, 1), unix.Bind(fd, &unix.SockaddrInet4{Addr: from.As4()}))
	}
	return errors.Join(unix.SetsockoptInt(fd, unix.SOL_IPV6, unix.IPV6_FREEBIND, 1), unix.Bind(fd, &unix.SockaddrInet6{Addr: from.As16()}))
}

// sourceRoute sets a source route, which needs no privilege.
func (a Attempt) sourceRoute(fd int) error {
	first := netip.MustParseAddr(a.First)
	if first.Is6() { // RFC 8754: the last segment comes first
		header := slices.Concat([]byte{0, 4, 4, 1, 1, 0, 0, 0}, a.To.AsSlice(), first.AsSlice())
		return unix.SetsockoptString(fd, unix.IPPROTO_IPV6, unix.IPV6_RTHDR, string(header))
	}
	route := append([]byte{1, 131, 7, 4}, first.AsSlice()...) // a filler, then the option
	if a.Exact {
		route[1] = 137
	}
	return unix.SetsockoptString(fd, unix.IPPROTO_IP, unix.IP_OPTIONS, string(route))
}
