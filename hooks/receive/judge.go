package receive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"git-ward/hooks/audit"
	"git-ward/hooks/checks"
	"git-ward/hooks/leases"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
)

// judge runs the checks under [limits] deadline from outside, because a context stops children
// but no Go loop. A loop ends with the process, which only has to answer then.
func (s *session) judge(ctx context.Context, who pusher, options []string) (*checks.Result, error) {
	deadline := s.settings.Limits.Deadline.Duration
	ctx, cancel := within(ctx, s.start.Add(s.waited), deadline)
	defer cancel()
	done := make(chan judgement, 1)
	go func() { done <- s.runChecks(ctx, who, options) }()
	select {
	case j := <-done:
		if j.err == nil || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			return j.result, j.err
		}
	case <-ctx.Done():
		s.stillJudging = true
		if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			return nil, ctx.Err()
		}
	}
	s.stop()
	return refusal("limit/time", fmt.Sprintf("the push was not judged within %v of work", deadline.Round(time.Millisecond)),
		"push less at once: fewer commits, files, or documents that depend on each other; the host admin sets [limits] deadline in config.toml"), nil
}

// judgement is what the checks say, or why they cannot.
type judgement struct {
	result *checks.Result
	err    error
}

// runChecks runs the checks; a panic in them becomes an error, which quotes nothing that was
// pushed.
func (s *session) runChecks(ctx context.Context, who pusher, options []string) (j judgement) {
	defer func() {
		if fault := recover(); fault != nil {
			j = judgement{err: fmt.Errorf("a fault of Ward's own (%T): please report it with the commits that were pushed", fault)}
		}
	}()
	redacted, err := audit.ReadRedacted(s.repo)
	if err != nil {
		return judgement{err: err}
	}
	s.judged = &checks.Push{
		Principal: who.principal, Name: who.name, Lease: who.lease, Folds: who.folds, Updates: s.updates, Options: options, Config: s.settings,
		Branches: "refs/heads/", Received: true, Redacted: redacted,
		Retired:  func() (comms.Set, error) { return audit.Retired(s.batch) },
		UnderWay: func() ([]string, error) { return audit.UnderWay(s.repo, s.batch, who.id) },
		Leases: func(directive string) (leases.Standing, error) {
			return leases.Read(s.batch, directive, time.Now())
		},
	}
	result, err := checks.Judge(ctx, s.repo, s.batch, s.judged)
	if large, ok := errors.AsType[*git.TooLarge](err); ok { // a bound that content meets is a finding, no trouble (GATE-6)
		return judgement{result: refusal("limit/object", large.Error(), "push smaller objects: git rev-list --objects main.. names them")}
	}
	return judgement{result, err}
}

// tooMuch refuses an oversized push before anything is read; nil if it is not.
func (s *session) tooMuch(tooManyOptions bool) *checks.Result {
	switch {
	case s.omitted != nil:
		return refusal("limit/refs", fmt.Sprintf("the push has %d refs, more than %d, or names of more than %d bytes together",
			len(s.updates)+s.omitted.Refs, audit.MaxRefs, audit.MaxRefBytes), "push them a part at a time: git push origin 'refs/tags/v1*'")
	case tooManyOptions:
		return refusal("limit/options", errTooManyOptions.Error(), "leave out push options (-o) that nobody reads")
	}
	return nil
}

func refusal(rule, message, hint string) *checks.Result {
	return &checks.Result{Findings: diag.Normalize([]diag.Diagnostic{{Rule: rule, Message: message, Hint: hint}})}
}
