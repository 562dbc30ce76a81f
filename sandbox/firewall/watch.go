package firewall

import (
	"errors"
	"sync"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// hostChanges tells that addresses or routes of the caller's network namespace have
// changed; which ones, HostFacts knows.
type hostChanges struct {
	conn *netlink.Conn
	seen chan struct{} // something has, once for all since the last look

	mu     sync.Mutex
	broken error
}

// watchHost sees what changes from now on. Rules of routing are not watched: HostFacts
// reads the tables of all of them.
func watchHost() (*hostChanges, error) {
	conn, err := netlink.Dial(unix.NETLINK_ROUTE, &netlink.Config{
		Groups: unix.RTMGRP_IPV4_IFADDR | unix.RTMGRP_IPV6_IFADDR | unix.RTMGRP_IPV4_ROUTE | unix.RTMGRP_IPV6_ROUTE,
	})
	if err != nil {
		return nil, err
	}
	h := &hostChanges{conn: conn, seen: make(chan struct{}, 1)}
	go h.receive()
	return h, nil
}

// receive runs until Close. That messages were lost in a flood is one more change.
func (h *hostChanges) receive() {
	for {
		_, err := h.conn.Receive()
		lost := errors.Is(err, unix.ENOBUFS)
		if err != nil && !lost {
			h.mu.Lock()
			h.broken = err
			h.mu.Unlock()
		}
		h.tell()
		if err != nil && !lost {
			return
		}
	}
}

// tell says that the host is to be looked at.
func (h *hostChanges) tell() {
	select {
	case h.seen <- struct{}{}:
	default:
	}
}

// forget is called before a look at the host: what it sees need not be told.
func (h *hostChanges) forget() {
	select {
	case <-h.seen:
	default:
	}
}

// err is why no change is told any more.
func (h *hostChanges) err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.broken
}

// Close ends it.
func (h *hostChanges) Close() error { return h.conn.Close() }
