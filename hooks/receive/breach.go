package receive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"git-ward/hooks/audit"
	"git-ward/hooks/checks"
	"git-ward/hooks/push"
	"git-ward/internal/git"
	"git-ward/protocols/uow"
)

// breached moves the units whose journals a push tried to change to
// FAILED_SECURITY_BREACH (UOW-1): one record of the host on top of what is
// stored, in one transaction with its own record in the audit.
func (s *session) breached(ctx context.Context, of *audit.Record, list []checks.Breach) error {
	if len(list) == 0 {
		return nil
	}
	batch := git.Open(s.repo.Dir).Batch(ctx) // not the quarantine's
	defer batch.Close()
	var all error
	for i, b := range list {
		all = errors.Join(all, s.breach(ctx, batch, of, fmt.Sprintf("%s-breach%d", of.Push, i+1), b))
	}
	return all
}

func (s *session) breach(ctx context.Context, batch *git.Batch, of *audit.Record, pushID string, b checks.Breach) error {
	w, err := audit.NewWriter(ctx, s.repo, batch)
	if err != nil {
		return err
	}
	defer w.Close()
	r := s.record("host", pusher{id: pushID})
	r.Verdict, r.Rules = audit.Accepted, []string{"uow/hash"}
	return w.Append(ctx, audit.Entry{Record: r, Move: func(r *audit.Record) (*git.RefUpdate, error) {
		u, err := s.breachRecord(batch, b, of.Push)
		if err != nil || u == nil {
			return nil, err
		}
		r.Refs = []audit.Ref{{Update: push.Update(*u), Applied: true}}
		return u, nil
	}})
}

// breachRecord writes the host's record on top of the journal as it stands; nil
// when the unit is in breach already.
func (s *session) breachRecord(batch *git.Batch, b checks.Breach, pushID string) (*git.RefUpdate, error) {
	id, err := uow.ParseRef(b.Ref)
	if err != nil {
		return nil, err
	}
	tip, err := batch.Info(b.Ref)
	if err != nil {
		return nil, err
	}
	_, data, err := batch.Read(tip.ID+":"+uow.File, uow.MaxRecord)
	if err != nil {
		return nil, err
	}
	prev, err := uow.ParseRecord(data)
	if err != nil || prev.State == uow.Breached {
		return nil, err
	}
	next, found := uow.Advance(id, prev, uow.Input{Event: uow.Breach, Actor: uow.Host, Reason: b.Reason, Time: time.Now(),
		Note: "push " + pushID + ": " + b.Note}, uow.World{})
	if len(found) > 0 {
		return nil, fmt.Errorf("%s: %s", b.Ref, found[0].Message)
	}
	if data, err = next.Marshal(); err != nil {
		return nil, err
	}
	commit, err := s.repo.CommitFile(tip.ID, uow.File, data, s.start, uow.Subject(next))
	return &git.RefUpdate{Ref: b.Ref, Old: tip.ID, New: commit}, err
}
