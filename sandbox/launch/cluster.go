package launch

import (
	"context"
	"fmt"
	"sync"

	"git-ward/internal/git"
	"git-ward/sandbox/kube"
)

// jobs is the engine of a launch on Kubernetes, which runs a directive as a Job.
type jobs struct{ *kube.Engine }

// openCluster makes the launch's engine, asks the cluster whether it may be used, and keeps
// kubectl running until what it returns is called.
func (l *launch) openCluster(ctx context.Context) (closed func(), err error) {
	s := &l.spec
	plan, err := PlanKube(ctx, s, *s.Kube)
	if err != nil {
		return nil, err
	}
	if err := plan.Gate.ReadHostKey(s.Settings.Kube.HostKeyFile); err != nil {
		return nil, err
	}
	cluster, err := kube.Connect(s.Settings.Kube.Namespace, l.scratch.Path)
	if err != nil {
		return nil, err
	}
	e := &kube.Engine{Plan: plan, Cluster: cluster, Repo: git.Open(s.Bare), Keys: l.keys(), Log: l.logOf("kube"), Scratch: l.scratch.Path,
		Tell: func(why string) {
			if why != "" {
				fmt.Fprintln(l.words(), "a verdict waits:", why)
			}
		}}
	serving, end := context.WithCancel(context.WithoutCancel(ctx)) // what runs is taken away after ctx
	var served sync.WaitGroup
	served.Go(func() { cluster.Serve(serving) })
	closed = func() {
		end()
		served.Wait()
	}
	if err := e.Check(ctx); err != nil {
		closed()
		return nil, err
	}
	l.engine = jobs{e}
	return closed, nil
}

// Run runs a directive's Job.
func (j jobs) Run(ctx context.Context, w Work) error {
	return j.Engine.Run(ctx, kube.Work{Directive: w.Directive, Lease: w.Lease, Until: w.Until, Stdout: w.Stdout, Told: w.Why, Up: w.Up})
}
