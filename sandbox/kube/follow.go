package kube

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"git-ward/internal/diag"
)

const (
	// lookTime is the longest time between two readings of a Job without events, and
	// restlessTime the same when a change is near.
	lookTime     = 30 * time.Second
	restlessTime = 2 * time.Second
	// maxNears is how often the gate's container may end before the Job is given up: a new Job
	// has a new key.
	maxNears = 6
	// nearRefused is the exit code of `git ward near` when the gate no longer accepts the key.
	nearRefused = 1
)

// follow follows the Job to its end, and waits for an unreachable API server.
func (r *run) follow(ctx context.Context) error {
	for pause := firstPause; ; {
		wait, err := r.look(ctx)
		var away *Away
		var denied *Denied
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil && wait == 0:
			return nil
		case err == nil:
			pause = firstPause
			continue
		case !errors.As(err, &away) && !errors.As(err, &denied):
			return err
		}
		r.tell(oneLine(err))
		if err := sleep(ctx, pause); err != nil {
			return err
		}
		pause = min(2*pause, longestPause)
	}
}

// look reads the Job and its pod once and returns how long to wait for the next event; 0 means
// that the Job has ended.
func (r *run) look(ctx context.Context) (wait time.Duration, err error) {
	var now job
	if err := r.Cluster.call(ctx, http.MethodGet, r.Cluster.path(jobs, r.spec.Name, nil), nil, &now); err != nil {
		if is(err, http.StatusNotFound) {
			return 0, diag.Hint(fmt.Errorf("somebody has deleted the Job %s/%s", r.Cluster.Namespace, r.spec.Name), "a new one follows; `git ward launch --stop %s` ends the work for good", r.spec.Directive)
		}
		return 0, err
	}
	if now.Metadata.UID != r.uid || now.Metadata.Deleted != nil {
		return 0, fmt.Errorf("somebody has deleted the Job %s/%s; a new one follows", r.Cluster.Namespace, r.spec.Name)
	}
	all, err := r.pods(ctx)
	if err != nil {
		return 0, err
	}
	newest := newestPod(all.Items)
	if newest != nil {
		r.listen(ctx, newest)
	}
	if end := now.ended(); end != nil {
		r.output.finish()
		return 0, r.end(end, newest)
	}
	why, err := r.waits(ctx, newest)
	if err != nil {
		return 0, err
	}
	r.tell(why)
	wait = lookTime
	if newest == nil || newest.Status.Phase != "Running" || why != "" {
		wait = restlessTime
	}
	return wait, r.Cluster.watch(ctx, pods, r.spec.Name, all.Metadata.Version, wait)
}

// newestPod is the youngest pod.
func newestPod(all []pod) *pod {
	if len(all) == 0 {
		return nil
	}
	newest := slices.MaxFunc(all, func(a, b pod) int { return a.Metadata.Created.Compare(b.Metadata.Created) })
	return &newest
}

// listen follows the output of the pod's container, once it runs or has run.
func (r *run) listen(ctx context.Context, p *pod) {
	if c := p.container(r.name); c == nil || c.State.Running == nil && c.State.Terminated == nil {
		return
	}
	if !r.upped && r.up != nil {
		r.up()
	}
	r.upped = true
	if r.out != nil && (r.output == nil || r.output.pod != p.Metadata.Name) {
		r.output.close()
		r.output = r.Cluster.listen(ctx, p.Metadata.Name, r.name, r.out, r.Log)
	}
}

// waits is why the work does not proceed, with the remedy; "" if it does or is about to.
func (r *run) waits(ctx context.Context, p *pod) (string, error) {
	if p == nil {
		if time.Since(r.made) < 2*restlessTime {
			return "", nil
		}
		return r.noPod(ctx), nil
	}
	if near := p.container("near"); near != nil && near.Last.Terminated != nil {
		t := near.Last.Terminated
		if near.Restarts >= maxNears || t.Code == nearRefused && near.Restarts >= 2 {
			return "", errors.New("near keeps failing, and a Job with a new key follows; " + r.whyNear(t))
		}
	}
	return r.why(p, time.Now()), nil
}

// noPod is why a Job has no pod, from the cluster's events.
func (r *run) noPod(ctx context.Context) string {
	var all list[event]
	of := url.Values{"fieldSelector": {"involvedObject.uid=" + r.uid + ",reason=FailedCreate"}}
	said := ""
	if err := r.Cluster.call(ctx, http.MethodGet, r.Cluster.path(events, "", of), nil, &all); err == nil && len(all.Items) > 0 {
		said = all.Items[len(all.Items)-1].Message
	}
	return r.line("the cluster makes no pod for the Job "+r.spec.Name, said,
		fmt.Sprintf("the fence needs NET_ADMIN: `kubectl label namespace %s pod-security.kubernetes.io/enforce=privileged --overwrite`; a quota or another admission may forbid it, too (docs/cluster.md)", r.Cluster.Namespace))
}

// end is nil for a completed Job, or the reason of its failure.
func (r *run) end(c *condition, p *pod) error {
	if c.Type == "Complete" {
		return nil
	}
	how := diag.Clean(diag.Cut(c.Reason, 100))
	if p != nil {
		how += "; " + p.how(r.name)
	}
	return failed{fmt.Errorf("the Job %s failed: %s", r.spec.Name, how)}
}

// watch returns when a Job's pods have an event after a version, or after a timeout. It does
// not read the event; the caller reads the state.
func (c *Cluster) watch(ctx context.Context, kind, job, version string, longest time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, longest+callTime)
	defer cancel()
	stream, err := c.send(ctx, http.MethodGet, c.path(kind, "", url.Values{
		"watch": {"1"}, "labelSelector": {"ward/job=" + job}, "resourceVersion": {version},
		"timeoutSeconds": {strconv.Itoa(int(longest.Seconds()))},
	}), nil)
	if is(err, http.StatusGone) { // the version has expired
		return nil
	}
	if err != nil {
		return err
	}
	defer stream.Close()
	if _, err := bufio.NewReader(stream).ReadByte(); err == nil {
		return sleep(ctx, 100*time.Millisecond) // an event on a pod is often followed by more
	} else if !errors.Is(err, io.EOF) && ctx.Err() == nil {
		return c.away(err)
	}
	return nil
}
