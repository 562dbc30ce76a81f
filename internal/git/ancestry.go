package git

import (
	"errors"
	"strings"
)

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
	if object.ID == tip && object.Kind == "commit" {
		return true, nil
	}
	return r.repo.Exits(r.ctx, "merge-base", "--is-ancestor", commit, tip)
}

// Saying yields the commits, newest first, whose message contains a text, with their messages.
// It looks at the ancestors of tip that are no ancestors of commit, if the repository has
// commit.
func (r *Reader) Saying(tip, commit, text string) (said [][2]string, err error) {
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
