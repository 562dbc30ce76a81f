package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"git-ward/sandbox/kube/manifest"
)

// run is one Job from before its creation to its deletion.
type run struct {
	*Engine
	spec *manifest.Spec
	name string // name of the followed container
	told func(why string)
	out  io.Writer // nil: nobody listens
	up   func()

	uid    string // the Job's uid, once created
	last   string // what was told
	upped  bool
	made   time.Time
	output *follower // name of the followed pod
}

// whole makes the Job and follows it. What it leaves, if anything, is a Job that the API
// server could not be asked to delete; that ends by itself, and the next launch deletes it.
func (r *run) whole(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, r.gone(ctx)) }()
	defer func() { r.output.close() }()
	if err := r.persist(ctx, r.make); err != nil {
		return err
	}
	r.Log.Info().Str("job", r.spec.Name).Str("directive", r.spec.Directive).Msg("the Job is made")
	return r.follow(ctx)
}

// persist repeats what an unreachable API server or a missing right prevents, with pauses, and
// reports it.
func (r *run) persist(ctx context.Context, do func(context.Context) error) error {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := do(ctx)
		_, away := errors.AsType[*Away](err)
		_, denied := errors.AsType[*Denied](err)
		if !away && !denied {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r.tell(oneLine(err))
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// tell passes a line on if it differs from the last.
func (r *run) tell(why string) {
	if why == r.last {
		return
	}
	if r.last = why; why != "" {
		r.Log.Warn().Str("job", r.spec.Name).Str("why", why).Msg("the Job does not go on")
	}
	if r.told != nil {
		r.told(why)
	}
}

// make creates the suspended Job, then its companions, and resumes it. Creating the Job first
// reserves the name: of two creators one is refused before it has left anything.
func (r *run) make(ctx context.Context) error {
	c := r.Cluster
	r.spec.Suspend = true
	var made job
	err := c.call(ctx, http.MethodPost, c.path(jobs, "", nil), r.spec.Job(), &made)
	if is(err, http.StatusConflict) {
		return r.occupied(ctx)
	}
	if err != nil {
		return err
	}
	return r.begin(ctx, made.Metadata.UID)
}

// begin creates a suspended Job's companions and resumes it.
func (r *run) begin(ctx context.Context, uid string) error {
	c := r.Cluster
	r.uid, r.made = uid, time.Now()
	r.spec.Owner = &manifest.Owner{APIVersion: "batch/v1", Kind: "Job", Name: r.spec.Name, UID: uid}
	for _, o := range r.spec.Besides() {
		kind := collections[o.Kind]
		err := c.call(ctx, http.MethodPost, c.path(kind, "", nil), o, nil)
		// Its name ends in the lease's id, or in a random word for a verifier, so it is this
		// launcher's, for this Job or an earlier one. It may have another key.
		if is(err, http.StatusConflict) {
			if err = c.call(ctx, http.MethodDelete, c.path(kind, o.Metadata.Name, nil), nil, nil); err == nil || is(err, http.StatusNotFound) {
				err = c.call(ctx, http.MethodPost, c.path(kind, "", nil), o, nil)
			}
		}
		if err != nil {
			return fmt.Errorf("the Job's %s: %w", o.Kind, err)
		}
	}
	begin := map[string]any{"spec": map[string]any{"suspend": false}}
	return c.call(ctx, http.MethodPatch, c.path(jobs, r.spec.Name, nil), begin, nil)
}

// occupied handles a Job of the same name. One of this lease was created by a call whose
// answer was lost; one of an earlier lease is deleted, because we hold the lease; any other
// stays.
func (r *run) occupied(ctx context.Context) error {
	c := r.Cluster
	var there job
	err := c.call(ctx, http.MethodGet, c.path(jobs, r.spec.Name, nil), nil, &there)
	switch labels := there.Metadata.Labels; {
	case is(err, http.StatusNotFound):
		return c.away(errors.New("the Job existed and is gone")) // again
	case err != nil:
		return err
	case labels[gateLabel] != r.mark() || labels[manifest.ManagedLabel] != manifest.Managed:
		return r.taken(r.spec.Name)
	case labels[leaseLabel] == r.spec.Labels[leaseLabel] && there.Spec.Suspend && there.Metadata.Deleted == nil:
		return r.begin(ctx, there.Metadata.UID)
	}
	if err := c.remove(ctx, r.spec.Name, there.Metadata.UID); err != nil {
		return err
	}
	return r.podsGone(ctx)
}

// podsGone waits until no pod of that name is left, and has make try again.
func (r *run) podsGone(ctx context.Context) error {
	for end := time.Now().Add(goneTime); ; {
		all, err := r.pods(ctx)
		if err != nil {
			return err
		}
		if len(all.Items) == 0 {
			return r.make(ctx)
		}
		if time.Now().After(end) {
			return r.Cluster.away(fmt.Errorf("a pod of an earlier %s does not end", r.spec.Name))
		}
		if err := sleep(ctx, time.Second); err != nil { // a pod has its grace period
			return err
		}
	}
}

// goneTime is how long a deleted pod may take: its grace period and a margin.
const goneTime = time.Minute

func (r *run) pods(ctx context.Context) (all list[pod], err error) {
	of := url.Values{"labelSelector": {manifest.JobLabel + "=" + r.spec.Name}}
	return all, r.Cluster.call(ctx, http.MethodGet, r.Cluster.path(pods, "", of), nil, &all)
}

// gone deletes the Job and waits until its pod has ended, so that nobody works under this
// lease. It has its own deadline, whatever ended the run.
func (r *run) gone(ctx context.Context) error {
	if r.uid == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goneTime)
	defer cancel()
	err := r.Cluster.remove(ctx, r.spec.Name, r.uid)
	for err == nil {
		var all list[pod]
		if all, err = r.pods(ctx); err == nil && len(all.Items) == 0 {
			return nil
		}
		if err == nil {
			err = sleep(ctx, 500*time.Millisecond) // a pod has its grace period
		}
	}
	r.Log.Warn().Err(err).Str("job", r.spec.Name).Msg("the Job may still be there; the gate takes its key no more, and the next launch deletes it")
	return nil
}
