package verifier

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"git-ward/internal/scratch"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/podman"
)

// Containers runs each command in a container of its own. A container that fails to start is an error,
// never an outcome.
type Containers struct {
	Engine *podman.Engine
	Limits Limits
	// Container is all but the command: image, user, mounts, limits. It has no place that two
	// containers write to.
	Container podman.Spec
	Remote    string // where the repository is inside that a job is checked out of
	Dir       string // where the checkout goes inside; must not be there
	Setup     string // a script for the shell that runs before each command; "" for none
	// Rules, if any, sets the firewall's rules in the network namespace of a process before anything
	// runs there, reads them back, and keeps them in place.
	Rules func(ctx context.Context, pid int) (*firewall.Follower, error)
	// Room, if any, reserves room for a second container; see Companion.
	Room func() (leave func(), ok bool)

	spares *spares // nil: none are made
}

// Company calls Room.
func (v *Containers) Company() (leave func(), ok bool) {
	if v.Room == nil {
		return nil, false
	}
	return v.Room()
}

// Fence returns podman with its runtime, and the image.
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

// Pack runs a script on a checkout of a commit, and writes its standard output to w without a limit of
// size. Its standard error is in the outcome and in job.Live.
func (v *Containers) Pack(ctx context.Context, job Job, w io.Writer) (o Outcome, err error) {
	return v.run(ctx, job, func(full func()) (*output, podman.Streams) {
		out := newOutput(v.Limits.Output, job.Keep, full)
		return out, podman.Streams{Stdout: w, Stderr: stream{out, false}}
	})
}

// waitScript runs in a container that was made before its command is known. It reads a word, a commit
// and a line for the shell, checks out, prints the word, and waits until the checkout is watched. The
// command gets neither the word nor this standard input. A shell reads from a pipe byte by byte, and no
// further than it has to.
//
// By the convention of shells, 125 means that the wrapper failed. A command that exits with it does not
// hold, either.
const waitScript = `IFS= read -r ward_word && IFS= read -r ward_commit && read -r ward_more && IFS= read -r ward_line || exit 125
while [ "$ward_more" -gt 0 ]; do
	IFS= read -r ward_next || exit 125
	ward_line="$ward_line
$ward_next"
	ward_more=$((ward_more-1))
done
set -- "$1" "$2" "$ward_commit" "$ward_line" "$ward_word"
unset ward_word ward_commit ward_more ward_line ward_next
(` + checkoutScript + `) </dev/null || exit 125
(:
`

// heldScript follows Setup, which runs before each command.
const heldScript = `
) </dev/null || exit 125
printf '%s\n' "$5"
read -r ward_go || exit 125
unset ward_go
cd "$2" && exec sh -c "$4" </dev/null`

// prepared is a container that waits for its command behind its rules.
type prepared struct {
	container *podman.Container
	pid       int
	hold      *hold
	detached  func() error
	rules     *firewall.Follower
	dir       *scratch.Dir // in which a spare's repository is put; nil where it is there
	alive     func() bool  // the container waits
	born      time.Time
}

// prepare makes a container that waits for a job's command, or, with nil, for the command of a job to
// come, and sets its rules. If it fails, nothing is left.
func (v *Containers) prepare(ctx context.Context, job *Job) (p *prepared, err error) {
	p = &prepared{hold: newHold(v.Dir), born: time.Now()}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close(ctx))
		}
	}()
	spec := v.Container
	spec.Stdin, spec.Command = true, []string{"sh", "-c", waitScript + v.Setup + heldScript, "verify", v.Remote, v.Dir}
	var repo string
	if job != nil {
		repo = job.Repo
		if len(job.Env) > 0 {
			spec.Env = maps.Clone(spec.Env)
			maps.Copy(spec.Env, job.Env)
		}
	} else {
		if p.dir, err = emptyRepo(v.spares.dir); err != nil {
			return p, err
		}
		repo, spec.Timeout = p.dir.Path, spec.Timeout+v.spares.wait // as long as it may wait
	}
	if repo != "" { // in the place of the one that has the claim
		spec.Mounts = slices.DeleteFunc(slices.Clone(spec.Mounts), func(m podman.Mount) bool {
			return m.Target == v.Remote || strings.HasPrefix(m.Target, v.Remote+"/")
		})
		spec.Mounts = append(spec.Mounts, podman.Mount{Kind: podman.Bind, Source: repo, Target: v.Remote, ReadOnly: true})
	}
	if p.container, err = v.Engine.Create(ctx, &spec); err != nil {
		return p, err
	}
	p.alive = p.container.Alive
	if p.pid, err = p.container.Init(ctx); err != nil {
		return p, err
	}
	p.detached = p.container.Attach(context.WithoutCancel(ctx), p.hold.streams()) // beside the rules; Start waits for both
	if v.Rules != nil {
		if p.rules, err = v.Rules(ctx, p.pid); err != nil {
			return p, err
		}
	}
	return p, p.container.Start(ctx)
}

// close removes the container and what was made for it, the rules last.
func (p *prepared) close(ctx context.Context) (err error) {
	p.hold.close()
	if p.container != nil {
		err = p.container.Remove(ctx)
	}
	p.rules.Close()
	if p.dir != nil {
		err = errors.Join(err, p.dir.Remove())
	}
	return err
}

// run runs a job's command with the streams that open returns, in a prepared container or in a new one,
// and removes the container.
func (v *Containers) run(ctx context.Context, job Job, open func(full func()) (*output, podman.Streams)) (o Outcome, err error) {
	defer v.spares.enter()()
	p, err := v.spares.take(ctx, &job)
	if err != nil {
		return o, err
	}
	if p != nil {
		o, began, err := v.use(ctx, p, job, open)
		err = errors.Join(err, v.spares.discard(ctx, p))
		if err != nil || began || o.End != Exited || o.Exit == noCommand {
			return o, err
		}
		// The container ended before it had the command, which may still run in another.
	}
	if p, err = v.prepare(ctx, &job); err != nil {
		return o, err
	}
	o, _, err = v.use(ctx, p, job, open)
	return o, errors.Join(err, v.spares.discard(ctx, p))
}

// use sends a command to a prepared container and waits until it ends, or reaches its limit of time or
// output. Rules that end are an error. began says whether the command began.
func (v *Containers) use(ctx context.Context, p *prepared, job Job, open func(full func()) (*output, podman.Streams)) (o Outcome, began bool, err error) {
	limited, cancel := context.WithTimeout(ctx, v.Limits.Time)
	defer cancel()
	out, streams := open(cancel)
	job.Live.show(out)
	if p.dir != nil {
		if err := fillRepo(p.dir.Path, job.Repo); err != nil {
			return o, false, fmt.Errorf("the judged tree cannot be brought into its container: %w", err)
		}
		job.Repo = p.dir.Path // where its objects are read
	}
	start := time.Now()
	over := make(chan struct{})
	broken := make(chan error, 1)
	observed := p.hold.release(job, streams, p.pid, over)
	go func() {
		var err error
		select {
		case err = <-p.rules.Broken():
			p.container.Stop(context.WithoutCancel(ctx), 0)
		case <-limited.Done():
			p.container.Stop(context.WithoutCancel(ctx), 0)
		case <-over:
		}
		broken <- err
	}()
	o.Exit, err = p.container.Wait(context.WithoutCancel(ctx))
	close(over)
	o.Opened = observed()
	if err := errors.Join(<-broken, err); err != nil {
		return o, false, err
	}
	podman.Drain(p.detached)
	if ctx.Err() != nil {
		return o, false, context.Cause(ctx)
	}
	o.Time = time.Since(start)
	o.ended(limited, out)
	return o, p.hold.began(), nil
}
