package gateway

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"git-ward/protocols/lease"

	"github.com/go-json-experiment/json"
)

// leasePath is where a worker asks for what it is to work on: GET says what it holds, PUT
// leasePath/D-3 asks for D-3, and DELETE leasePath/D-3 gives it back. PUT leasePath with a
// JSON array of directives asks for the first of them that may be had: workers that ask for
// one after the other at the same time would each time be too late.
const leasePath = "/ward/lease"

const (
	maxAskedFor   = 10_000    // directives
	maxAskedBytes = 256 << 10 // as much as COMMS.md has room for
)

// leaseTime bounds one answer, which takes some git commands on the host.
const leaseTime = time.Minute

// Lease is what the host grants the one worker behind a gateway (MANY-1); it is in sandbox/lease.
type Lease interface {
	// Current is what the worker holds now, false for nothing. It is called once a model
	// call, on its critical path.
	Current(ctx context.Context) (lease.Lease, bool)
	// Take gets the first of some directives that the worker may have, in place of what it
	// holds. The error is *lease.Refused, of the first, where it may have none of them.
	Take(ctx context.Context, directives []string) (lease.Lease, error)
	// Release gives a directive back. One that the worker does not hold is no error.
	Release(ctx context.Context, directive string) error
}

// payer is the directive that pays for a call now, "" for none.
func (g *Gateway) payer(ctx context.Context) string {
	if g.config.Lease == nil {
		return g.config.Directive()
	}
	l, _ := g.config.Lease.Current(ctx)
	return l.Directive
}

// serveLease answers a worker that asks for a directive. It costs nothing, and who asks is
// told apart by the socket alone.
func (g *Gateway) serveLease(w http.ResponseWriter, r *http.Request) {
	if g.config.Lease == nil {
		http.Error(w, "ward: nobody has to ask here", http.StatusNotFound)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), leaseTime)
	defer cancel()
	directive := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, leasePath), "/")
	switch {
	case directive == "" && r.Method == http.MethodGet:
		var s lease.Standing
		if l, ok := g.config.Lease.Current(ctx); ok {
			s.Lease = &l
		}
		g.answerLease(w, s, nil)
	case directive == "" && r.Method == http.MethodPut:
		g.serveFirst(ctx, w, r)
	case !lease.IsDirective(directive):
		http.Error(w, "ward: GET "+leasePath+", or PUT or DELETE "+leasePath+"/D-n", http.StatusBadRequest)
	case r.Method == http.MethodPut:
		l, err := g.config.Lease.Take(ctx, []string{directive})
		g.answerLease(w, l, err)
	case r.Method == http.MethodDelete:
		g.answerLease(w, struct{}{}, g.config.Lease.Release(ctx, directive))
	default:
		http.Error(w, "ward: "+leasePath+"/D-n takes PUT and DELETE", http.StatusMethodNotAllowed)
	}
}

// serveFirst answers a worker that would have any of some directives.
func (g *Gateway) serveFirst(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	var list []string
	err := json.UnmarshalRead(http.MaxBytesReader(w, r.Body, maxAskedBytes), &list)
	if err != nil || len(list) == 0 || len(list) > maxAskedFor || slices.ContainsFunc(list, func(d string) bool { return !lease.IsDirective(d) }) {
		http.Error(w, `ward: PUT `+leasePath+` takes a JSON array of directives, such as ["D-3","D-7"]`, http.StatusBadRequest)
		return
	}
	l, err := g.config.Lease.Take(ctx, list)
	g.answerLease(w, l, err)
}

// answerLease writes what was granted, or why not: 409 is the host's word on the directive,
// 503 its own trouble, of which the worker learns no more.
func (g *Gateway) answerLease(w http.ResponseWriter, granted any, err error) {
	status := http.StatusOK
	var refused *lease.Refused
	switch {
	case errors.As(err, &refused):
		status, granted = http.StatusConflict, refused
	case err != nil:
		g.config.Log.Error().Err(err).Msg("the lease")
		http.Error(w, "ward: the host cannot tell who may work on it now", http.StatusServiceUnavailable)
		return
	}
	data, _ := json.Marshal(granted, json.Deterministic(true)) // texts and times: cannot fail
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(data, '\n'))
}
