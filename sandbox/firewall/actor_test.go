package firewall

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// order is what an actor is told: one of its fields.
type order struct {
	Listen []string  // "tcp 0.0.0.0:80"; udp answers what it gets
	Sniff  string    // an interface: remember what arrives there
	Seen   bool      // tell it, and forget
	Try    []attempt // all at the same time
}

// attempt is one try to reach something.
type attempt struct {
	Proto string     // tcp, udp, icmp, 6in4
	To    netip.Addr // with a zone where it needs one; ::ffff:a.b.c.d through an IPv6 socket
	Port  int
	Via   string // an interface to bind to
	First string // the first hop of a source route to To
	Exact bool   // a strict source route
	Quiet bool   // the kernel has no way to tell the socket of a refusal
}

func (a attempt) String() string {
	s := fmt.Sprintf("%s %v", a.Proto, a.To)
	if a.Port != 0 {
		s += fmt.Sprintf(" port %d", a.Port)
	}
	if a.Via != "" {
		s += " by " + a.Via
	}
	if a.First != "" {
		s += " through " + a.First
	}
	return s
}

// wire is how a packet of the attempt looks to a sniffer.
func (a attempt) wire() string {
	to := plain(a.To)
	if a.First != "" {
		to = netip.MustParseAddr(a.First)
	}
	return fmt.Sprintf("%s %v %d", a.Proto, to, a.Port)
}

// outcome is what happened: Err empty means an answer came.
type outcome struct {
	Err     string
	Timeout bool // nothing came
	Took    time.Duration
}

func (o outcome) String() string {
	if o.Err == "" {
		return "answered"
	}
	return o.Err
}

const (
	wait   = time.Second            // for an answer
	atOnce = 500 * time.Millisecond // is how fast a refusal must be seen
)

// act obeys until stdin ends.
func act(stdin io.Reader, stdout io.Writer) error {
	orders, answers := json.NewDecoder(bufio.NewReader(stdin)), json.NewEncoder(stdout)
	var s sniffer
	for {
		var o order
		if err := orders.Decode(&o); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		var answer any = "done"
		var err error
		switch {
		case o.Listen != nil:
			err = listen(o.Listen)
		case o.Sniff != "":
			err = s.open(o.Sniff)
		case o.Seen:
			answer = s.take()
		case o.Try != nil:
			answer = tryAll(o.Try)
		}
		if err != nil {
			return err
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
}

func listen(places []string) error {
	for _, place := range places {
		proto, addr, _ := strings.Cut(place, " ")
		if proto == "udp" {
			c, err := net.ListenPacket(proto, addr)
			if err != nil {
				return err
			}
			go func() {
				buf := make([]byte, 100)
				for {
					n, from, err := c.ReadFrom(buf)
					if err != nil {
						continue
					}
					c.WriteTo(buf[:n], from)
				}
			}()
			continue
		}
		l, err := net.Listen(proto, addr)
		if err != nil {
			return err
		}
		go func() {
			for {
				if c, err := l.Accept(); err == nil {
					c.Close()
				}
			}
		}()
	}
	return nil
}

func tryAll(attempts []attempt) []outcome {
	outcomes := make([]outcome, len(attempts))
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

// try uses plain sockets: the net package would turn a mapped address into an
// IPv4 one by itself.
func (a attempt) try() error {
	family, address := a.sockaddr()
	kind, proto := unix.SOCK_DGRAM, 0
	switch a.Proto {
	case "tcp":
		kind = unix.SOCK_STREAM
	case "icmp":
		if proto = unix.IPPROTO_ICMP; family == unix.AF_INET6 {
			proto = unix.IPPROTO_ICMPV6
		}
	case "6in4":
		kind, proto = unix.SOCK_RAW, unix.IPPROTO_IPV6
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
	if a.Proto == "tcp" {
		return nil
	}
	payload := []byte{8, 0, 0, 0, 0, 0, 0, 1} // an ICMP echo request; to UDP it is all the same
	if family == unix.AF_INET6 {
		payload[0] = 128
	}
	if _, err := unix.Write(fd, payload); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	if _, err := unix.Read(fd, make([]byte, 100)); err != nil {
		return fmt.Errorf("receive: %w", err)
	}
	return nil
}

func (a attempt) sockaddr() (int, unix.Sockaddr) {
	if a.To.Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: a.Port, Addr: a.To.As4()}
	}
	sa := &unix.SockaddrInet6{Port: a.Port, Addr: a.To.As16()}
	if i, err := net.InterfaceByName(a.To.Zone()); err == nil {
		sa.ZoneId = uint32(i.Index)
	}
	return unix.AF_INET6, sa
}

func (a attempt) options(fd int) error {
	t := unix.NsecToTimeval(int64(wait))
	err := errors.Join(
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &t),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &t),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_BROADCAST, 1))
	if a.Via != "" {
		err = errors.Join(err, unix.SetsockoptString(fd, unix.SOL_SOCKET, unix.SO_BINDTODEVICE, a.Via))
	}
	if a.First != "" {
		first := netip.MustParseAddr(a.First).As4()
		route := append([]byte{1, 131, 7, 4}, first[:]...) // a filler, then the option
		if a.Exact {
			route[1] = 137
		}
		err = errors.Join(err, unix.SetsockoptString(fd, unix.IPPROTO_IP, unix.IP_OPTIONS, string(route)))
	}
	return err
}

// sniffer sees every packet that comes over an interface, whoever it is for.
type sniffer struct {
	mu   sync.Mutex
	seen map[string]int
}

func (s *sniffer) open(name string) error {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return err
	}
	all := binary.NativeEndian.Uint16([]byte{0, unix.ETH_P_ALL})
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, int(all))
	if err != nil {
		return err
	}
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: i.Index}); err != nil {
		return err
	}
	s.seen = map[string]int{}
	go func() {
		buf := make([]byte, 2048)
		for {
			n, from, err := unix.Recvfrom(fd, buf, 0)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return
			}
			if ll, ok := from.(*unix.SockaddrLinklayer); ok && ll.Pkttype != unix.PACKET_OUTGOING {
				s.add(describe(buf[:n]))
			}
		}
	}()
	return nil
}

func (s *sniffer) add(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if what != "" {
		s.seen[what]++
	}
}

func (s *sniffer) take() map[string]int {
	time.Sleep(50 * time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.seen = map[string]int{}
	return seen
}

// describe names a packet by protocol, destination and port; ARP and neighbour
// discovery, which the kernel itself sends, not at all.
func describe(p []byte) string {
	var to netip.Addr
	var proto byte
	switch {
	case len(p) >= 28 && p[0]>>4 == 4:
		to, proto = netip.AddrFrom4([4]byte(p[16:20])), p[9]
		p = p[int(p[0]&15)*4:]
	case len(p) >= 48 && p[0]>>4 == 6:
		to, proto = netip.AddrFrom16([16]byte(p[24:40])), p[6]
		p = p[40:]
	default:
		return ""
	}
	switch proto {
	case unix.IPPROTO_TCP:
		return fmt.Sprintf("tcp %v %d", to, binary.BigEndian.Uint16(p[2:]))
	case unix.IPPROTO_UDP:
		return fmt.Sprintf("udp %v %d", to, binary.BigEndian.Uint16(p[2:]))
	case unix.IPPROTO_ICMPV6:
		if p[0] >= 133 && p[0] <= 136 {
			return ""
		}
		return fmt.Sprintf("icmp %v 0", to)
	case unix.IPPROTO_ICMP:
		return fmt.Sprintf("icmp %v 0", to)
	case unix.IPPROTO_IPV6:
		return fmt.Sprintf("6in4 %v 0", to)
	}
	return fmt.Sprintf("protocol %d %v", proto, to)
}
