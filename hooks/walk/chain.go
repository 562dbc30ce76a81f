package walk

import (
	"slices"

	"git-ward/internal/git"
	"git-ward/protocols/record"
)

// ChainError says that a history is not one commit on top of the other.
type ChainError struct {
	Commit string // that does not follow another one, or is the tip of what is too long
	Long   bool   // more than the maximum of commits, or none that follows the old value
}

func (e *ChainError) Error() string { return e.Commit + " does not follow the ref's old value" }

// Chain finds the commits from a tip down to its ref's old value, by first parents, oldest
// first, at most so many. Each has the one before it as its first parent, and no more
// parents than those; the first of a new ref has none. Any other history is a *ChainError.
func (w *Walker) Chain(t *Tip, most, parents int) ([]*Commit, error) {
	var steps []*Commit
	id, c := t.New, t.Commit
	for range most {
		count := len(c.Parents)
		if count == 0 && t.Old != git.Zero || count > parents {
			return nil, &ChainError{Commit: id}
		}
		steps = append(steps, w.fresh(id, c, t))
		if count == 0 || c.Parents[0] == t.Old {
			return reversed(steps), nil
		}
		var err error
		id = c.Parents[0]
		if c, err = w.Commit(id); err != nil {
			return nil, err
		}
	}
	return nil, &ChainError{Commit: t.New, Long: true}
}

// Works are the commits that commits of a record name as their work, by their second
// parents, the newest first, each once.
func Works(steps []*Commit) (ids []string) {
	known := map[string]bool{}
	for _, c := range slices.Backward(steps) {
		if work := record.Work(c.Parents); work != "" && !known[work] {
			known[work] = true
			ids = append(ids, work)
		}
	}
	return ids
}
