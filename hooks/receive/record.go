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
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// newRecord is what is known of a push before it is judged.
func (s *session) newRecord(principal string, who pusher) *audit.Record {
	r := &audit.Record{
		Time: s.start.Truncate(time.Millisecond), Principal: principal, Name: who.name, User: fmt.Sprint(os.Geteuid()), Push: who.id,
		Verdict: audit.Refused, Rules: []string{}, Omitted: s.omitted,
	}
	for _, u := range s.recordedUpdates() {
		r.Refs = append(r.Refs, audit.Ref{Update: u})
	}
	return r
}

// recordedUpdates are the push's updates with their refs as records name them.
func (s *session) recordedUpdates() []push.Update {
	updates := slices.Clone(s.updates)
	for i := range updates {
		updates[i].Ref = audit.QuoteRef(updates[i].Ref)
	}
	return updates
}

// arrive records a push's arrival before anything of it is read.
func (s *session) arrive(who pusher) (*audit.Pending, error) {
	self, err := audit.Identify(os.Getpid())
	if err != nil {
		return nil, err
	}
	public := s.settings.Public()
	e := audit.Entry{Record: s.newRecord(string(who.principal), who)}
	e.Record.Config = public.SHA256
	if e.Settings, err = s.repo.WriteObject("blob", public.Text); err != nil {
		return nil, err
	}
	if who.certificate != nil {
		// Git's own blob of it is unreachable, and the next gc would delete it.
		if e.Certificate, err = s.repo.WriteObject("blob", who.certificate); err != nil {
			return nil, err
		}
	}
	return audit.Arrive(s.repo, s.batch, e, self)
}

// earlierTime is how long a push works on the records of earlier ones.
const earlierTime = 2 * time.Second

// recordEarlier records earlier pushes that ended without a record. What cannot be recorded
// waits, and delays nobody.
func (s *session) recordEarlier(ctx context.Context) {
	ctx, cancel := within(ctx, time.Now(), earlierTime)
	defer cancel()
	if _, err := audit.Reconcile(ctx, s.repo, s.batch); err != nil {
		fmt.Fprintln(s.call.Stderr, "warning: an earlier push is not recorded yet; the host admin mends it with git ward fsck --repair")
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
	for _, d := range result.Would {
		place := d.Rule
		if d.Path != "" {
			place += ":" + diag.Clean(d.Path)
		}
		if !slices.Contains(r.Would, place) {
			r.Would = append(r.Would, place)
		}
	}
	for i := range r.Refs {
		if !result.Refused() {
			r.Refs[i].Size = result.Sizes[r.Refs[i].Ref]
		}
	}
	r.Counts = result.Counts
	r.DurationMS = time.Since(s.start).Milliseconds()
}

// recordTime is how long a push works on a refusal's record. What is not recorded then is by the
// next push.
const recordTime = 3 * time.Second

// recordRefusal records a refusal. The audit's refs are moved outside the quarantine, and the
// record only names object ids, so nothing refers to what git is about to drop.
func (s *session) recordRefusal(ctx context.Context, p *audit.Pending) error {
	ctx, cancel := within(context.WithoutCancel(ctx), time.Now(), recordTime) // the push's own may be spent
	defer cancel()
	batch := s.ownBatch(ctx)
	defer batch.Close()
	err := p.Refuse(ctx, s.repo, batch)
	if err == nil {
		return nil
	}
	waits := p.Reject() // in its pending file, for the next push
	return errors.Join(fmt.Errorf("the refusal is not recorded yet, the next push does it: %w", err), waits)
}

// turnAway records a push that was not judged because its pusher or the settings are unknown,
// and returns the cause.
func (s *session) turnAway(ctx context.Context, who pusher, rule string, cause error) error {
	ctx, cancel := within(context.WithoutCancel(ctx), time.Now(), recordTime)
	defer cancel()
	r := s.newRecord("unknown", who)
	r.Rules = []string{rule}
	batch := s.ownBatch(ctx)
	defer batch.Close()
	if err := audit.Refuse(ctx, s.repo, batch, r); err != nil {
		return errors.Join(cause, err)
	}
	return cause
}

// ownBatch reads the repository without the quarantine: what it finds is permanent.
func (s *session) ownBatch(ctx context.Context) *git.Batch {
	return git.Open(s.repo.Dir).Batch(ctx)
}
