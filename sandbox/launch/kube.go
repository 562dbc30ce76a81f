package launch

import (
	"context"
	"fmt"
	"io"
	"time"

	"git-ward/internal/config"
	"git-ward/sandbox/fence"
	"git-ward/sandbox/kube"
	"git-ward/sandbox/kube/manifest"
)

// Kube has what a launch on Kubernetes needs besides the settings (MANY-3). It is nil for any
// other launch.
type Kube struct {
	GateAddress string // HOST:PORT of this host's sshd as pods reach it; "" for [kube] gate's own
	Image       string // of the pods
}

// PlanKube makes what the Jobs of a launch share. The host key is read only when needed,
// because printing a manifest works without one.
func PlanKube(ctx context.Context, s *Spec, k Kube) (*kube.Plan, error) {
	gate, err := kube.NewGate(ctx, &s.Settings.Kube, k.GateAddress)
	if err != nil {
		return nil, err
	}
	policy, err := fence.PodPolicy(ctx, s.Settings)
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
