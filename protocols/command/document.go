package command

import (
	"errors"
	"fmt"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/failpoint"
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
	for range maxRaces {
		// The document of the commit that the new one goes on from, and no other: what
		// somebody pushed between two looks at the ref would be taken out again.
		tip, err := u.reader.Tip(u.names.ControlRef())
		if err != nil {
			return "", err
		}
		doc, err := standing.Documents(u.reader, tip)
		if err != nil {
			return "", err
		}
		failpoint.Reach("command/read")
		data, err := change(doc)
		if data == nil || err != nil {
			return "", err
		}
		if commit, err = u.withDocument(who, tip, data, subject()); err != nil {
			return "", err
		}
		moved, words, err := u.publish(u.names.Branch, tip, commit)
		if err != nil {
			return "", errors.Join(errNotTaken, err)
		}
		if moved {
			u.hear(words)
			return commit, nil
		}
	}
	return "", fmt.Errorf("%s moved each of %d times; try again", u.names.Branch, maxRaces)
}

// errNotTaken is for a push that the host refused.
var errNotTaken = errors.New("the host refused the push")

// withDocument is a commit on top of another that has another COMMS.md.
func (u *units) withDocument(who, parent string, data []byte, subject string) (string, error) {
	batch := u.repo.Batch(u.ctx)
	defer batch.Close()
	top, err := batch.Info(parent + "^{tree}")
	if err != nil {
		return "", err
	}
	tree, err := batch.EditTree(top.ID, map[string][]byte{comms.Path: data})
	if err != nil {
		return "", err
	}
	return u.repo.CommitMerge(who, tree, []string{parent}, time.Now(), diag.Clean(subject))
}
