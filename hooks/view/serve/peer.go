package serve

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// peer is a connection's origin: a user of this machine, or an address.
//
// A browser sends a cookie to every port of a host (RFC 6265, section 8.5), so another user's
// server on this machine gets our session from whoever opens its pages. Therefore a local
// user's session is valid for that user only.
type peer struct {
	local bool
	uid   uint32 // where local
	addr  netip.Addr
}

// same reports whether one peer's session is valid for the other.
func (p peer) same(other peer) bool {
	if !p.local && !other.local {
		return true // a phone's address changes while it moves
	}
	return p == other
}

func (p peer) String() string {
	if p.local {
		return fmt.Sprintf("uid %d of this machine", p.uid)
	}
	return p.addr.String()
}

func peerOf(c net.Conn) peer {
	from, err := netip.ParseAddrPort(c.RemoteAddr().String())
	to, err2 := netip.ParseAddrPort(c.LocalAddr().String())
	if err != nil || err2 != nil {
		return peer{}
	}
	addr := from.Addr().Unmap().WithZone("")
	if addr.IsLoopback() || addr == to.Addr().Unmap().WithZone("") {
		if uid, ok := owner(from, to); ok {
			return peer{local: true, uid: uid}
		}
	}
	if addr.Is6() { // one machine usually has a whole /64
		network, _ := addr.Prefix(64)
		addr = network.Addr()
	}
	return peer{addr: addr}
}

type peerKey struct{}

func withPeer(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if c, ok := c.(*connection); ok {
		return context.WithValue(ctx, peerKey{}, c.peer)
	}
	return ctx
}

// The layout of sock_diag(7): inet_diag_req_v2 and inet_diag_msg.
const (
	sockDiagByFamily = 20
	diagRequest      = 56
	diagUID          = 64
)

// owner is the user of the socket at the other end of a connection within this machine, which
// the kernel tells everybody (sock_diag(7)).
func owner(from, to netip.AddrPort) (uint32, bool) {
	c, err := netlink.Dial(unix.NETLINK_SOCK_DIAG, nil)
	if err != nil {
		return 0, false
	}
	defer c.Close()
	req := make([]byte, diagRequest)
	source, target := from.Addr().Unmap(), to.Addr().Unmap()
	req[0], req[1] = unix.AF_INET, unix.IPPROTO_TCP
	if source.Is6() {
		req[0] = unix.AF_INET6
	}
	binary.NativeEndian.PutUint32(req[4:], 1<<1) // established
	binary.BigEndian.PutUint16(req[8:], from.Port())
	binary.BigEndian.PutUint16(req[10:], to.Port())
	copy(req[12:28], source.AsSlice())
	copy(req[28:44], target.AsSlice())
	for i := 48; i < diagRequest; i++ {
		req[i] = 0xff // whatever the socket's cookie is
	}
	answers, err := c.Execute(netlink.Message{Header: netlink.Header{Type: sockDiagByFamily, Flags: netlink.Request}, Data: req})
	if err != nil || len(answers) == 0 || len(answers[0].Data) < diagUID+4 {
		return 0, false
	}
	return binary.NativeEndian.Uint32(answers[0].Data[diagUID:]), true
}
