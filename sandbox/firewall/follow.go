package firewall

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"time"

	"git-ward/internal/diag"
)

const (
	// settle is how long changes are collected before they are handled together, and pause the
	// least time between two handlings, so that a flood of changes costs a few of them a
	// second.
	settle = 10 * time.Millisecond
	pause  = 50 * time.Millisecond
	// tries is how many handlings may fail in a row. A route table that changes during the
	// dump gives no answer, which alone is no reason to end a container.
	tries = 5
	// RenewAfter is the interval of complete renewals: apart from the host's own addresses and
	// routes, nothing reports when a policy's inputs change.
	RenewAfter = time.Minute
)

// A Source returns the current policy. A thorough look may ask over the network and take long;
// any other must be quick, because a change waits for it.
type Source func(ctx context.Context, thorough bool) (Policy, error)

// A Follower keeps the rules of a target as the host is now. The nil Follower keeps none.
type Follower struct {
	target Target
	ns     *os.File
	broken chan error
	stop   context.CancelFunc
	done   chan struct{}
}

// Broken gives one error when the rules could not be kept: the container must end at
// once, for it may reach what the host has become.
func (f *Follower) Broken() <-chan error {
	if f == nil {
		return nil
	}
	return f.broken
}

// Close ends the work, after the container's end. A second call does nothing.
func (f *Follower) Close() {
	if f == nil {
		return
	}
	f.stop()
	<-f.done
	f.ns.Close()
}

// Refused are the addresses that programs in the target asked for by TCP or UDP and no packet may
// reach, up to 64 of each family, in order; since the rules were last written whole. It is asked
// before Close.
func (f *Follower) Refused(ctx context.Context) ([]netip.Addr, error) {
	if f == nil {
		return nil, nil
	}
	got, err := f.target.run(ctx, f.ns, nil, nothing)
	if err != nil {
		return nil, fmt.Errorf("firewall: what was refused cannot be read: %w", err)
	}
	return got.refused(), nil
}

// Follow makes the policy of this moment the whole of Ward's rules in a target, in place of
// what was there, and reads them back from the kernel; a difference is an error, and the
// container must not start. It keeps them to what the policy becomes until Close: whenever
// the addresses or the routes of the caller's network namespace change, current is asked
// again, and what differs goes in in one batch and is read back. ctx bounds the beginning
// only.
//
// A policy that no longer changes with the host, mode allowlist, is put in place once.
func Follow(ctx context.Context, t Target, current Source) (*Follower, error) {
	// Before the first reading, so that later changes are reported.
	changes, err := watchHost()
	if err != nil {
		return nil, fmt.Errorf("firewall: the host's network cannot be watched: %w", err)
	}
	var ns *os.File
	p, err := current(ctx, false)
	if err == nil {
		ns, err = t.place(ctx, p)
	}
	if err != nil || p.Mode == Allowlist {
		changes.Close()
		ns.Close() // of nil it does nothing
		return nil, err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	f := &Follower{target: t, ns: ns, broken: make(chan error, 1), stop: stop, done: make(chan struct{})}
	go func() {
		defer close(f.done)
		defer changes.Close()
		if err := t.follow(ctx, ns, p, changes, current); err != nil && ctx.Err() == nil {
			f.broken <- diag.Hint(fmt.Errorf("firewall: the rules cannot follow the host's network: %w", err), "launch again; the container has ended")
		}
	}()
	return f, nil
}

// follow handles changes until ctx ends.
func (t Target) follow(ctx context.Context, ns *os.File, first Policy, changes *hostChanges, current Source) error {
	there := &first
	again := time.NewTicker(RenewAfter)
	defer again.Stop()
	for failures := 0; ; {
		thorough := false
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
			thorough = true
		case <-changes.seen:
		}
		if !sleep(ctx, settle) {
			return nil
		}
		changes.forget()
		var err error
		if there, err = t.renew(ctx, ns, there, current, thorough); err == nil {
			failures = 0
		} else if failures++; failures >= tries {
			return err
		} else {
			changes.tell() // to look again
		}
		if err := changes.err(); err != nil {
			return err
		}
		if !sleep(ctx, pause) {
			return nil
		}
	}
}

// renew writes what has changed since the policy that is in place, and returns the new one.
// After a change that did not read back, the state is unknown: it returns nil, and with nil as
// the old policy it writes everything.
func (t Target) renew(ctx context.Context, ns *os.File, there *Policy, current Source, thorough bool) (*Policy, error) {
	next, err := current(ctx, thorough)
	if err == nil {
		err = next.Validate()
	}
	if err != nil || there != nil && sameRules(*there, next) {
		return there, err
	}
	if err := t.put(ctx, ns, next, changed); err != nil {
		return nil, err
	}
	return &next, nil
}

// sleep returns false if ctx ended meanwhile.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
