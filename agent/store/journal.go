package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"git-ward/agent/stop"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/loop"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// Journal is the journal of one unit of work, as the remote has it and as the
// agent extends it (UOW-2).
type Journal struct {
	ID      uow.ID
	Records []*uow.Record // oldest first; empty before the unit is opened

	tip   string // commit, "" before the first
	store *Store
}

// Last is the newest record, nil before the unit is opened.
func (j *Journal) Last() *uow.Record {
	if len(j.Records) == 0 {
		return nil
	}
	return j.Records[len(j.Records)-1]
}

// Claimed is the record of the last claim, nil when there is none. Others may
// follow it: the PM's heartbeat, a pause and its end, a retry.
func (j *Journal) Claimed() *uow.Record {
	for _, r := range slices.Backward(j.Records) {
		if r.Event == uow.MakeClaim {
			return r
		}
	}
	return nil
}

// Journals fetches and reads the journals of a directive's units, oldest first.
// One that does not hold is an error: nobody builds on it.
func (s *Store) Journals(ctx context.Context, directive string) ([]*Journal, error) {
	pattern := uow.RefPrefix + directive + ".*"
	if _, err := s.main.git(ctx, "fetch", "--quiet", "--no-write-fetch-head", "origin", "+"+pattern+":"+pattern); err != nil {
		return nil, err
	}
	reader := git.Open(s.main.gitDir()).Reader(ctx)
	defer reader.Close()
	units, _, err := state.Units(reader)
	if err != nil {
		return nil, err
	}
	var list []*Journal
	for _, u := range units {
		if u.ID.Directive != directive {
			continue
		}
		j, err := state.ReadJournal(reader, u)
		if err != nil {
			return nil, err
		}
		if err := j.Err(); err != nil {
			return nil, err
		}
		list = append(list, &Journal{ID: u.ID, Records: j.Records, tip: u.Tip, store: s})
	}
	return list, nil
}

// NewJournal is that of a unit which is not opened yet.
func (s *Store) NewJournal(id uow.ID) *Journal { return &Journal{ID: id, store: s} }

// Append makes the record of a step and pushes it. Whoever was faster is built
// upon (UOW-1): the step is judged anew on the new tip. What the rules or the
// remote do not admit is stop.Refused.
func (j *Journal) Append(ctx context.Context, in uow.Input, world uow.World) error {
	for try := range maxRaces {
		r, found := uow.Advance(j.ID, j.Last(), in, world)
		if len(found) > 0 {
			var b strings.Builder
			diag.WriteText(&b, found)
			return stop.Refuse(b.String(), found...)
		}
		commit, err := j.commit(r)
		if err != nil {
			return err
		}
		pushErr := j.store.main.pushRef(ctx, commit, j.ID.Ref(), j.tip)
		if pushErr == nil {
			j.Records, j.tip = append(j.Records, r), commit
			return nil
		}
		if ctx.Err() != nil {
			return pushErr
		}
		moved, err := j.refresh(ctx)
		if err != nil {
			return err
		}
		if last := j.Last(); last != nil && last.Hash == r.Hash {
			return nil // it had arrived
		}
		if !moved {
			return pushErr
		}
		if err := git.Backoff(ctx, try); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s moved %d times while it was pushed", j.ID.Ref(), maxRaces)
}

// refresh reads the journal again and reports whether it moved.
func (j *Journal) refresh(ctx context.Context) (moved bool, err error) {
	list, err := j.store.Journals(ctx, j.ID.Directive)
	if err != nil {
		return false, err
	}
	for _, now := range list {
		if now.ID == j.ID && now.tip != j.tip {
			j.tip, j.Records = now.tip, now.Records
			return true, nil
		}
	}
	return false, nil
}

// commit writes a record's commit on the tip.
func (j *Journal) commit(r *uow.Record) (string, error) {
	data, err := r.Marshal()
	if err != nil {
		return "", err
	}
	at, err := time.Parse(time.RFC3339, r.Time)
	if err != nil {
		return "", err
	}
	return git.Open(j.store.main.gitDir()).CommitFileAs(agentIdent, j.tip, uow.File, data, at,
		fmt.Sprintf("uow: %s %s %s", r.ID, r.Event, r.State))
}

// Verdict is the host's verdict on a claim, by the hash of its record; nil while
// there is none.
func (s *Store) Verdict(ctx context.Context, commit, claim string) (*loop.Verdict, error) {
	if _, err := s.main.git(ctx, "fetch", "--quiet", "--no-write-fetch-head", "origin", "+"+loop.VerdictsRef+"*:"+loop.VerdictsRef+"*"); err != nil {
		return nil, err
	}
	reader := git.Open(s.main.gitDir()).Reader(ctx)
	defer reader.Close()
	return state.Answer(reader, commit, claim)
}

// AwaitVerdict waits for the host's verdict on a claim, at most for patience; nil
// when there is none by then. The verifier may take its time, so stat looks first
// and git only where a ref moved.
func (s *Store) AwaitVerdict(ctx context.Context, commit, claim string, patience time.Duration) (*loop.Verdict, error) {
	end := time.Now().Add(patience)
	for {
		mark := git.Open(s.Bare).Mark(loop.VerdictsRef)
		if v, err := s.Verdict(ctx, commit, claim); v != nil || err != nil {
			return v, err
		}
		for git.Open(s.Bare).Mark(loop.VerdictsRef) == mark {
			if time.Now().After(end) {
				return nil, nil
			}
			select {
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-time.After(lookEvery / 4):
			}
		}
	}
}
