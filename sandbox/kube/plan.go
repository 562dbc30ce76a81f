// Package kube runs directives as Jobs of Kubernetes: it creates a repository's missing Jobs
// in a cluster, follows those that run, and deletes those that have ended or must not go on
// (MANY-3). The cluster handles time, restarts, limits and lost nodes; the lease decides who
// may work on a directive. All state is in refs and in the cluster.
package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/kube/manifest"
)

// Plan has what all Jobs of one launch share.
type Plan struct {
	Bare     string
	Settings *config.Config
	Policy   firewall.Policy // of an agent's pod, without the gate
	Image    string
	Model    string
	Once     bool // the launch ends when nothing is left to do
	Gate     Gate
	Config   string // the text of Settings
}

// Gate says how a pod reaches this host.
type Gate struct {
	URL     string         // ssh://USER@ADDRESS:PORT/PATH
	Address netip.AddrPort // the same, for the rules
	HostKey string         // a line of an sshd's public key file; "" is not known
}

// NewGate reads where the gate is, by [kube] gate or, for its host and port, address
// (HOST:PORT, "" for none). A name is resolved here, because no process in a pod
// may ask a DNS server.
func NewGate(ctx context.Context, k *config.Kube, address string) (g Gate, err error) {
	if k.Gate == "" {
		return g, diag.Hint(errors.New("[kube] gate is empty: pods do not know the way here"), `set it to where they reach this host's sshd, such as "ssh://git@gate.example:22/srv/git/project.git" (docs/cluster.md)`)
	}
	u, err := url.Parse(k.Gate)
	if err != nil {
		return g, fmt.Errorf("[kube] gate: %w", err)
	}
	host, port := u.Hostname(), cmp.Or(u.Port(), "22")
	if address != "" {
		if host, port, err = net.SplitHostPort(address); err != nil {
			return g, diag.Hint(fmt.Errorf("--gate-address %s: %w", diag.Clean(address), err), "it is HOST:PORT, as pods reach it")
		}
	}
	if g.Address, err = lookUp(ctx, host, port); err != nil {
		return g, err
	}
	u.Host = g.Address.String()
	g.URL = u.String()
	return g, nil
}

// lookUp is the address and port to which pods connect.
func lookUp(ctx context.Context, host, port string) (at netip.AddrPort, err error) {
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return at, fmt.Errorf("the gate's port is %q, which is none", diag.Clean(port))
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		if err != nil || len(all) == 0 {
			return at, diag.Hint(fmt.Errorf("the gate %s has no address here: %w", diag.Clean(host), err), "[kube] gate, or --gate-address HOST:PORT, names one that pods reach")
		}
		a = all[0]
	}
	if a = a.Unmap(); a.IsLoopback() || a.IsUnspecified() || a.Zone() != "" {
		return at, diag.Hint(fmt.Errorf("the gate's address %s is a pod's own, not this host's", a), "--gate-address HOST:PORT names one that pods reach")
	}
	return netip.AddrPortFrom(a, uint16(number)), nil
}

// ReadHostKey reads the public host key that near must trust.
func (g *Gate) ReadHostKey(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return diag.Hint(fmt.Errorf("[kube] host_key_file: %w", err), "it is the public key of the sshd that pods reach, such as /etc/ssh/ssh_host_ed25519_key.pub")
	}
	fields := strings.Fields(string(data))
	if len(fields) < 2 || !strings.Contains(fields[0], "-") || strings.Contains(string(data), "PRIVATE") {
		return fmt.Errorf("[kube] host_key_file: %s is no public key", path)
	}
	g.HostKey = fields[0] + " " + fields[1]
	return nil
}

// KnownHosts has the host keys that near trusts, in the format of sshd(8).
func (g *Gate) KnownHosts() []byte {
	name := fmt.Sprintf("[%s]:%d", g.Address.Addr(), g.Address.Port())
	if g.Address.Port() == 22 {
		name = g.Address.Addr().String()
	}
	return fmt.Appendf(nil, "%s %s\n", name, g.HostKey)
}

// slack is how much longer than its time and grace a Job may run before the cluster ends it,
// in case no launcher is left.
const slack = time.Minute

// Spec is a directive's pod, of its kth unit, whose work is to end at until.
func (p *Plan) Spec(directive string, k int, until time.Time) *manifest.Spec {
	policy := p.Policy
	policy.Gates, policy.GateUser = []netip.AddrPort{p.Gate.Address}, manifest.GateUser
	return &manifest.Spec{
		Name: manifest.Name(p.Repository(), directive, k), Namespace: p.Settings.Kube.Namespace,
		Labels: map[string]string{gateLabel: p.mark(), directiveLabel: directive},
		Image:  p.Image, Settings: p.Settings, Config: p.Config, Gate: p.Gate.URL, Policy: policy, Model: p.Model, Directive: directive, Once: p.Once,
		Until: until, Time: time.Until(until).Round(time.Second) + p.Settings.Budget.Grace.Duration + slack,
	}
}

// Repository is the repository's name in those of Jobs.
func (p *Plan) Repository() string { return strings.TrimSuffix(filepath.Base(p.Bare), ".git") }
