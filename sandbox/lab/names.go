package lab

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

// Names is a name server for tests, over UDP and TCP. Each element of a name's Turns has the
// space-separated addresses for one question. A question for IPv4 addresses moves to the next turn,
// and the last turn repeats. A question for IPv6 addresses uses the present turn, or the first.
type Names struct {
	At     string // host:port
	Turns  map[string][]string
	Silent bool // count questions but do not answer

	mu    sync.Mutex
	now   map[string]string
	asked Asked
}

// total returns the counts so far.
func (n *Names) total() Asked {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked
}

// serve answers until the process ends.
func (n *Names) serve() error {
	udp, err := net.ListenPacket("udp", n.At)
	if err != nil {
		return err
	}
	if raw, err := udp.(*net.UDPConn).SyscallConn(); err == nil { // so that no packet of a flood is lost
		raw.Control(func(fd uintptr) { unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 256<<20) })
	}
	tcp, err := net.Listen("tcp", udp.LocalAddr().String())
	if err != nil {
		return err
	}
	go func() {
		for buf := make([]byte, 512); ; {
			size, from, err := udp.ReadFrom(buf)
			if err != nil {
				continue
			}
			if answer := n.Answer(buf[:size]); !n.Silent {
				udp.WriteTo(answer, from)
			}
		}
	}()
	go func() {
		for {
			if conn, err := tcp.Accept(); err == nil {
				go n.stream(conn)
			}
		}
	}()
	return nil
}

// stream serves a TCP connection, on which each message follows its length (RFC 1035, section 4.2.2).
func (n *Names) stream(conn net.Conn) {
	defer conn.Close()
	for {
		var size uint16
		if binary.Read(conn, binary.BigEndian, &size) != nil {
			return
		}
		question := make([]byte, size)
		if _, err := io.ReadFull(conn, question); err != nil {
			return
		}
		if answer := n.Answer(question); !n.Silent {
			conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
		}
	}
}

// Answer returns the answer to a DNS message; a message that is no question is returned unchanged.
func (n *Names) Answer(question []byte) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(question); err != nil || len(m.Questions) != 1 {
		return question
	}
	q := m.Questions[0]
	n.mu.Lock()
	n.asked.Questions++
	n.asked.Bytes += int(q.Name.Length)
	n.mu.Unlock()
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	for _, a := range n.turn(strings.TrimSuffix(q.Name.String(), "."), q.Type == dnsmessage.TypeA) {
		head := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}
		switch {
		case q.Type == dnsmessage.TypeA && a.Is4():
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: a.As4()}})
		case q.Type == dnsmessage.TypeAAAA && a.Is6():
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	answer, err := m.Pack()
	if err != nil {
		panic(fmt.Sprint("the test's own names: ", err))
	}
	return answer
}

func (n *Names) turn(name string, next bool) (addrs []netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.now == nil {
		n.now = map[string]string{}
	}
	now := n.now[name]
	if turns := n.Turns[name]; len(turns) > 0 && (next || now == "") {
		now = turns[0]
		if next {
			n.now[name], n.Turns[name] = now, turns[min(1, len(turns)-1):]
		}
	}
	for text := range strings.FieldsSeq(now) {
		addrs = append(addrs, netip.MustParseAddr(text))
	}
	return addrs
}
