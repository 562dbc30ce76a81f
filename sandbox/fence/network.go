package fence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"

	"git-ward/internal/config"
	"git-ward/sandbox/firewall"
)

// Policy is SBX-2 for this machine, as it is now. Warnings are for people.
func Policy(ctx context.Context, settings *config.Config, warnings io.Writer) (firewall.Policy, error) {
	p, err := hostPolicy(ctx, settings)
	if err != nil || p.Mode != firewall.Public {
		return p, err
	}
	if p.Resolvers, err = resolvers(settings.Sandbox.Resolvers); err != nil {
		return p, err
	}
	if len(p.Resolvers) == 0 {
		fmt.Fprintln(warnings, "warning: no name server that a container can reach; set [sandbox] resolvers")
	}
	return p, p.Validate()
}

// hostPolicy is Policy without name servers, for plain processes: they are not
// fenced, and ask for names as the host does. The gateway goes by its other facts.
func hostPolicy(ctx context.Context, settings *config.Config) (firewall.Policy, error) {
	p := firewall.Policy{Mode: firewall.Mode(settings.Egress.Mode)}
	var err error
	if p.HostAddrs, p.HostRoutes, err = firewall.HostFacts(ctx); err != nil {
		return p, fmt.Errorf("the host's own addresses cannot be read: %w", err)
	}
	return p, p.Validate()
}

// resolvers are the configured name servers, or the host's own where a container
// can reach them: one on the host's loopback it cannot.
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
			return nil, fmt.Errorf("[sandbox] resolvers: %w", err)
		case err != nil || addr.IsLoopback() || addr.Zone() != "":
		default:
			list = append(list, addr)
		}
	}
	return list, nil
}

// hostResolvers are the name servers of resolv.conf(5).
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
