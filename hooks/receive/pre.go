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
	"git-ward/hooks/push"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/token"
	"git-ward/protocols/comms"
)

// PreReceive judges a push: it refuses (exit 1 with findings, 2 in doubt or
// trouble) and records the refusal, or admits it and leaves a pending file for
// PostReceive. The file is there from the push's arrival on, so that a hook that is
// killed leaves a trace, too (GATE-6).
func PreReceive(ctx context.Context, env *cli.Env) error {
	ctx, s, err := open(ctx, env)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.settings(); err != nil {
		return errors.Join(err, s.turnAway(ctx, pusher{id: token.NewID(s.start)}, "trouble/settings"))
	}
	who, err := s.identify(ctx)
	if err != nil {
		return errors.Join(err, s.actAsOwner(), s.turnAway(ctx, who, "identity/user"))
	}
	record := s.record(string(who.principal), who)
	p, err := s.arrive(record, who)
	if err != nil {
		return fmt.Errorf("the push cannot be noted down, so it is refused: %w", err)
	}
	s.reconcile(ctx)
	options, optionsErr := pushOptions(s.env.Getenv)
	if optionsErr != nil && !errors.Is(optionsErr, errOptions) {
		return s.trouble(ctx, p, optionsErr)
	}
	result := s.tooMuch(optionsErr)
	if result == nil {
		if result, err = s.judge(ctx, s.push(who, options)); err != nil {
			return s.trouble(ctx, p, err)
		}
	}
	s.fill(record, result)
	if err := s.report(result, record, options); err != nil {
		return errors.Join(err, s.refused(ctx, p))
	}
	if result.Refused() {
		s.mention(s.breached(ctx, record, result.Breaches))
		s.mention(s.refused(ctx, p))
		return cli.ErrFindings
	}
	if err := s.beforeUs(ctx, "pre-receive"); err != nil {
		record.Rules = append(record.Rules, "chained/pre-receive")
		s.mention(err)
		s.mention(s.refused(ctx, p))
		return cli.ErrFindings
	}
	return s.admit(p, result)
}

// mention prints what went wrong beside the answer.
func (s *session) mention(err error) {
	if err != nil {
		fmt.Fprintf(s.env.Stderr, "error: %s\n", diag.Clean(err.Error()))
	}
}

// trouble refuses a push that cannot be judged (exit 2), and records that.
func (s *session) trouble(ctx context.Context, p *audit.Pending, err error) error {
	p.Record.Rules = []string{"trouble"}
	s.mention(s.refused(ctx, p))
	return diag.Hint(fmt.Errorf("the push cannot be judged, so it is refused: %w", err), "nothing was changed; the host admin sees it in git ward log")
}

// push is what the checks get.
func (s *session) push(who pusher, options []string) *checks.Push {
	return &checks.Push{
		Principal: who.principal, Name: who.name, Updates: s.updates, Options: options, Config: s.config,
		Branches: "refs/heads/", Received: true,
		Retired:  func() (comms.Set, error) { return audit.Retired(s.batch) },
		UnderWay: func() ([]string, error) { return audit.UnderWay(s.repo, s.batch, who.id) },
	}
}

// record is what is known of a push before it is judged.
func (s *session) record(principal string, who pusher) *audit.Record {
	r := &audit.Record{
		Time: s.start.Truncate(time.Millisecond), Principal: principal, Name: who.name, User: fmt.Sprint(os.Geteuid()), Push: who.id,
		Verdict: audit.Refused, Rules: []string{}, Omitted: s.omitted,
	}
	for _, u := range s.updates {
		r.Refs = append(r.Refs, audit.Ref{Update: quoted(u)})
	}
	return r
}

// quoted is an update as records name it.
func quoted(u push.Update) push.Update {
	u.Ref = audit.QuoteRef(u.Ref)
	return u
}

// arrive leaves the trace of a push before anything of it is read.
func (s *session) arrive(r *audit.Record, who pusher) (*audit.Pending, error) {
	self, err := audit.Identify(os.Getpid())
	if err != nil {
		return nil, err
	}
	settings := s.config.Public()
	blob, err := s.repo.WriteObject("blob", settings.Text)
	if err != nil {
		return nil, err
	}
	r.Config = settings.SHA256
	e := audit.Entry{Record: r, Settings: blob}
	if who.certificate != nil {
		// Git's own blob of it is nobody's, and would go with the next gc.
		if e.Certificate, err = s.repo.WriteObject("blob", who.certificate); err != nil {
			return nil, err
		}
	}
	return audit.Arrive(s.repo, s.batch, e, self)
}

// patience is how long a push works on the records of earlier ones.
const patience = 2 * time.Second

// reconcile records earlier pushes that ended without a record. What cannot be
// recorded waits; it holds up nobody.
func (s *session) reconcile(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := audit.Reconcile(ctx, s.repo, s.batch); err != nil {
		fmt.Fprintln(s.env.Stderr, "warning: an earlier push is not recorded yet; the host admin mends it with git ward fsck --repair")
	}
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

// recordTime is how long making a refusal's record may take. What is not recorded
// then is by the next push.
const recordTime = 3 * time.Second

// refused records a refusal. Its refs are moved outside the quarantine, and the
// record names object ids only: nothing points at what git is about to drop.
func (s *session) refused(ctx context.Context, p *audit.Pending) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime) // the push's own may be spent
	defer cancel()
	batch := git.Open(s.repo.Dir).Batch(ctx) // not the quarantine's: it outlives nothing
	defer batch.Close()
	err := p.Refuse(ctx, s.repo, batch)
	if err != nil {
		err = errors.Join(fmt.Errorf("the refusal is not recorded yet, the next push does it: %w", err), p.Reject())
	}
	return err
}

// turnAway records a push that was not looked at: nobody knows whose it is, or by
// which settings to judge it.
func (s *session) turnAway(ctx context.Context, who pusher, rule string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	record := s.record("unknown", who)
	record.Rules = []string{rule}
	batch := git.Open(s.repo.Dir).Batch(ctx)
	defer batch.Close()
	return audit.Refuse(ctx, s.repo, batch, record)
}

// admit says in the pending file that git may move the refs.
func (s *session) admit(p *audit.Pending, result *checks.Result) error {
	p.Record.Verdict = audit.Accepted
	e := audit.Entry{Record: p.Record, Retired: result.Retired, Settings: p.Settings, Certificate: p.Certificate}
	for _, l := range result.Lessons {
		e.Lessons = append(e.Lessons, audit.LessonNote(l))
	}
	return p.Admit(s.repo, s.batch, e, audit.ReceivePack(os.Getppid()), transport(s.env.Getenv))
}
