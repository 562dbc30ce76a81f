package fence

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"time"

	"git-ward/internal/config"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/kube"
	"git-ward/sandbox/kube/manifest"
)

// Kube is what a launch on Kubernetes has beside the settings (MANY-3). nil: none is.
type Kube struct {
	GateAddress string // HOST:PORT of this host's sshd as pods reach it; "" for [kube] gate's own
	Image       string // of the pods
}

// PodPolicy is what an agent's pod may reach, as far as this host knows: this host's own
// addresses are refused, and the pod's fence adds what it finds around itself.
func PodPolicy(ctx context.Context, settings *config.Config) (firewall.Policy, error) {
	p, err := hostPolicy(ctx, settings)
	if err != nil {
		return p, err
	}
	p.HostRoutes = nil // of a pod's network they say nothing
	p.HostAddrs = slices.DeleteFunc(p.HostAddrs, func(a netip.Addr) bool { return a.IsLoopback() || a.IsLinkLocalUnicast() })
	if p.Mode == firewall.Public && len(settings.Sandbox.Resolvers) > 0 {
		p.Resolvers, err = resolvers(settings.Sandbox.Resolvers)
	}
	return p, err
}

// PlanKube is what the Jobs of a launch have in common. The host key is read where it is
// needed: whoever prints a manifest has none.
func PlanKube(ctx context.Context, s *Spec, k Kube) (*kube.Plan, error) {
	gate, err := kube.NewGate(ctx, &s.Settings.Kube, k.GateAddress)
	if err != nil {
		return nil, err
	}
	policy, err := PodPolicy(ctx, s.Settings)
	if err != nil {
		return nil, err
	}
	return &kube.Plan{Bare: s.Bare, Settings: s.Settings, Policy: policy, Image: k.Image, Model: s.Payload.Model, Once: s.Payload.Once, Gate: gate, Config: string(s.Settings.Copy(config.Inside))}, nil
}

// PrintKube writes the YAML of a directive's Job, or of the pod that podman plays, with
// words in the place of the key.
func PrintKube(w io.Writer, plan *kube.Plan, directive string, podman bool) error {
	spec := plan.Spec(directive, 1, time.Now().Add(plan.Settings.Budget.Time.Duration))
	objects := spec.Objects()
	if podman {
		objects = spec.Podman()
	}
	text, err := manifest.YAML(objects)
	if err != nil {
		return fmt.Errorf("the manifest cannot be written: %w", err)
	}
	_, err = w.Write(text)
	return err
}
