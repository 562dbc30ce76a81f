package receive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"git-ward/hooks/audit"
	"git-ward/hooks/checks"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// judge runs the checks under [limits] deadline, which ends them from outside: a
// context stops children, but no loop. The loop ends with the process, which has
// nothing left to do then but to answer.
func (s *session) judge(ctx context.Context, push *checks.Push) (*checks.Result, error) {
	deadline := s.config.Limits.Deadline.Duration
	ctx, cancel := context.WithDeadline(ctx, s.start.Add(deadline))
	defer cancel()
	type answer struct {
		result *checks.Result
		err    error
	}
	done := make(chan answer, 1)
	go func() {
		defer func() {
			if fault := recover(); fault != nil { // it may quote what was pushed
				done <- answer{err: fmt.Errorf("a fault of Ward's own (%T): please report it with the commits that were pushed", fault)}
			}
		}()
		result, err := checks.Judge(ctx, s.repo, s.batch, push)
		done <- answer{result, err}
	}()
	select {
	case a := <-done:
		if a.err == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return bound(a.result, a.err)
		}
	case <-ctx.Done():
		s.abandoned = true
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, ctx.Err()
		}
	}
	s.cancel() // the checks' children
	return refusal("limit/time", fmt.Sprintf("the push was not judged within %v", deadline.Round(time.Millisecond)),
		"push less at once: fewer commits, files, or documents that depend on each other; the host admin sets [limits] deadline in config.toml"), nil
}

// bound makes a finding of an object that is too large to be read: a bound that
// content meets is no trouble (GATE-6).
func bound(result *checks.Result, err error) (*checks.Result, error) {
	var large *git.TooLarge
	if !errors.As(err, &large) {
		return result, err
	}
	return refusal("limit/object", large.Error(), "push smaller objects: git rev-list --objects main.. names them"), nil
}

// tooMuch refuses what is too much before anything of it is read; nil when it is
// not.
func (s *session) tooMuch(options error) *checks.Result {
	if s.omitted != nil {
		return refusal("limit/refs", fmt.Sprintf("the push has %d refs, more than %d, or names of more than %d bytes together",
			len(s.updates)+s.omitted.Refs, audit.MaxRefs, audit.MaxRefBytes), "push them a part at a time: git push origin 'refs/tags/v1*'")
	}
	if options != nil {
		return refusal("limit/options", options.Error(), "leave out push options (-o) that nobody reads")
	}
	return nil
}

func refusal(rule, message, hint string) *checks.Result {
	return &checks.Result{Findings: diag.Normalize([]diag.Diagnostic{{Rule: rule, Message: message, Hint: hint}})}
}
