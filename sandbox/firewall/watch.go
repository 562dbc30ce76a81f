package firewall

import (
	"errors"
	"sync"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// hostChanges reports that addresses or routes of the caller's network namespace have changed.
// HostFacts says which.
type hostChanges struct {
	conn *netlink.Conn
	seen chan struct{} // has room for one: all changes since the last reading

	mu     sync.Mutex
	broken error
}

// watchHost reports changes from now on. Policy rules are not watched, because HostFacts reads
// all tables.
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

// receive runs until Close. Lost messages count as a change.
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

// tell reports a change.
func (h *hostChanges) tell() {
	select {
	case h.seen <- struct{}{}:
	default:
	}
}

// forget is called before a reading of the host, which covers all changes so far.
func (h *hostChanges) forget() {
	select {
	case <-h.seen:
	default:
	}
}

// err is why changes are no longer reported.
func (h *hostChanges) err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.broken
}

// Close ends it.
func (h *hostChanges) Close() error { return h.conn.Close() }
