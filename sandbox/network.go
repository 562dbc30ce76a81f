package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/rs/zerolog"

	"git-ward/sandbox/firewall"
	"git-ward/sandbox/gateway"
)

// firewallPolicy is SBX-2 for this machine, as it is now.
func (s *Spec) firewallPolicy(ctx context.Context) (firewall.Policy, error) {
	p := firewall.Policy{Mode: firewall.Mode(s.Settings.Egress.Mode)}
	var err error
	if p.HostAddrs, p.HostRoutes, err = firewall.HostFacts(ctx); err != nil {
		return p, fmt.Errorf("the host's own addresses cannot be read: %w", err)
	}
	if p.Mode == firewall.Public && !s.Unfenced { // a plain process asks as the host does
		if p.Resolvers, err = s.resolvers(); err != nil {
			return p, err
		}
	}
	return p, p.Validate()
}

// resolvers are the configured name servers, or the host's own where a container
// can reach them. A resolver on the host's loopback is not reachable: names do
// not resolve then, and launch says so.
func (s *Spec) resolvers() ([]netip.Addr, error) {
	names := s.Settings.Sandbox.Resolvers
	configured := len(names) > 0
	if !configured {
		data, err := os.ReadFile("/etc/resolv.conf")
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		for line := range strings.Lines(string(data)) {
			if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "nameserver" {
				names = append(names, fields[1])
			}
		}
	}
	var list []netip.Addr
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
	if len(list) == 0 {
		fmt.Fprintln(s.Stderr, "warning: no name server that a container can reach; set [sandbox] resolvers")
	}
	return list, nil
}

// openGateway opens the models' way out for a launch.
func (s *Spec) openGateway(p firewall.Policy, log zerolog.Logger) (*gateway.Gateway, error) {
	prices, err := s.prices()
	if err != nil {
		return nil, err
	}
	cost, err := gateway.ParseMoney(s.Settings.Budget.Cost)
	if err != nil {
		return nil, fmt.Errorf("[budget] cost: %w", err)
	}
	m := s.Settings.Model
	anthropic, err := s.provider(m.AnthropicURL, m.AnthropicKeyFile, "ANTHROPIC_API_KEY")
	if err != nil {
		return nil, err
	}
	openai, err := s.provider(m.OpenAIURL, m.OpenAIKeyFile, "OPENAI_API_KEY")
	if err != nil {
		return nil, err
	}
	return gateway.Listen(gateway.Config{
		Dir: s.RuntimeDir, Meter: filepath.Join(s.Bare, "ward/meter.json"),
		Directive: s.payer,
		Budget:    func(string) gateway.Budget { return gateway.Budget{Tokens: s.Settings.Budget.Tokens, Cost: cost} },
		Until:     s.until,
		Anthropic: anthropic, OpenAI: openai, Prices: prices,
		Allowlist: p.Mode == firewall.Allowlist, Allow: s.Settings.Egress.Allow, Blocked: p.HostRoutes,
		Log: log,
	})
}

func (s *Spec) prices() (gateway.Prices, error) {
	var table []gateway.PriceSetting
	for _, p := range s.Settings.Prices {
		table = append(table, gateway.PriceSetting{Model: p.Model, Input: p.Input, Output: p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite})
	}
	prices, err := gateway.NewPrices(table)
	if err != nil {
		return prices, fmt.Errorf("[[prices]]: %w", err)
	}
	return prices, nil
}

// provider reads a key where only the host can: a file, else the launcher's own
// environment.
func (s *Spec) provider(url, keyFile, variable string) (gateway.Provider, error) {
	p := gateway.Provider{BaseURL: url}
	var err error
	if keyFile != "" {
		p.Key, err = gateway.ReadKey(keyFile)
	} else if text := s.Getenv(variable); text != "" {
		p.Key, err = gateway.NewKey(text)
	}
	return p, err
}
