package fence

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"time"

	"git-ward/sandbox/firewall"
)

const (
	// translatorName has only IPv4 addresses, so an IPv6 answer for it reveals a NAT64 prefix
	// (RFC 7050).
	translatorName = "ipv4only.arpa."
	// translatorTime is how long name servers may take, because a launch waits for them.
	translatorTime = 500 * time.Millisecond
)

// findTranslators asks the policy's and the host's name servers for the network's NAT64
// prefixes. A host without a public IPv6 address is behind none and asks nobody. If no server
// answers, it returns an error and leaves the policy unchanged.
func findTranslators(ctx context.Context, p *firewall.Policy, servers []netip.Addr) error {
	if !slices.ContainsFunc(p.HostAddrs, func(a netip.Addr) bool { return a.Is6() && !firewall.Reserved(a) }) {
		p.Translators = nil
		return nil
	}
	names, err := hostResolvers()
	if err != nil {
		return err
	}
	for _, name := range names {
		if a, err := netip.ParseAddr(name); err == nil && !slices.Contains(servers, a) {
			servers = append(slices.Clone(servers), a)
		}
	}
	p.Translators, err = translators(ctx, servers, p.Translators, askTranslator)
	return err
}

// translators asks all servers at the same time and joins their answers. Known prefixes stay
// until all servers answer, because the silent one may be their source. It fails only if all
// servers fail.
func translators(ctx context.Context, servers []netip.Addr, known []netip.Prefix, ask func(context.Context, netip.Addr) ([]netip.Addr, error)) ([]netip.Prefix, error) {
	ctx, cancel := context.WithTimeout(ctx, translatorTime)
	defer cancel()
	type answer struct {
		addrs []netip.Addr
		err   error
	}
	answers := make(chan answer, len(servers))
	for _, server := range servers {
		go func() {
			addrs, err := ask(ctx, server)
			answers <- answer{addrs, err}
		}()
	}
	var addrs []netip.Addr
	var failures []error
	for range servers {
		a := <-answers
		addrs = append(addrs, a.addrs...)
		if a.err != nil {
			failures = append(failures, a.err)
		}
	}
	found := firewall.Translators(addrs)
	switch len(failures) {
	case len(servers):
		return known, errors.Join(failures...)
	case 0:
		return found, nil
	}
	for _, p := range known {
		if !slices.Contains(found, p) {
			found = append(found, p)
		}
	}
	return found, nil
}

// askTranslator asks one name server. A missing address is an answer, too.
func askTranslator(ctx context.Context, server netip.Addr) ([]netip.Addr, error) {
	r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, netip.AddrPortFrom(server, 53).String())
	}}
	addrs, err := r.LookupNetIP(ctx, "ip6", translatorName)
	if none, ok := errors.AsType[*net.DNSError](err); ok && none.IsNotFound {
		return nil, nil
	}
	return addrs, err
}
