package gateway

import (
	"context"
	"errors"
	"net"
	"time"

	"golang.org/x/time/rate"

	"git-ward/sandbox/firewall"
)

// errTooOften bounds what the fence asks of the host's name servers, as the rules do where
// it asks itself.
var errTooOften = errors.New("too many names are asked for at a time: ask again in a second")

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// nameServer counts what is asked of name servers, in questions of firewall.NameBytes: a resolver
// asks each server for both families, and again where one fails, and a name carries data out.
func (p *proxy) nameServer(dial dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if packets, ok := conn.(*net.UDPConn); ok { // by which the resolver knows how to ask
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
