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

// amend changes COMMS.md of the control branch by a commit that touches no working tree, and
// pushes it. If somebody else moved the branch meanwhile, it makes the change anew on the new
// tip. If change returns nil there is nothing to do, and no commit.
func (u *units) amend(subject func() string, change func(doc state.Comms) ([]byte, error)) (commit string, err error) {
	who, err := u.identity()
	if err != nil {
		return "", err
	}
	err = git.Update(u.ctx, u.race(u.names.Branch), func() (bool, error) {
		// It must be the document of the new commit's parent: with another one the commit
		// would revert what was pushed between two reads of the ref.
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

// race repeats an operation on refs that somebody else may move meanwhile.
func (u *units) race(what string) git.Race { return git.Race{What: what, Tries: 5} }

// errNotTaken is for a push that the host refused.
var errNotTaken = errors.New("the host refused the push")

// withDocument is a commit on top of another that has another COMMS.md.
func (u *units) withDocument(who, parent string, data []byte, subject string) (string, error) {
	batch := u.repo.Batch(u.ctx)
	defer batch.Close()
	return batch.Commit(who, parent, map[string][]byte{comms.Path: data}, time.Now(), diag.Clean(subject))
}
