package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/lease"
	"git-ward/sandbox/door/keys"
	"git-ward/sandbox/host"
	"git-ward/sandbox/kube/manifest"
)

// Engine runs directives as Jobs. It is safe for concurrent use.
type Engine struct {
	*Plan
	Cluster *Cluster
	Repo    *git.Repo // of the Plan's Bare
	Keys    keys.File
	Log     zerolog.Logger
	Scratch string           // a directory for sockets
	Tell    func(why string) // why a verification is delayed, see Work.Told
}

// Work is one directive. The caller holds and renews its lease.
type Work struct {
	Directive string
	Lease     lease.Lease
	Until     time.Time        // [budget] time is spent
	Stdout    io.Writer        // gets the agent's container output
	Told      func(why string) // one line, with the remedy, of what keeps the work from going on; "" when it goes on
	Up        func()           // called when the agent's container runs; may be nil
}

// failed is the end of a Job whose pod failed, which is the only one that its work may have caused.
type failed struct{ error }

// Where describes the place of a directive's work for its lease.
func (e *Engine) Where(directive string) string {
	return fmt.Sprintf("kube %s/%s", e.Cluster.Namespace, e.name(context.Background(), directive))
}

// name is a directive's Job name. It contains the number of the unit at work or, without one,
// of the first, so that all that work on the unit use the same name.
func (e *Engine) name(ctx context.Context, directive string) string {
	return manifest.Name(e.Repository(), directive, e.unit(ctx, directive))
}

func (e *Engine) unit(ctx context.Context, directive string) int {
	newest := 1
	out, err := e.Repo.Output(ctx, "for-each-ref", "--format=%(refname)", "refs/ward/uow/"+directive+".*")
	if err != nil {
		return newest
	}
	for line := range strings.Lines(string(out)) {
		if n, err := strconv.Atoi(strings.TrimSpace(line[strings.LastIndexByte(line, '.')+1:])); err == nil {
			newest = max(newest, n)
		}
	}
	return newest
}

// Run makes a directive's Job, with a key of its own for the lease, and follows it to its
// end; then both are gone again. nil: it ended normally. When ctx ends the Job is
// deleted, and its pod has gone or is told to, when this returns.
//
// An API server that is away stops nothing that runs: it is asked again. The caller
// should make a new Job after an error and a pause. The error is a *host.Ended unless the Job failed.
func (e *Engine) Run(ctx context.Context, w Work) (err error) {
	defer func() {
		if err != nil && !errors.As(err, new(failed)) {
			err = &host.Ended{Why: err}
		}
	}()
	k := e.unit(ctx, w.Directive)
	spec := e.Spec(w.Directive, k, w.Until)
	spec.Labels[leaseLabel], spec.Only = w.Lease.ID, w.Lease.ID
	spec.Notes = map[string]string{"ward/holder": w.Lease.Holder}
	take, err := e.giveKey(spec, w.Lease.Name(), []string{"--lease", w.Lease.Name()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, take()) }()
	before := e.left(ctx, w.Directive)
	r := &run{Engine: e, spec: spec, told: w.Told, out: w.Stdout, up: w.Up, name: "agent"}
	if err := r.whole(ctx); err != nil {
		return err
	}
	if before == e.left(ctx, w.Directive) { // the next one would fail, too
		return diag.Hint(fmt.Errorf("the Job of %s ended normally but made no progress", w.Directive), "git ward uow show shows the unit's state; it is tried again, after longer and longer pauses")
	}
	return nil
}

// left lists what work on a directive left, as far as it can be read.
func (e *Engine) left(ctx context.Context, directive string) string {
	out, _ := e.Repo.Output(ctx, "for-each-ref", "--format=%(refname) %(objectname)", "refs/ward/uow/"+directive+".*", "refs/ward/record/"+directive+".*", "refs/heads/agent/"+directive+"*", e.Settings.Control.Ref())
	return string(out)
}

// giveKey makes a pod's key, which the gate accepts until the Job's time is over or take is
// called, and stores it only in the Job's Secret.
func (e *Engine) giveKey(spec *manifest.Spec, name string, door []string) (take func() error, err error) {
	private, public, err := keys.New(name)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	if err := e.Keys.Add(keys.Key{Name: name, Public: public, Door: door, Until: now.Add(spec.Time + slack)}, now); err != nil {
		return nil, err
	}
	spec.Secret = &manifest.Secret{Key: private, KnownHosts: e.Gate.KnownHosts()}
	return func() error { return e.Keys.Remove(name) }, nil
}

// Sweep deletes the Jobs that an earlier launcher of this repository left, whose keys the gate
// knows no more: the work goes on from refs in new ones.
func (e *Engine) Sweep(ctx context.Context) error {
	var left list[job]
	ours := url.Values{"labelSelector": {gateLabel + "=" + e.mark()}}
	if err := e.Cluster.call(ctx, http.MethodGet, e.Cluster.path(jobs, "", ours), nil, &left); err != nil {
		return err
	}
	for i := range left.Items {
		j := &left.Items[i]
		e.Log.Info().Str("job", j.Metadata.Name).Str("lease", j.Metadata.Labels[leaseLabel]).Msg("left by an earlier launcher; deleted")
		if err := e.Cluster.remove(ctx, j.Metadata.Name, j.Metadata.UID); err != nil {
			return err
		}
	}
	return nil
}

// Check asks the cluster what a launch needs to know before it promises anything: whether
// the API server answers, and whether Jobs may be listed in the namespace.
func (e *Engine) Check(ctx context.Context) error {
	var one list[job]
	for end := time.Now().Add(connectPatience); ; {
		err := e.Cluster.call(ctx, http.MethodGet, e.Cluster.path(jobs, "", url.Values{"limit": {"1"}}), nil, &one)
		if _, ok := errors.AsType[*Away](err); err == nil || !ok || time.Now().After(end) {
			return err
		}
		if err := sleep(ctx, 200*time.Millisecond); err != nil { // kubectl does not announce that it listens
			return err
		}
	}
}

// connectPatience is how long kubectl may take to start.
const connectPatience = 10 * time.Second

// remove deletes a Job with its pod and companions. It is no error if it is gone or has been
// replaced.
func (c *Cluster) remove(ctx context.Context, name, uid string) error {
	how := map[string]any{"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
	if uid != "" {
		how["preconditions"] = map[string]string{"uid": uid}
	}
	err := c.call(ctx, http.MethodDelete, c.path(jobs, name, nil), how, nil)
	if is(err, http.StatusNotFound) || is(err, http.StatusConflict) {
		return nil
	}
	return err
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// taken is the error for a Job name that is in use.
func (e *Engine) taken(name string) error {
	return diag.Hint(fmt.Errorf("the Job %s/%s is somebody else's, and nothing of it is touched", e.Cluster.Namespace, name),
		"if nobody needs it: `kubectl -n %s delete job %s`; two gates with repositories of one name need a [kube] namespace each", e.Cluster.Namespace, name)
}
