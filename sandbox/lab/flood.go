package lab

import (
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// Flood is a series of UDP packets, each from a socket of its own, or of TCP connections.
type Flood struct {
	Proto string // udp or tcp
	To    netip.AddrPort
	Flows int           // how many sockets
	Shut  bool          // close each at once instead of at the end
	Again time.Duration // how long to continue sending from the last socket
}

// Flooded is the result of a flood.
type Flooded struct {
	Sent, Refused int // connections or packets, as the sockets reported
	Took          time.Duration
}

func (f *Flood) run() (done Flooded) {
	begin := time.Now()
	defer func() { done.Took = time.Since(begin) }()
	to := Attempt{Proto: f.Proto, To: f.To.Addr(), Port: int(f.To.Port())}
	family, address := to.sockaddr()
	kind := unix.SOCK_DGRAM
	if f.Proto == "tcp" {
		kind = unix.SOCK_STREAM
	}
	var fd int
	for range f.Flows {
		var err error
		if fd, err = unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0); err != nil {
			done.Refused++
			continue
		}
		if err = unix.Connect(fd, address); err == nil && kind == unix.SOCK_DGRAM {
			_, err = unix.Write(fd, []byte("flood"))
		}
		done.count(err)
		if f.Shut || err != nil {
			unix.Close(fd)
		} else {
			defer unix.Close(fd)
		}
	}
	for packet := make([]byte, 64); time.Since(begin) < f.Again; {
		_, err := unix.Write(fd, packet)
		done.count(err)
	}
	return done
}

func (d *Flooded) count(err error) {
	if err == nil {
		d.Sent++
	} else {
		d.Refused++
	}
}
