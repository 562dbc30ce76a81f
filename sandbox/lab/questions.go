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

// Questions is a flood of DNS questions, each for a different name, sent in one of the ways by which a
// program can send many at a time.
type Questions struct {
	To    netip.AddrPort
	How   string // a key of the ways below
	Bytes int    // of each question
	Tries int    // the number of questions, refused ones included
}

// Asked counts what a name server received: well-formed questions, and the bytes of their names.
type Asked struct{ Questions, Bytes int }

// many is the number of questions in one call: the kernel's limit of segments (UDP_MAX_SEGMENTS of
// older kernels), within the longest packet.
func (q *Questions) many() int { return min(64, 60_000/q.Bytes) }

// few is the number of questions that fit in 500 bytes, at least 1.
func (q *Questions) few() int { return max(1, 500/q.Bytes) }

// ways maps each way to a constructor of a function that sends some questions of one length and returns
// their number. Sockets stay open until the flood ends or there are more than 500.
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

// flow is the state of a running flood.
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

// open makes a socket, or returns -1, with which each later call fails.
func (f *flow) open(kind int) int {
	family, _ := f.to()
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	f.fds = append(f.fds, fd)
	unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Usec: 200_000}) // a server stops reading if nobody reads its answers
	return fd
}

// socket makes a socket and tries to connect it.
func (f *flow) socket(kind int) int {
	fd := f.open(kind)
	_, to := f.to()
	unix.Connect(fd, to)
	return fd
}

func (f *flow) option(fd, level, name, value int) { unix.SetsockoptInt(fd, level, name, value) }

// parted makes the kernel split writes into questions (UDP_SEGMENT).
func (f *flow) parted(fd int) int {
	f.option(fd, unix.SOL_UDP, unix.UDP_SEGMENT, f.q.Bytes)
	return fd
}

func (f *flow) write(fd, n int) (int, error) {
	_, err := unix.Write(fd, f.next(n))
	return n, err
}

// writeParted requests the split by a control message (udp(7)).
func (f *flow) writeParted(fd, n, flags int) (int, error) {
	control := make([]byte, unix.CmsgSpace(2))
	h := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
	h.Level, h.Type = unix.SOL_UDP, unix.UDP_SEGMENT
	h.SetLen(unix.CmsgLen(2))
	binary.NativeEndian.PutUint16(control[unix.CmsgLen(0):], uint16(f.q.Bytes))
	_, err := unix.SendmsgN(fd, f.next(n), control, nil, flags)
	return n, err
}

// stream returns a function that writes questions over TCP, calls times per connection, and reads no
// answers.
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

// next concatenates the next n questions.
func (f *flow) next(n int) (all []byte) {
	for range n {
		all = append(all, f.question()...)
	}
	return all
}

// framed is next for a stream: each question follows its length.
func (f *flow) framed(n int) (all []byte) {
	for range n {
		q := f.question()
		all = append(binary.BigEndian.AppendUint16(all, uint16(len(q))), q...)
	}
	return all
}

// question returns a question of exactly q.Bytes bytes: a header, a new name, a type and a class. If
// the name would exceed 255 bytes, EDNS padding (RFC 7830) fills the rest.
func (f *flow) question() []byte {
	f.asked++
	name, padding := f.q.Bytes-12-4, 0
	if name > 255 {
		name, padding = 255, name-255-11-4
	}
	m := binary.BigEndian.AppendUint16(nil, uint16(f.asked))
	m = append(m, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0)
	data := fmt.Sprintf("%x-", f.asked)
	for left := name - 1; left > 0; { // the last byte is the root's label
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
