package git

import (
	"errors"
	"strings"
)

// near is how many commits Follows reads at most.
const near = 16

// Follows reports whether a commit comes after another one, by their full ids, as one of its nearest
// on the line of first parents. It starts no child for that, as a rule. False says nothing.
func (r *Reader) Follows(commit, other string) bool {
	if !IsID(commit) || !IsID(other) {
		return false
	}
	for range near {
		object, data, err := r.batch.Read(commit, maxCommit)
		if err != nil || object.Kind != "commit" {
			return false
		}
		parents := parentsIn(data)
		if len(parents) == 0 {
			return false
		}
		if commit = parents[0]; commit == other {
			return true
		}
	}
	return false
}

// Contains reports whether a commit is tip, or an ancestor of it; false for one that the
// repository does not have.
func (r *Reader) Contains(tip, commit string) (bool, error) {
	object, err := r.batch.Info(commit)
	if err != nil {
		if errors.Is(err, ErrMissing) {
			err = nil
		}
		return false, err
	}
	if object.ID == tip && object.Kind == "commit" || r.Follows(tip, object.ID) {
		return true, nil
	}
	if r.Follows(object.ID, tip) {
		return false, nil
	}
	return r.repo.Exits(r.ctx, "merge-base", "--is-ancestor", commit, tip)
}

// Saying yields the commits, newest first, whose message contains a text, with their messages.
// It looks at the ancestors of tip that are no ancestors of commit, if the repository has
// commit.
func (r *Reader) Saying(tip, commit, text string) (said [][2]string, err error) {
	if r.Follows(commit, tip) {
		return nil, nil
	}
	args := []string{"log", "-z", "--format=%H%n%B", "--no-show-signature", "--no-notes", "--no-color", "--fixed-strings", "--grep=" + text, "--end-of-options", tip}
	if _, err := r.batch.Info(commit); err == nil {
		args = append(args, "^"+commit)
	}
	for entry, err := range r.repo.Records(r.ctx, append(args, "--")...) {
		if err != nil {
			return nil, err
		}
		id, message, _ := strings.Cut(entry, "\n")
		said = append(said, [2]string{id, message})
	}
	return said, nil
}

// MergeBase is the best common ancestor of two commits, "" when they share no history.
func (r *Reader) MergeBase(a, b string) (string, error) {
	out, err := r.repo.Output(r.ctx, "merge-base", "--end-of-options", a, b)
	if SaidNo(err) {
		return "", nil
	}
	return strings.TrimSpace(string(out)), err
}
