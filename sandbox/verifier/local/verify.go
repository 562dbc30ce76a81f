// Package local runs the commands of claims on this machine: in fenced containers of their
// own, or as plain processes (LOOP-5).
package local

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/rs/zerolog"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/sandbox/fence"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/image"
	"git-ward/sandbox/podman"
	"git-ward/sandbox/verifier"
	"git-ward/sandbox/verifier/cache"
)

// Runner runs the commands of claims.
type Runner interface {
	// Verify runs a claim's commands. A claim that cannot be judged is a *verifier.Unfit.
	Verify(ctx context.Context, claim verifier.Claim) (*verifier.Facts, error)
	// Warm prepares for claims on the tip of the project's branch.
	Warm(ctx context.Context) error
}

// Verifier runs the commands of claims on a repository in containers, as its settings say.
type Verifier struct {
	Bare     string
	Settings *config.Config
	Podman   fence.Podman
	Policy   firewall.Policy // of the agent's fence; [verify] network may allow less
	Log      zerolog.Logger
	Shared   *fence.Shared // the launch's podman; nil: one of its own for each verification
	AtOnce   int           // how many verifications may run at once
	caching  caching
	places   places
	stock    stock
}

// Processes runs them as plain processes.
type Processes struct {
	Bare     string
	Settings *config.Config
	Mark     string           // see verifier.Processes
	Places   *verifier.Places // the launch's; nil: each verification has its own
}

// Verify runs a claim's commands. A claim that cannot be judged is a *verifier.Unfit.
func (p *Processes) Verify(ctx context.Context, claim verifier.Claim) (_ *verifier.Facts, err error) {
	if err := Room(p.Settings, p.Bare); err != nil {
		return nil, err
	}
	places := p.Places
	if places == nil {
		if places, err = verifier.NewPlaces(); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, places.Close()) }()
	}
	return verifier.Verify(ctx, Repo(p.Bare, p.Settings), &verifier.Processes{Limits: limits(p.Settings), Mark: p.Mark, Places: places}, claim)
}

// Warm does nothing: each plain process has a HOME of its own, and so no cache.
func (*Processes) Warm(context.Context) error { return nil }

func limits(s *config.Config) verifier.Limits {
	return verifier.Limits{Time: s.Verify.Timeout.Duration, Output: s.Verify.OutputSize}
}

// Verify runs a claim's commands. A claim that cannot be judged is a *verifier.Unfit.
func (v *Verifier) Verify(ctx context.Context, claim verifier.Claim) (_ *verifier.Facts, err error) {
	if err := v.room(); err != nil {
		return nil, err
	}
	if v.Shared != nil {
		conn, release, err := v.Shared.Use()
		if err != nil {
			return nil, err
		}
		defer release()
		return v.verify(ctx, conn, claim)
	}
	// Without the launch lock it needs a name of its own, so that nobody else removes its containers.
	slot, number, err := takeSlot(v.Bare)
	if err != nil {
		return nil, err
	}
	defer slot.Close()
	owner := ownerOf(slot, number, v.Bare)
	_, leave := Bound(owner, v.Settings, 1, 1)
	defer leave()
	conn, err := fence.Connect(ctx, owner, v.Podman, v.Settings)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Engine.Close()) }()
	return v.verify(ctx, conn, claim)
}

// verify runs a claim's commands in containers.
func (v *Verifier) verify(ctx context.Context, conn *fence.Connection, claim verifier.Claim) (_ *verifier.Facts, err error) {
	defer v.places.take()()
	repo := Repo(v.Bare, v.Settings)
	entry, err := v.cacheOf(ctx, conn, repo, &claim)
	if err != nil {
		return nil, err
	}
	r, err := v.ready(ctx, conn, entry)
	if err != nil {
		return nil, err
	}
	var facts *verifier.Facts
	defer func() { err = errors.Join(err, v.used(r, facts)) }()
	runner := r.runner
	claim.Scratch = conn.Engine.TempDir()
	claim.Ends = v.ends(conn, entry, runner)
	if image := v.Settings.Verify.SecondImage; claim.Against != nil && image != "" {
		name, err := fence.FindImage(ctx, conn.Engine, image)
		if err != nil {
			return nil, err
		}
		second := *claim.Against
		second.Second, claim.Against = runner.In(name), &second
	}
	facts, err = verifier.Verify(ctx, repo, runner, claim)
	return facts, err
}

// policy returns the firewall's policy for judged commands.
func (v *Verifier) policy() firewall.Policy {
	p := v.Policy
	if v.Settings.Verify.Network == "none" {
		p.Mode, p.Resolvers = firewall.Allowlist, nil // of nothing: no gateway is there
	}
	return p
}

// containers returns the runner of commands, each with the cache's entry, if any, and without door and
// gateway.
func (v *Verifier) containers(f *fence.Fence, entry *cache.Entry) *verifier.Containers {
	spec := f.Container(v.Bare, v.Settings, image.AgentID)
	spec.Mounts = append(spec.Mounts, podman.Mount{Kind: podman.Tmpfs, Target: fence.InsideState, Size: v.Settings.Sandbox.TmpSize})
	v.bound(spec)
	runner := &verifier.Containers{Engine: f.Engine, Limits: limits(v.Settings), Rules: f.Enforce, Remote: fence.InsideBare, Dir: fence.InsideState + "/work"}
	runner.Room = v.company
	if entry != nil {
		spec.Mounts = append(spec.Mounts, fence.ReadOnly(entry.Dir, cache.Inside))
		maps.Copy(spec.Env, cache.Env(entry.Seal.Kinds, v.Settings.Verify.Network != "none"))
		runner.Setup = cache.Setup
	}
	runner.Container = *spec
	return runner
}

// bound limits a command's container so that it ends even if this process is killed. Its programs are
// the image's, not Ward's.
func (v *Verifier) bound(spec *podman.Spec) {
	spec.Timeout = v.Settings.Verify.Timeout.Duration + fence.KillGrace
	spec.Env["PATH"] = strings.Replace(spec.Env["PATH"], fence.InsideBin+":", "", 1)
}

// cacheOf is the entry of the cache that a claim's commands get, with what the verdict
// says of it. That there is none is no reason not to judge: it is said.
func (v *Verifier) cacheOf(ctx context.Context, conn *fence.Connection, repo *git.Repo, claim *verifier.Claim) (*cache.Entry, error) {
	entry, locks, err := v.warm(ctx, conn, claim)
	var said []string
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		v.Log.Error().Err(err).Msg("the cache")
		said = append(said, diag.Clean(err.Error()))
	}
	if entry != nil {
		said = append([]string{entry.Words()}, said...)
	}
	if len(locks) > 0 {
		if tree, err := verifier.Tree(ctx, repo, claim.Commit, claim.Bounds); err == nil {
			if differ := locks.Differ(cache.LocksOf(tree, v.Settings.Verify.Cache)); len(differ) > 0 {
				said = append(said, fmt.Sprintf("the claim has another %s, and got what main's names (push the claim's to main to have what it names)", diag.Clean(strings.Join(differ, ", "))))
			}
		} // a commit that cannot be read is told by who judges it
	}
	claim.Cache = strings.Join(said, "; ")
	return entry, nil
}
