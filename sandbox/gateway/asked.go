package gateway

import (
	"context"
	"errors"
	"net"
	"time"

	"golang.org/x/time/rate"

	"git-ward/sandbox/firewall"
)

// errTooOften limits the fence's questions to the host's name servers, as the rules do for
// direct ones.
var errTooOften = errors.New("too many names are asked for at a time: ask again in a second")

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// nameServer counts name server questions in units of firewall.NameBytes. A resolver asks each
// server for both families, repeats failed questions, and a name can carry data out.
func (p *proxy) nameServer(dial dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if packets, ok := conn.(*net.UDPConn); ok { // lets the resolver know the transport
			return &countedPackets{packets, p.asked}, nil
		}
		return &countedStream{conn, p.asked}, nil
	}
}

type countedPackets struct {
	*net.UDPConn
	asked *rate.Limiter
}

func (c *countedPackets) Write(question []byte) (int, error) {
	if err := count(c.asked, question); err != nil {
		return 0, err
	}
	return c.UDPConn.Write(question)
}

type countedStream struct {
	net.Conn
	asked *rate.Limiter
}

func (c *countedStream) Write(question []byte) (int, error) {
	if err := count(c.asked, question); err != nil {
		return 0, err
	}
	return c.Conn.Write(question)
}

func count(asked *rate.Limiter, question []byte) error {
	if n := (len(question) + firewall.NameBytes - 1) / firewall.NameBytes; !asked.AllowN(time.Now(), n) {
		return errTooOften
	}
	return nil
}
