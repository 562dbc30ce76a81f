package lab

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// sniffer counts every packet on an interface, whatever its destination.
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
	time.Sleep(50 * time.Millisecond) // lets packets in flight arrive
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.seen = map[string]int{}
	return seen
}

// describe returns a packet's protocol, destination and port, but "" for ARP and neighbour discovery,
// which the kernel itself sends.
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
	}
	return fmt.Sprintf("protocol %d %v", proto, to)
}
