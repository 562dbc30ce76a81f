package verifier

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"git-ward/sandbox/firewall"
	"git-ward/sandbox/podman"
)

// Containers runs each command in a container of its own. A verdict that cannot
// be had is not one: what fails to start is an error, never an outcome.
type Containers struct {
	Engine *podman.Engine
	Limits Limits
	// Container is all but the command: image, user, mounts, limits. It has
	// nothing that is written to twice.
	Container podman.Spec
	Remote    string // where the repository is inside that a job is checked out of
	Dir       string // where the checkout goes inside; must not be there
	Setup     string // a script for the shell that runs before each command; "" for none
	// Rules, if any, puts the firewall's rules into the network namespace of a
	// process and reads them back, before anything runs, and keeps them.
	Rules func(ctx context.Context, pid int) (*firewall.Follower, error)
	// Room, if any, has room for a second container at a time, or has none; see Companion.
	Room func() (leave func(), ok bool)
}

// Company is Room's.
func (v *Containers) Company() (leave func(), ok bool) {
	if v.Room == nil {
		return nil, false
	}
	return v.Room()
}

// Fence is podman with its runtime, and the image.
func (v *Containers) Fence() (fence, image string) {
	return "podman/" + v.Engine.Runtime(), v.Container.Image
}

// Run makes a container, runs the command, and removes the container.
func (v *Containers) Run(ctx context.Context, job Job) (o Outcome, err error) {
	out := func(full func()) (*output, podman.Streams) {
		out := newOutput(v.Limits.Output, job.Keep, full)
		return out, podman.Streams{Stdout: stream{out, true}, Stderr: stream{out, false}}
	}
	return v.run(ctx, job, out)
}

// Pack runs a script on a checkout of a commit, and gives what it prints to w; what it
// says besides is in the outcome, and in job.Live. A limit of time is all that w has.
func (v *Containers) Pack(ctx context.Context, job Job, w io.Writer) (o Outcome, err error) {
	return v.run(ctx, job, func(full func()) (*output, podman.Streams) {
		out := newOutput(v.Limits.Output, job.Keep, full)
		return out, podman.Streams{Stdout: w, Stderr: stream{out, false}}
	})
}

// run makes a container, runs the command with the streams that open gives, and removes
// the container.
func (v *Containers) run(ctx context.Context, job Job, open func(full func()) (*output, podman.Streams)) (o Outcome, err error) {
	spec := v.Container
	// 125 is the shell world's word for "the wrapper failed". A command that
	// says so itself is not met either.
	spec.Command = []string{"sh", "-c", "(" + checkoutScript + ") || exit 125; (:\n" + v.Setup + "\n) || exit 125; " + holdScript + "cd \"$2\" && exec sh -c \"$4\" </dev/null",
		"verify", v.Remote, v.Dir, job.Commit, job.Line}
	var held *hold
	if job.watched() {
		held = newHold(job, v.Dir)
		spec.Stdin, spec.Command = true, append(spec.Command, held.word)
		open = held.around(open)
	}
	if job.Repo != "" { // in the place of the one that has the claim
		spec.Mounts = slices.DeleteFunc(slices.Clone(spec.Mounts), func(m podman.Mount) bool {
			return m.Target == v.Remote || strings.HasPrefix(m.Target, v.Remote+"/")
		})
		spec.Mounts = append(spec.Mounts, podman.Mount{Kind: podman.Bind, Source: job.Repo, Target: v.Remote, ReadOnly: true})
	}
	if len(job.Env) > 0 {
		spec.Env = maps.Clone(spec.Env)
		maps.Copy(spec.Env, job.Env)
	}
	container, err := v.Engine.Create(ctx, &spec)
	if err != nil {
		return o, err
	}
	defer func() {
		if removeErr := container.Remove(ctx); err == nil {
			err = removeErr
		}
	}()
	pid, err := container.Init(ctx)
	if err != nil {
		return o, err
	}
	return v.watch(ctx, container, pid, job.Live, held, open)
}

// watch puts the rules in place, starts the container and waits for its end, its last
// output, its time or its flood. An end of its rules is no outcome.
func (v *Containers) watch(ctx context.Context, c *podman.Container, pid int, live *Live, held *hold, open func(full func()) (*output, podman.Streams)) (o Outcome, err error) {
	limited, cancel := context.WithTimeout(ctx, v.Limits.Time)
	defer cancel()
	out, streams := open(cancel)
	live.show(out)
	defer held.close()
	detached := c.Attach(context.WithoutCancel(ctx), streams) // beside the rules; Start waits for both
	var rules *firewall.Follower
	if v.Rules != nil {
		if rules, err = v.Rules(ctx, pid); err != nil {
			return o, err
		}
	}
	defer rules.Close()
	start := time.Now()
	if err := c.Start(ctx); err != nil {
		return o, err
	}
	over := make(chan struct{})
	broken := make(chan error, 1)
	observed := held.release(pid, over)
	go func() {
		var err error
		select {
		case err = <-rules.Broken():
			c.Stop(context.WithoutCancel(ctx), 0)
		case <-limited.Done():
			c.Stop(context.WithoutCancel(ctx), 0)
		case <-over:
		}
		broken <- err
	}()
	o.Exit, err = c.Wait(context.WithoutCancel(ctx))
	close(over)
	o.Opened = observed()
	if err := errors.Join(<-broken, err); err != nil {
		return o, err
	}
	podman.Drain(detached)
	if ctx.Err() != nil {
		return o, context.Cause(ctx)
	}
	o.Time = time.Since(start)
	o.ended(limited, out)
	return o, nil
}
