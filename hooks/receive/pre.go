package receive

import (
	"context"
	"errors"
	"fmt"

	"git-ward/hooks/audit"
	"git-ward/hooks/checks"
	"git-ward/internal/diag"
	"git-ward/internal/failpoint"
	"git-ward/internal/token"
)

// PreReceive judges a push: it refuses (ErrRefused with findings, another error in
// doubt or trouble) and records the refusal, or admits it and leaves a pending file for
// PostReceive. The file is there from the push's arrival on, so that a hook that is
// killed leaves a trace, too (GATE-6).
func PreReceive(ctx context.Context, call Call) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s, err := open(ctx, call, stop)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.readSettings(); err != nil {
		return s.turnAway(ctx, pusher{id: token.NewID(s.start)}, "trouble/settings", err)
	}
	who, err := s.identify(ctx)
	if err != nil {
		if rights := s.actAsOwner(); rights != nil {
			err = errors.Join(err, rights)
		}
		return s.turnAway(ctx, who, "identity/user", err)
	}
	p, err := s.arrive(who)
	if err != nil {
		return fmt.Errorf("the push cannot be recorded, so it is refused: %w", err)
	}
	failpoint.Reach("receive/arrived")
	s.recordEarlier(ctx)
	options, err := pushOptions(call.Getenv)
	tooMany := errors.Is(err, errTooManyOptions)
	if err != nil && !tooMany {
		return s.trouble(ctx, p, err)
	}
	result := s.tooMuch(tooMany)
	if result == nil {
		if result, err = s.enter(ctx); err != nil {
			return s.trouble(ctx, p, err)
		}
	}
	if result == nil {
		if result, err = s.judge(ctx, who, options); err != nil {
			return s.trouble(ctx, p, err)
		}
		if result, err = s.room(ctx, who, result); err != nil {
			return s.trouble(ctx, p, err)
		}
	}
	s.fill(p.Record, result)
	failpoint.Reach("receive/judged")
	return s.answer(ctx, p, result, options)
}

// answer tells the pusher what was found, and refuses or admits the push.
func (s *session) answer(ctx context.Context, p *audit.Pending, result *checks.Result, options []string) error {
	if err := s.write(result, p.Record, options); err != nil {
		failed := s.recordRefusal(ctx, p)
		return errors.Join(err, failed)
	}
	if result.Refused() {
		err := s.breach(ctx, p.Record.Push, result.Breaches)
		s.mention(err)
		return s.refuse(ctx, p)
	}
	if err := s.runChained(ctx, preReceive); err != nil {
		p.Record.Rules = append(p.Record.Rules, "chained/pre-receive")
		s.mention(err)
		return s.refuse(ctx, p)
	}
	if err := s.mayMove(ctx); err != nil {
		return s.trouble(ctx, p, err)
	}
	if err := s.admit(p, result); err != nil {
		return err
	}
	failpoint.Reach("receive/admitted")
	return s.stillLeased(ctx, p, options)
}

// stillLeased checks the leases again, because one may have been revoked or taken over during
// the judgement. It runs after the admission, whose file a revocation looks for: at least one
// of the two notices the other (leases.Revoke).
func (s *session) stillLeased(ctx context.Context, p *audit.Pending, options []string) error {
	found, err := s.judged.Leased()
	if err == nil && len(found) == 0 {
		return nil
	}
	p.Record.Verdict = audit.Refused
	if waits := p.Reject(); waits != nil {
		return errors.Join(err, waits)
	}
	if err != nil {
		return s.trouble(ctx, p, err)
	}
	for i := range p.Record.Refs {
		p.Record.Refs[i].Size = 0 // of what did not enter
	}
	result := &checks.Result{Findings: diag.Normalize(found)}
	s.fill(p.Record, result)
	s.mention(s.write(result, p.Record, options))
	return s.refuse(ctx, p)
}

// refuse records a refusal whose reason was printed.
func (s *session) refuse(ctx context.Context, p *audit.Pending) error {
	failpoint.Reach("receive/refused")
	failed := s.recordRefusal(ctx, p)
	s.mention(failed)
	return ErrRefused
}

// trouble refuses a push that cannot be judged, and records that.
func (s *session) trouble(ctx context.Context, p *audit.Pending, err error) error {
	p.Record.Rules = []string{"trouble"}
	failed := s.recordRefusal(ctx, p)
	s.mention(failed)
	return diag.Hint(fmt.Errorf("the push cannot be judged, so it is refused: %w", err), "nothing was changed; the host admin sees it in git ward log")
}

// mayMove fails if no ref can move any more: the push was interrupted, or its receive-pack has
// ended. Such a push is not admitted, because maintenance and the next push of the same move
// would wait for it.
func (s *session) mayMove(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.mover != (audit.Process{}) && !s.mover.Alive() {
		return errors.New("git receive-pack, which asked for the judgement, has ended")
	}
	return nil
}

// admit says in the pending file that git may move the refs.
func (s *session) admit(p *audit.Pending, result *checks.Result) error {
	p.Record.Verdict = audit.Accepted
	e := audit.Entry{Record: p.Record, Retired: result.Retired, Settings: p.Settings, Certificate: p.Certificate}
	for _, l := range result.Lessons {
		e.Lessons = append(e.Lessons, audit.LessonNote(l))
	}
	return p.Admit(s.repo, s.batch, e, s.mover, transport(s.call.Getenv))
}
