package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"git-ward/agent/stop"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// push pushes records' commits with a Work's unpushed content. pushErr is the push's error;
// err means that nothing was pushed.
func (j *Journal) push(ctx context.Context, records []*uow.Record, w *Work) (pushErr, err error) {
	last := records[len(records)-1]
	from, moves := j.store.main, []move(nil)
	if w != nil {
		from = &w.clone
		if moves, err = w.moves(ctx, last); err != nil {
			return nil, err
		}
	}
	if err := j.moveInto(ctx, from); err != nil {
		return nil, err
	}
	tip := j.tip
	for _, r := range records {
		if tip, err = commitRecord(from, tip, r); err != nil {
			return nil, err
		}
	}
	if pushErr = from.pushAll(ctx, append(moves, move{j.ID.Ref(), j.tip, tip})); pushErr != nil {
		return pushErr, nil
	}
	j.Records, j.tip = append(j.Records, records...), tip
	return nil, w.arrived(ctx, last)
}

// moveInto makes sure that a clone has the journal's newest commit, to push from there.
func (j *Journal) moveInto(ctx context.Context, c *clone) error {
	if j.tip == "" || j.in == c {
		j.in = c
		return nil
	}
	if known, err := c.resolve(ctx, j.tip); err != nil {
		return err
	} else if known == "" {
		if _, err := c.git(ctx, "fetch", "--quiet", "--no-write-fetch-head", "--refmap=", "origin", j.ID.Ref()); err != nil {
			return err
		}
	}
	j.in = c
	return nil
}

// raced reads the refs after a failed push: again says that another process moved one, so that
// a retry makes sense; no error and not again means that the push had arrived.
func (j *Journal) raced(ctx context.Context, r *uow.Record, w *Work, pushErr error) (again bool, err error) {
	moved, err := j.refresh(ctx)
	if err != nil {
		return false, errors.Join(pushErr, err)
	}
	if last := j.Last(); last != nil && last.Hash == r.Hash {
		return false, w.arrived(ctx, r) // it had arrived after all
	}
	if w != nil {
		if err := w.pull(ctx); err != nil {
			return false, err
		}
		moved = moved || w.raced
	}
	if moved {
		return true, nil
	}
	if w != nil && stop.Is(pushErr, stop.Refused) {
		return false, errors.Join(pushErr, w.drop(ctx))
	}
	return false, pushErr
}

// refresh reads the journal again and reports whether it moved.
func (j *Journal) refresh(ctx context.Context) (moved bool, err error) {
	list, err := j.store.Journals(ctx, j.ID.Directive)
	if err != nil {
		return false, err
	}
	for _, now := range list {
		if now.ID == j.ID && now.tip != j.tip {
			j.tip, j.Records, j.in = now.tip, now.Records, now.in
			return true, nil
		}
	}
	return false, nil
}

// commitRecord commits a record on top of a tip in a clone.
func commitRecord(c *clone, tip string, r *uow.Record) (string, error) {
	data, err := r.Marshal()
	if err != nil {
		return "", err
	}
	at, err := time.Parse(time.RFC3339, r.Time)
	if err != nil {
		return "", err
	}
	return c.repo().CommitFileAs(record.AgentIdent, tip, uow.File, data, at,
		fmt.Sprintf("uow: %s %s %s", r.ID, r.Event, r.State))
}
