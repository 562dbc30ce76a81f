package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/record"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// word is a message for COMMS.md, sent once.
type word struct {
	what      string // for errors
	subject   string // subject of the commit that adds it
	directive string
	said      func(*comms.Document) bool    // it is already there
	message   func() (comms.Message, error) // its form on a record
	change    comms.Change                  // its form in the document
}

// text is the message's form on a record.
func (w word) text() ([]byte, error) {
	message, err := w.message()
	if err != nil {
		return nil, err
	}
	return message.Format()
}

// say adds a message to control's COMMS.md: the host folds it from the record of the
// directive's unit, or we push it ourselves if nobody folds or no unit is at work.
func (s *Store) say(ctx context.Context, w word) error {
	if s.Folds {
		if left, err := s.leave(ctx, w); left || err != nil {
			return err
		}
	}
	return s.amend(ctx, w)
}

// foldPatience is how long to wait for the host to fold a message. A message on the record is
// not lost. A worker that waited longer would keep its slot from other directives.
const foldPatience = time.Minute

// foldLook is how often to check whether the host has folded.
const foldLook = 200 * time.Millisecond

// leave adds a message to the record of the directive's newest unit, once, and waits until the
// host has folded it. It returns false if there is no such record, or if the message is not there
// and the record moves no more.
func (s *Store) leave(ctx context.Context, w word) (bool, error) {
	id, moves, err := s.newest(ctx, w.directive)
	if id == nil || err != nil {
		return false, err
	}
	left := true
	err = git.Update(ctx, git.Race{What: record.Ref(*id), While: w.what + " was left there"}, func() (bool, error) {
		tip, err := git.Open(s.Bare).Ref(ctx, record.Ref(*id))
		if left = tip != git.Zero; err != nil || !left {
			return true, err
		}
		said, waits, number, err := s.pending(ctx, w, *id, tip)
		if err != nil {
			return false, err
		}
		if said || waits { // a waiting message is checked again after folding
			folded, err := s.folded(ctx, w, *id, number)
			if waits && !folded && err == nil {
				err = diag.Hint(fmt.Errorf("%s waits: %s has no room for message %d of %s", w.what, comms.Path, number, id), "shorten %s and push it, or take reports out of it", comms.Path)
			}
			return said, err
		}
		if left = moves; !left {
			return true, nil
		}
		c := &clone{store: s, dir: filepath.Join(s.State, messagesDir, s.name)}
		if err := c.ensure(ctx); err != nil {
			return false, err
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
		return false, nil // what is there now, ours or another's, is read again
	})
	return left, err
}

// messagesDir is the clone for making messages: separate from the work's, which other parts of
// the process use meanwhile.
const messagesDir = ".messages"

// newest is a directive's newest unit, nil for none, and whether its record still moves.
func (s *Store) newest(ctx context.Context, directive string) (id *uow.ID, moves bool, err error) {
	reader := git.Open(s.Bare).Reader(ctx)
	defer reader.Close()
	newest, err := state.Newest(reader, directive, 0)
	if err != nil || newest == nil {
		return nil, false, err
	}
	last, err := state.Record(reader, newest.Tip)
	if err != nil {
		return nil, false, err
	}
	return &newest.ID, last.State != uow.Archived, nil
}

// pending reports whether a message will be in the document once everything on the record is
// folded, and how many messages are on the record. If one of them waits for space, the number
// is that one's, because what follows is not known before.
func (s *Store) pending(ctx context.Context, w word, id uow.ID, tip string) (said, waits bool, number int, err error) {
	reader := git.Open(s.Bare).Reader(ctx)
	defer reader.Close()
	// The mark first: it moves after control, so the document below has what it counts.
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
		p, _ := record.ReadPending(id, n, text) // void messages are not folded
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

// messageCommit makes the commit of a message on top of a record's tip.
func (s *Store) messageCommit(ctx context.Context, c *clone, w word, tip string, number int) (string, error) {
	text, err := w.text()
	if err != nil {
		return "", err
	}
	batch := c.repo().Batch(ctx)
	defer batch.Close()
	return batch.Commit(record.AgentIdent, tip, map[string][]byte{record.MessagePath(number): text}, time.Now(), w.subject+"\n\n"+record.TrailerDirective+": "+w.directive)
}

// folded waits until the host has folded so many of a unit's messages. It returns false if the
// host folds none for too long.
func (s *Store) folded(ctx context.Context, w word, id uow.ID, number int) (bool, error) {
	reader := git.Open(s.Bare).Reader(ctx)
	defer reader.Close()
	for watch := git.Open(s.Bare).Watch(record.FoldedRef(id)); ; {
		if n, err := foldedUpTo(reader, id); err != nil || n >= number {
			return err == nil, err
		}
		moved, err := watch.Wait(ctx, foldLook, time.Now().Add(s.patience), nil)
		if err != nil {
			return false, err
		}
		if !moved {
			if s.Late != nil {
				s.Late(w.what)
			}
			return false, nil
		}
	}
}
