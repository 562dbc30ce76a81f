package launch

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"git-ward/internal/git"
	"git-ward/protocols/lease"
	"git-ward/sandbox/kube"
	"git-ward/sandbox/verifier"
	"git-ward/sandbox/verifier/local"
)

// pods is the engine of a launch on Kubernetes, which runs a directive as a Job.
type pods struct {
	fenced
	there
	cluster *kube.Engine // as prepared by open
}

func (p *pods) where(directive string) string { return p.cluster.Where(directive) }
func (*pods) steady() bool                    { return false } // it stops if the cluster does not answer, while the pod works on
func (p *pods) runner() local.Runner          { return p }
func (*pods) Warm(context.Context) error      { return nil }

// open checks that the cluster may be used, and keeps kubectl running until end is called.
func (p *pods) open(ctx context.Context) (end func() error, err error) {
	s := &p.launch.spec
	plan, err := PlanKube(ctx, s, *s.Kube)
	if err != nil {
		return nil, err
	}
	if err := plan.Gate.ReadHostKey(s.Settings.Kube.HostKeyFile); err != nil {
		return nil, err
	}
	cluster, err := kube.Connect(s.Settings.Kube.Namespace, p.launch.scratch.Path)
	if err != nil {
		return nil, err
	}
	p.cluster = &kube.Engine{Plan: plan, Cluster: cluster, Repo: git.Open(s.Bare), Keys: p.launch.keys(), Log: p.launch.logOf("kube"), Scratch: p.launch.scratch.Path,
		Tell: func(why string) {
			if why != "" {
				fmt.Fprintln(p.launch.words(), "a verdict waits:", why)
			}
		}}
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx)) // what runs is deleted after ctx
	var served sync.WaitGroup
	served.Go(func() { cluster.Serve(serving) })
	end = func() error {
		cancel()
		served.Wait()
		return nil
	}
	if err := p.cluster.Check(ctx); err != nil {
		end()
		return nil, err
	}
	return end, nil
}

func (p *pods) sweep(ctx context.Context, held []lease.Lease) error {
	err := p.cluster.Sweep(ctx)
	if err != nil {
		return err
	}
	for _, of := range held {
		err = errors.Join(err, p.launch.book.Release(ctx, of))
	}
	return err
}

// run runs a directive's Job.
func (p *pods) run(ctx context.Context, w *worker) error {
	return p.cluster.Run(ctx, kube.Work{Directive: w.only, Lease: w.job.Hold.Lease(), Until: p.launch.until, Stdout: w.payload.Stdout, Told: w.why, Up: w.up})
}

// Verify runs a claim's commands in their own Job.
func (p *pods) Verify(ctx context.Context, claim verifier.Claim) (*verifier.Facts, error) {
	if err := local.Room(p.launch.spec.Settings, p.launch.spec.Bare); err != nil {
		return nil, err
	}
	return p.cluster.Verify(ctx, claim)
}
