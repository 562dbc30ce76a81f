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

// breach moves the units whose journals a push tried to change to
// FAILED_SECURITY_BREACH (UOW-1): one record of the host on top of what is
// stored, in one transaction with its own record in the audit.
func (s *session) breach(ctx context.Context, pushID string, list []checks.Breach) error {
	if len(list) == 0 {
		return nil
	}
	batch := s.ownBatch(ctx)
	defer batch.Close()
	var all error
	for i, b := range list {
		r := s.newRecord("host", pusher{id: fmt.Sprintf("%s-breach%d", pushID, i+1)})
		r.Verdict, r.Rules = audit.Accepted, []string{"uow/hash"}
		move := &breachMove{repo: s.repo, batch: batch, breach: b, push: pushID, time: s.start}
		err := appendRecord(ctx, s.repo, batch, audit.Entry{Record: r, Move: move})
		all = errors.Join(all, err)
	}
	return all
}

func appendRecord(ctx context.Context, repo *git.Repo, batch *git.Batch, e audit.Entry) error {
	w, err := audit.NewWriter(ctx, repo, batch)
	if err != nil {
		return err
	}
	defer w.Close()
	return w.Append(ctx, e)
}

// breachMove is the move of a unit's journal to a breach, which goes with a record.
type breachMove struct {
	repo   *git.Repo
	batch  *git.Batch
	breach checks.Breach
	push   string // the id of the push that tried
	time   time.Time
}

// Move puts the breach on top of the journal as it stands and into the record; nil
// when the unit is in breach already.
func (m *breachMove) Move(r *audit.Record) ([]git.RefUpdate, error) {
	id, err := uow.ParseRef(m.breach.Ref)
	if err != nil {
		return nil, err
	}
	tip, err := m.batch.Info(m.breach.Ref)
	if err != nil {
		return nil, err
	}
	_, data, err := m.batch.Read(tip.ID+":"+uow.File, uow.MaxRecord)
	if err != nil {
		return nil, err
	}
	prev, err := uow.ParseRecord(data)
	if err != nil || prev.State == uow.Breached {
		return nil, err
	}
	next, found := uow.Advance(id, prev, uow.Input{Event: uow.Breach, Actor: uow.Host, Reason: m.breach.Reason, Time: time.Now(),
		Note: "push " + m.push + ": " + m.breach.Note}, uow.World{})
	if len(found) > 0 {
		return nil, fmt.Errorf("%s: %s", m.breach.Ref, found[0].Message)
	}
	if data, err = next.Marshal(); err != nil {
		return nil, err
	}
	u := git.RefUpdate{Ref: m.breach.Ref, Old: tip.ID}
	if u.New, err = m.repo.CommitFile(tip.ID, uow.File, data, m.time, uow.Subject(next)); err != nil {
		return nil, err
	}
	r.Refs = []audit.Ref{{Update: push.Update(u), Applied: true}}
	return []git.RefUpdate{u}, nil
}
