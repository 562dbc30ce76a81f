package fence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"strings"

	"git-ward/internal/config"
	"git-ward/sandbox/firewall"
)

// Policy is the policy of SBX-2 for this machine at this moment. Warnings are for people.
func Policy(ctx context.Context, settings *config.Config, warnings io.Writer) (firewall.Policy, error) {
	p, err := HostPolicy(ctx, settings)
	if err != nil {
		return p, err
	}
	servers, err := resolvers(settings.Sandbox.Resolvers)
	if err != nil {
		return p, err
	}
	if err := findTranslators(ctx, &p, servers); err != nil {
		fmt.Fprintf(warnings, "warning: no name server answered whether this network has a NAT64 (RFC 7050); if it has one, add its prefix to [egress] refuse: %v\n", err)
	}
	if p.Mode == firewall.Public {
		if p.Resolvers = servers; len(servers) == 0 {
			fmt.Fprintln(warnings, "warning: no name server that a container can reach; set [sandbox] resolvers")
		}
	}
	return p, p.Validate()
}

// HostPolicy is Policy without name servers, for plain processes: they are not
// fenced, and ask for names as the host does. The gateway goes by its other facts.
func HostPolicy(ctx context.Context, settings *config.Config) (firewall.Policy, error) {
	e := settings.Egress
	p := firewall.Policy{Mode: firewall.Mode(e.Mode), Connections: e.Connections, Packets: e.Packets}
	var err error
	if p.Refuse, err = networks(e.Refuse); err != nil {
		return p, err
	}
	if p.HostAddrs, p.HostRoutes, err = firewall.HostFacts(ctx); err != nil {
		return p, fmt.Errorf("the host's own addresses cannot be read: %w", err)
	}
	return p, p.Validate()
}

// PodPolicy is what an agent's pod may reach, as far as this host knows: this host's own
// addresses are refused, and the pod's fence adds what it finds around itself.
func PodPolicy(ctx context.Context, settings *config.Config) (firewall.Policy, error) {
	p, err := HostPolicy(ctx, settings)
	if err != nil {
		return p, err
	}
	p.HostRoutes = nil // they say nothing about a pod's network
	p.HostAddrs = slices.DeleteFunc(p.HostAddrs, func(a netip.Addr) bool { return a.IsLoopback() || a.IsLinkLocalUnicast() })
	if p.Mode == firewall.Public && len(settings.Sandbox.Resolvers) > 0 {
		p.Resolvers, err = resolvers(settings.Sandbox.Resolvers)
	}
	return p, err
}

// networks are those of [egress] refuse: addresses and prefixes.
func networks(texts []string) (all []netip.Prefix, err error) {
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			a, err := netip.ParseAddr(text)
			if err != nil {
				return nil, fmt.Errorf("[egress] refuse: %w", err)
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		all = append(all, p)
	}
	return all, nil
}

// Follow returns a source of the current policy: with the host's present addresses and routes
// and, in a thorough look, the NAT64 translators of its network.
func Follow(p firewall.Policy) firewall.Source {
	return func(ctx context.Context, thorough bool) (_ firewall.Policy, err error) {
		if p.HostAddrs, p.HostRoutes, err = firewall.HostFacts(ctx); err != nil {
			return p, fmt.Errorf("the host's own addresses cannot be read: %w", err)
		}
		if thorough {
			_ = findTranslators(ctx, &p, p.Resolvers) // without an answer, the known ones stay
		}
		return p, nil
	}
}

// resolvers are the configured name servers, or those of the host that a container can reach,
// which excludes the host's loopback.
func resolvers(names []string) (list []netip.Addr, err error) {
	configured := len(names) > 0
	if !configured {
		if names, err = hostResolvers(); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		addr, err := netip.ParseAddr(name)
		switch {
		case err != nil && configured:
			return nil, fmt.Errorf("[sandbox] resolvers has %q, which is no address of a name server such as 9.9.9.9", name)
		case err != nil || addr.IsLoopback() || addr.Zone() != "":
		default:
			list = append(list, addr)
		}
	}
	return list, nil
}

// hostResolvers reads the name servers of resolv.conf(5).
func hostResolvers() (names []string, err error) {
	data, err := os.ReadFile("/etc/resolv.conf")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "nameserver" {
			names = append(names, fields[1])
		}
	}
	return names, nil
}
