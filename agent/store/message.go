package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/record"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// word is one thing that the agent has to say in COMMS.md, and says once.
type word struct {
	what      string // for errors
	subject   string // of a commit that brings it
	directive string
	said      func(*comms.Document) bool    // it stands there already
	message   func() (comms.Message, error) // as it goes on a record
	change    comms.Change                  // as it goes into the document
}

// text is the word as it lies on a record.
func (w word) text() ([]byte, error) {
	message, err := w.message()
	if err != nil {
		return nil, err
	}
	return message.Format()
}

// say brings a word into control's COMMS.md: by the host, which folds in what lies on the
// record of the directive's unit, or by a push of our own, where nobody folds or there is
// no unit at work.
func (s *Store) say(ctx context.Context, w word) error {
	if s.Folds {
		if left, err := s.leave(ctx, w); left || err != nil {
			return err
		}
	}
	return s.amend(ctx, w)
}

// foldPatience is how long the host is waited for before the log says so, and again after
// that: it is there as long as the launch, and what is left for it is not lost.
const foldPatience = time.Minute

// foldLook is how often is looked whether the host has folded something.
const foldLook = 200 * time.Millisecond

// leave puts a word on the record of the directive's newest unit, once, and waits until the
// host has folded it. It is false where there is no such record that moves.
func (s *Store) leave(ctx context.Context, w word) (bool, error) {
	id, err := s.moving(ctx, w.directive)
	if id == nil || err != nil {
		return false, err
	}
	c := &clone{store: s, dir: filepath.Join(s.State, messagesDir, s.name)}
	if err := c.ensure(ctx); err != nil {
		return false, err
	}
	left := true
	return left, git.Update(ctx, git.Race{What: record.Ref(*id), While: w.what + " was left there"}, func() (bool, error) {
		tip, err := git.Open(s.Bare).Ref(ctx, record.Ref(*id))
		if left = tip != git.Zero; err != nil || !left {
			return true, err
		}
		said, waits, number, err := s.pending(ctx, w, *id, tip)
		if err != nil {
			return false, err
		}
		if said || waits { // what waits is looked at again when it is folded
			return said, s.folded(ctx, w, *id, number)
		}
		commit, err := s.messageCommit(ctx, c, w, tip, number+1)
		if err != nil {
			return false, err
		}
		pushErr := c.pushAll(ctx, []move{{record.Ref(*id), tip, commit}})
		if ctx.Err() != nil {
			return true, pushErr
		}
		now, err := git.Open(s.Bare).Ref(ctx, record.Ref(*id))
		if err != nil {
			return false, errors.Join(pushErr, err)
		}
		if pushErr != nil && now == tip {
			return false, fmt.Errorf("%s: %w", w.what, pushErr)
		}
		return false, nil // what lies there now, ours or another's, is read again
	})
}

// messagesDir has the clone that messages are made in: apart from the work's, which other
// parts of the process use meanwhile.
const messagesDir = ".messages"

// moving is the newest unit of a directive, nil where its record moves no more or is not there.
func (s *Store) moving(ctx context.Context, directive string) (*uow.ID, error) {
	reader := git.Open(s.Bare).Reader(ctx)
	defer reader.Close()
	newest, err := state.Newest(reader, directive, 0)
	if err != nil || newest == nil {
		return nil, err
	}
	last, err := state.Record(reader, newest.Tip)
	if err != nil || last.State == uow.Archived {
		return nil, err
	}
	return &newest.ID, nil
}

// pending reports whether a word stands in the document as it will be when everything on the
// record is folded, and how many messages lie there. Where one of them waits for room it is the
// number of that one: what comes after it is not known before.
func (s *Store) pending(ctx context.Context, w word, id uow.ID, tip string) (said, waits bool, number int, err error) {
	reader := git.Open(s.Bare).Reader(ctx)
	defer reader.Close()
	// The mark first: it moves after control, so what it counts is in the document below.
	folded, err := foldedUpTo(reader, id)
	if err != nil {
		return false, false, 0, err
	}
	m, err := s.Main(ctx)
	if err != nil {
		return false, false, 0, err
	}
	data, doc, err := m.Comms(ctx)
	if err != nil {
		return false, false, 0, err
	}
	entries, err := reader.Entries(tip, record.Messages)
	if err != nil {
		return false, false, 0, err
	}
	folding := record.NewFolding(data, doc)
	for n := folded + 1; n <= len(entries); n++ {
		text, err := reader.File(tip, record.MessagePath(n), comms.MaxMessageBytes)
		if err != nil {
			return false, false, 0, err
		}
		p, _ := record.ReadPending(id, n, text) // nobody folds a void one
		if done, _ := folding.Take(p); !done {
			return false, true, n, nil
		}
	}
	return w.said(folding.Document), false, len(entries), nil
}

// foldedUpTo is how many of a unit's messages the host has folded.
func foldedUpTo(reader *git.Reader, id uow.ID) (int, error) {
	data, err := reader.Blob(record.FoldedRef(id), 4<<10)
	if errors.Is(err, git.ErrMissing) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return record.ParseFolded(id, data)
}

// messageCommit makes the commit that puts a word on a record, on top of its tip.
func (s *Store) messageCommit(ctx context.Context, c *clone, w word, tip string, number int) (string, error) {
	text, err := w.text()
	if err != nil {
		return "", err
	}
	batch := c.repo().Batch(ctx)
	defer batch.Close()
	return batch.Commit(record.AgentIdent, tip, map[string][]byte{record.MessagePath(number): text}, time.Now(), w.subject+"\n\n"+record.TrailerDirective+": "+w.directive)
}

// folded waits until the host has folded so many messages of a unit.
func (s *Store) folded(ctx context.Context, w word, id uow.ID, number int) error {
	reader := git.Open(s.Bare).Reader(ctx)
	defer reader.Close()
	for watch := git.Open(s.Bare).Watch(record.FoldedRef(id)); ; {
		if n, err := foldedUpTo(reader, id); err != nil || n >= number {
			return err
		}
		moved, err := watch.Wait(ctx, foldLook, time.Now().Add(foldPatience), nil)
		if err != nil {
			return err
		}
		if !moved && s.Late != nil {
			s.Late(w.what)
		}
	}
}
