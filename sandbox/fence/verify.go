package fence

import (
	"context"
	"errors"

	"github.com/rs/zerolog"

	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/podman"
	"git-ward/sandbox/verifier"
)

// Verifier runs the commands of claims on a repository as its settings say: in
// containers of their own, or as plain processes (LOOP-5).
type Verifier struct {
	Bare     string
	Settings *config.Config
	Podman   Podman
	Unfenced bool
	Policy   firewall.Policy // of the agent's fence; [verify] network may allow less
	Log      zerolog.Logger
}

// Verify runs a claim's commands. A claim that cannot be judged is a *verifier.Unfit.
func (v *Verifier) Verify(ctx context.Context, claim verifier.Claim) (_ *verifier.Facts, err error) {
	s := v.Settings.Verify
	limits := verifier.Limits{Time: s.Timeout.Duration, Output: s.OutputSize}
	repo := git.Open(v.Bare)
	if v.Unfenced {
		return verifier.Verify(ctx, repo, &verifier.Processes{Bare: v.Bare, Limits: limits}, claim)
	}
	// A name of its own: the agent's next container must not sweep this one away.
	f, err := openFence(ctx, "verify-"+ownerOf(v.Bare), v.Podman, v.Settings.Sandbox.Image)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	f.policy, f.log = v.Policy, v.Log
	if s.Network == "none" {
		f.policy.Mode, f.policy.Resolvers = firewall.Allowlist, nil // of nothing: no gateway is there
	}
	// The repository and a directory to work in, and neither door nor gateway.
	spec := f.container(v.Bare, v.Settings)
	spec.Mounts = append(spec.Mounts, podman.Mount{Kind: podman.Tmpfs, Target: InsideState, Size: v.Settings.Sandbox.TmpSize})
	return verifier.Verify(ctx, repo, &verifier.Containers{
		Engine: f.engine, Limits: limits, Container: *spec, Rules: f.enforce,
		Remote: InsideBare, Dir: InsideState + "/work",
	}, claim)
}
