package receive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"git-ward/hooks/audit"
	"git-ward/hooks/checks"
	"git-ward/hooks/push"
	"git-ward/internal/git"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// breach moves units whose journals a push tried to change, or found changed, to
// FAILED_SECURITY_BREACH (UOW-1): by a record of the host's on top of the last valid one, in
// one transaction with the audit's record.
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
		move := &breachMove{ctx: ctx, repo: s.repo, batch: batch, breach: b, push: pushID, time: s.start}
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
	ctx    context.Context
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
	base, prev, err := m.sound(id, tip.ID)
	if err != nil || prev == nil {
		return nil, err
	}
	u := git.RefUpdate{Ref: m.breach.Ref, Old: tip.ID, New: base}
	if prev.State == uow.Breached && base == tip.ID {
		return nil, nil
	}
	if prev.State != uow.Breached {
		if u.New, err = m.append(id, base, prev); err != nil {
			return nil, err
		}
	}
	r.Refs = []audit.Ref{{Update: push.Update(u), Applied: true}}
	return []git.RefUpdate{u}, nil
}

// append writes the breach's commit onto the last one that is sound.
func (m *breachMove) append(id uow.ID, base string, prev *uow.Record) (string, error) {
	next, found := uow.Advance(id, prev, uow.Input{Event: uow.Breach, Actor: uow.Host, Reason: m.breach.Reason, Time: time.Now(),
		Note: "push " + m.push + ": " + m.breach.Note}, uow.World{})
	if len(found) > 0 {
		return "", fmt.Errorf("%s: %s", m.breach.Ref, found[0].Message)
	}
	data, err := next.Marshal()
	if err != nil {
		return "", err
	}
	return m.repo.CommitFile(base, uow.File, data, m.time, uow.Subject(next))
}

// maxTips bounds the places of a journal in its reflog that are looked at.
const maxTips = 100

// sound is a journal's last valid place: its tip or, if that was altered on the host, the
// newest valid entry of its reflog, or else the last record before an invalid one. The reflog
// keeps what was altered. prev is nil if nothing is valid.
func (m *breachMove) sound(id uow.ID, tip string) (base string, prev *uow.Record, err error) {
	reader := m.repo.Reader(m.ctx)
	defer reader.Close()
	altered, err := state.ReadJournal(reader, state.Unit{ID: id, Tip: tip})
	if err == nil && len(altered.Findings) == 0 {
		return tip, altered.Last(), nil
	}
	var tips []string
	if _, err := audit.Reflog(m.repo, m.breach.Ref, 0, func(move audit.Move) { tips = append(tips, move.New) }); err != nil {
		return "", nil, err
	}
	slices.Reverse(tips)
	for _, t := range tips[:min(len(tips), maxTips)] {
		if t == tip || t == git.Zero {
			continue
		}
		if j, err := state.ReadJournal(reader, state.Unit{ID: id, Tip: t}); err == nil && len(j.Findings) == 0 {
			return t, j.Last(), nil
		}
	}
	if altered != nil && len(altered.Records) > 0 {
		return altered.Commits[len(altered.Records)-1], altered.Last(), nil
	}
	return "", nil, nil
}
