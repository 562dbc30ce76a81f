package checks

import (
	"errors"

	"git-ward/internal/git"
	"git-ward/protocols/loop"
)

// maxNote bounds the verdicts on one commit, all lines together.
const maxNote = 8 << 20

// verdicts reads the host's verdicts on a commit, oldest first. A line that is
// not one is passed over here and named by git ward fsck.
func (r *Run) verdicts(commit string) ([]loop.Verdict, error) {
	note, err := r.note(loop.VerdictsRef, commit)
	if err != nil || note == nil {
		return nil, err
	}
	list, _ := loop.ParseVerdicts(note)
	return list, nil
}

// note reads an object's note, nil when it has none. Git and Ward put notes below
// directories of two digits, as many levels as they like (git-notes(1)).
func (r *Run) note(ref, object string) ([]byte, error) {
	tip, err := r.batch.Info(ref)
	if errors.Is(err, git.ErrMissing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c, err := r.commit(tip.ID)
	if err != nil {
		return nil, err
	}
	tree, rest := c.Tree, object
	for {
		entries, err := r.trees.load(tree)
		if err != nil {
			return nil, err
		}
		below := ""
		for _, e := range entries {
			if e.Name == rest && !e.IsDir() {
				_, data, err := r.batch.Read(e.ID, maxNote)
				return data, err
			}
			if len(rest) > 2 && e.Name == rest[:2] && e.IsDir() {
				below = e.ID
			}
		}
		if below == "" {
			return nil, nil
		}
		tree, rest = below, rest[2:]
	}
}
