package lab

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

// Questions is a flood of questions for names, each for a name of its own, in one of the
// ways that a program has to send many at a time.
type Questions struct {
	To    netip.AddrPort
	How   string // a key of the ways below
	Bytes int    // of each question
	Tries int    // how many questions, those that are refused with them
}

// Asked is what came to a name server: whole questions, and the bytes of their names.
type Asked struct{ Questions, Bytes int }

// many is how many questions go into one call: as many as the kernel parts (UDP_MAX_SEGMENTS
// of older ones), within its longest packet.
func (q *Questions) many() int { return min(64, 60_000/q.Bytes) }

// few is how many are no longer than one.
func (q *Questions) few() int { return max(1, 500/q.Bytes) }

// ways give a function that sends some questions of one length, and says how many. They
// keep what they open until the flood ends.
var ways = map[string]func(f *flow) func() (int, error){
	"one by one": func(f *flow) func() (int, error) {
		fd := f.socket(unix.SOCK_DGRAM)
		return func() (int, error) { return f.write(fd, 1) }
	},
	"a socket each": func(f *flow) func() (int, error) {
		return func() (int, error) { return f.write(f.socket(unix.SOCK_DGRAM), 1) }
	},
	"sendmmsg": func(f *flow) func() (int, error) {
		fd := f.socket(unix.SOCK_DGRAM)
		return func() (int, error) { return sendmmsg(fd, f.next(f.q.many()), f.q.Bytes) }
	},
	"bundles": func(f *flow) func() (int, error) {
		fd := f.socket(unix.SOCK_DGRAM)
		return func() (int, error) { return f.write(f.parted(fd), f.q.many()) }
	},
	"bundles that one call asks for": func(f *flow) func() (int, error) {
		fd := f.socket(unix.SOCK_DGRAM)
		return func() (int, error) { return f.writeParted(fd, f.q.many(), 0) }
	},
	"bundles that are not copied": func(f *flow) func() (int, error) {
		fd := f.socket(unix.SOCK_DGRAM)
		f.option(fd, unix.SOL_SOCKET, unix.SO_ZEROCOPY, 1)
		return func() (int, error) { return f.writeParted(fd, f.q.many(), unix.MSG_ZEROCOPY) }
	},
	"bundles of two writes": func(f *flow) func() (int, error) {
		fd := f.socket(unix.SOCK_DGRAM)
		f.parted(fd)
		return func() (int, error) {
			all := f.next(f.q.many())
			half := len(all) / 2
			if err := unix.Sendto(fd, all[:half], unix.MSG_MORE, nil); err != nil {
				return 0, err
			}
			_, err := unix.Write(fd, all[half:])
			return f.q.many(), err
		}
	},
	"bundles, a socket each": func(f *flow) func() (int, error) {
		return func() (int, error) { return f.write(f.parted(f.socket(unix.SOCK_DGRAM)), f.q.few()) }
	},
	"bundles as long as one question": func(f *flow) func() (int, error) {
		fd := f.socket(unix.SOCK_DGRAM)
		return func() (int, error) { return f.write(f.parted(fd), f.q.few()) }
	},
	"a stream": func(f *flow) func() (int, error) {
		return f.stream(func() int { return f.q.many() }, 1<<30)
	},
	"a stream of short writes": func(f *flow) func() (int, error) {
		return f.stream(func() int { return f.q.few() }, 1<<30)
	},
	"streams of some questions": func(f *flow) func() (int, error) {
		return f.stream(func() int { return f.q.few() }, 4)
	},
	"fast opens": func(f *flow) func() (int, error) {
		return func() (int, error) {
			fd := f.open(unix.SOCK_STREAM)
			n := f.q.few()
			_, to := f.to()
			return n, unix.Sendto(fd, f.framed(n), unix.MSG_FASTOPEN|unix.MSG_NOSIGNAL, to)
		}
	},
}

// flow is a flood under way.
type flow struct {
	q     *Questions
	asked int
	fds   []int
}

func (q *Questions) run() (done Flooded, err error) {
	way := ways[q.How]
	if way == nil {
		return done, fmt.Errorf("%q is no way to ask", q.How)
	}
	f := &flow{q: q}
	defer f.close()
	begin := time.Now()
	defer func() { done.Took = time.Since(begin) }()
	for shot := way(f); done.Sent+done.Refused < q.Tries; {
		if n, err := shot(); err != nil {
			done.Refused += max(n, 1)
		} else {
			done.Sent += n
		}
		if len(f.fds) > 500 {
			f.close()
		}
	}
	return done, nil
}

func (f *flow) close() {
	for _, fd := range f.fds {
		unix.Close(fd)
	}
	f.fds = f.fds[:0]
}

func (f *flow) to() (int, unix.Sockaddr) {
	return (Attempt{To: f.q.To.Addr(), Port: int(f.q.To.Port())}).sockaddr()
}

// open makes a socket; -1 is none, which each call on it then says.
func (f *flow) open(kind int) int {
	family, _ := f.to()
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	f.fds = append(f.fds, fd)
	unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Usec: 200_000}) // a server whose answers nobody reads reads no more
	return fd
}

// socket is one that is connected, if it can be.
func (f *flow) socket(kind int) int {
	fd := f.open(kind)
	_, to := f.to()
	unix.Connect(fd, to)
	return fd
}

func (f *flow) option(fd, level, name, value int) { unix.SetsockoptInt(fd, level, name, value) }

// parted has the kernel part what is written into questions.
func (f *flow) parted(fd int) int {
	f.option(fd, unix.SOL_UDP, unix.UDP_SEGMENT, f.q.Bytes)
	return fd
}

func (f *flow) write(fd, n int) (int, error) {
	_, err := unix.Write(fd, f.next(n))
	return n, err
}

// writeParted asks for the parts with the call itself (udp(7)).
func (f *flow) writeParted(fd, n, flags int) (int, error) {
	control := make([]byte, unix.CmsgSpace(2))
	h := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
	h.Level, h.Type = unix.SOL_UDP, unix.UDP_SEGMENT
	h.SetLen(unix.CmsgLen(2))
	binary.NativeEndian.PutUint16(control[unix.CmsgLen(0):], uint16(f.q.Bytes))
	_, err := unix.SendmsgN(fd, f.next(n), control, nil, flags)
	return n, err
}

// stream writes questions over TCP, so many calls a connection, and leaves answers unread.
func (f *flow) stream(count func() int, calls int) func() (int, error) {
	fd, left := -1, 0
	return func() (int, error) {
		if left == 0 {
			fd, left = f.socket(unix.SOCK_STREAM), calls
			f.option(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		}
		left--
		n := count()
		err := unix.Sendto(fd, f.framed(n), unix.MSG_NOSIGNAL, nil)
		if err != nil {
			left = 0
		}
		return n, err
	}
}

// next are the next questions, one behind the other.
func (f *flow) next(n int) (all []byte) {
	for range n {
		all = append(all, f.question()...)
	}
	return all
}

// framed are the same for a stream: each has its length before it.
func (f *flow) framed(n int) (all []byte) {
	for range n {
		q := f.question()
		all = append(binary.BigEndian.AppendUint16(all, uint16(len(q))), q...)
	}
	return all
}

// question is one of exactly so many bytes: a header, a name of labels that nobody has asked
// for, a type and a class. From 300 bytes on, padding of EDNS (RFC 7830) is the rest.
func (f *flow) question() []byte {
	f.asked++
	name, padding := f.q.Bytes-12-4, 0
	if name > 255 {
		name, padding = 255, name-255-11-4
	}
	m := binary.BigEndian.AppendUint16(nil, uint16(f.asked))
	m = append(m, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0)
	data := fmt.Sprintf("%x-", f.asked)
	for left := name - 1; left > 0; { // the root's label ends it
		n := min(left-1, 63)
		if left-1-n == 1 { // a label needs two bytes
			n--
		}
		text := strings.Repeat("x", n)
		if len(data) <= n {
			text, data = data+text[len(data):], ""
		} else {
			text, data = data[len(data)-n:], ""
		}
		m = append(append(m, byte(n)), text...)
		left -= n + 1
	}
	m = append(m, 0, 0, byte(dnsmessage.TypeTXT), 0, byte(dnsmessage.ClassINET))
	if padding > 0 {
		m[11] = 1
		m = append(m, 0, 0, byte(dnsmessage.TypeOPT), 4, 208, 0, 0, 0, 0)
		m = binary.BigEndian.AppendUint16(m, uint16(4+padding))
		m = binary.BigEndian.AppendUint16(append(m, 0, 12), uint16(padding))
		m = append(m, slices.Repeat([]byte{'x'}, padding)...)
	}
	return m
}

// sendmmsg sends messages of one length with one call (sendmmsg(2)).
func sendmmsg(fd int, all []byte, each int) (int, error) {
	type header struct {
		unix.Msghdr
		sent uint32
		_    [4]byte
	}
	n := len(all) / each
	messages, parts := make([]header, n), make([]unix.Iovec, n)
	for i := range messages {
		parts[i].Base = &all[i*each]
		parts[i].SetLen(each)
		messages[i].Iov = &parts[i]
		messages[i].SetIovlen(1)
	}
	sent, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&messages[0])), uintptr(n), 0, 0, 0)
	if errno != 0 {
		return n, errno
	}
	return int(sent), nil
}
