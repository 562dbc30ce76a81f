package receive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"git-ward/hooks/audit"
	"git-ward/hooks/checks"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
)

// PreReceive judges a push: it refuses (exit 1 with findings, 2 in doubt or
// trouble) and records the refusal, or admits it and leaves a pending file for
// PostReceive.
func PreReceive(ctx context.Context, env *cli.Env) error {
	ctx, s, err := open(ctx, env)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.settings(); err != nil {
		return err
	}
	who, err := s.identify(ctx)
	if err != nil {
		record := s.record("unknown", who.id)
		record.Name = who.name
		record.Rules = []string{"identity/user"}
		return errors.Join(err, s.actAsOwner(), s.refused(ctx, record))
	}
	if _, err := audit.Reconcile(ctx, s.repo, s.batch); err != nil {
		return fmt.Errorf("an earlier push cannot be recorded: %w", err)
	}
	push, err := s.push(who)
	if err != nil {
		return err
	}
	record := s.record(string(who.principal), who.id)
	record.Name = who.name
	result, err := checks.Judge(ctx, s.repo, s.batch, push)
	if err != nil {
		record.Rules = []string{"trouble"}
		s.refused(ctx, record)
		return cli.Hint(fmt.Errorf("the push cannot be judged, so it is refused: %w", err), "nothing was changed; the host admin sees it in git ward log")
	}
	s.fill(record, result)
	if err := s.report(result, record, push.Options); err != nil {
		return err
	}
	if result.Refused() {
		if err := errors.Join(s.breached(ctx, record, result.Breaches), s.refused(ctx, record)); err != nil {
			return err
		}
		return cli.ErrFindings
	}
	if err := s.chained(ctx, "pre-receive"); err != nil {
		record.Rules = append(record.Rules, "chained/pre-receive")
		fmt.Fprintf(env.Stderr, "error: %s\n", diag.Clean(err.Error()))
		return errors.Join(s.refused(ctx, record), cli.ErrFindings)
	}
	return s.admit(record, result)
}

// push is what the checks get.
func (s *session) push(who pusher) (*checks.Push, error) {
	options, err := pushOptions(s.env.Getenv)
	return &checks.Push{
		Principal: who.principal, Name: who.name, Updates: s.updates, Options: options, Config: s.config,
		Branches: "refs/heads/", Received: true,
		Retired: func() (comms.Set, error) { return audit.Retired(s.batch) },
	}, err
}

func (s *session) record(principal, id string) *audit.Record {
	r := &audit.Record{
		Time: s.start.Truncate(time.Millisecond), Principal: principal, User: fmt.Sprint(os.Geteuid()), Push: id,
		Verdict: audit.Refused, Rules: []string{},
	}
	for _, u := range s.updates {
		r.Refs = append(r.Refs, audit.Ref{Update: u})
	}
	return r
}

// fill puts the judgement into the record: rule ids and places, no content.
func (s *session) fill(r *audit.Record, result *checks.Result) {
	for _, d := range result.Findings {
		if !slices.Contains(r.Rules, d.Rule) {
			r.Rules = append(r.Rules, d.Rule)
		}
	}
	slices.Sort(r.Rules)
	for _, d := range result.Allowed {
		if place := d.Rule + ":" + diag.Clean(d.Path); !slices.Contains(r.Allowed, place) {
			r.Allowed = append(r.Allowed, place)
		}
	}
	r.Counts = result.Counts
	r.DurationMS = time.Since(s.start).Milliseconds()
}

// refused records a refusal. Its refs are moved outside the quarantine, and the
// record names object ids only: nothing points at what git is about to drop.
func (s *session) refused(ctx context.Context, r *audit.Record) error {
	if ctx.Err() != nil { // the deadline is spent, the record must still be made
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
	}
	batch := git.Open(s.repo.Dir).Batch(ctx) // not the quarantine's: it outlives nothing
	defer batch.Close()
	return audit.Refuse(ctx, s.repo, batch, r)
}

// admit leaves the pending file; after it, git moves the refs.
func (s *session) admit(r *audit.Record, result *checks.Result) error {
	process, err := audit.Identify(os.Getppid())
	if err != nil {
		return err
	}
	r.Verdict = audit.Accepted
	e := audit.Entry{Record: r, Retired: result.Retired}
	for _, l := range result.Lessons {
		e.Lessons = append(e.Lessons, audit.LessonNote(l))
	}
	return audit.Admit(s.repo, s.batch, e, process)
}
