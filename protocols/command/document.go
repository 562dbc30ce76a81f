package command

import (
	"errors"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/failpoint"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/standing"
	"git-ward/protocols/state"
)

// amend changes COMMS.md of the control branch by a commit that no working tree sees, and
// pushes it: on a branch that somebody else moved meanwhile, the change is made anew. nil
// from change is nothing to do, and no commit.
func (u *units) amend(subject func() string, change func(doc state.Comms) ([]byte, error)) (commit string, err error) {
	who, err := u.identity()
	if err != nil {
		return "", err
	}
	err = git.Update(u.ctx, u.race(u.names.Branch), func() (bool, error) {
		// The document of the commit that the new one goes on from, and no other: what
		// somebody pushed between two looks at the ref would be taken out again.
		tip, err := u.reader.Tip(u.names.ControlRef())
		if err != nil {
			return false, err
		}
		doc, err := standing.Documents(u.reader, tip)
		if err != nil {
			return false, err
		}
		failpoint.Reach("command/read")
		data, err := change(doc)
		if data == nil || err != nil {
			return true, err
		}
		made, err := u.withDocument(who, tip, data, subject())
		if err != nil {
			return false, err
		}
		moved, words, err := u.publish(u.names.Branch, tip, made)
		if err != nil {
			return false, errors.Join(errNotTaken, err)
		}
		if moved {
			commit = made
			u.hear(words)
		}
		return moved, nil
	})
	return commit, err
}

// race is for what somebody else may move while a verb is at it.
func (u *units) race(what string) git.Race { return git.Race{What: what, Tries: 5} }

// errNotTaken is for a push that the host refused.
var errNotTaken = errors.New("the host refused the push")

// withDocument is a commit on top of another that has another COMMS.md.
func (u *units) withDocument(who, parent string, data []byte, subject string) (string, error) {
	batch := u.repo.Batch(u.ctx)
	defer batch.Close()
	return batch.Commit(who, parent, map[string][]byte{comms.Path: data}, time.Now(), diag.Clean(subject))
}
