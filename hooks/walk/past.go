package walk

import (
	"git-ward/hooks/push"
)

// Past reads commits that are there as those of a push to a ref, and ahead what comparing
// them with their parents will need. visit hears of each, or why it cannot be read; its error ends
// the reading.
func (w *Walker) Past(ref string, ids []string, visit func(id string, c *Commit, err error) error) error {
	t := &Tip{Update: push.Update{Ref: ref}, History: push.HistoryOf(w.names, ref)}
	if err := w.batch.Prefetch(ids, maxCommitSize); err != nil {
		return err
	}
	var commits []*Commit
	for _, id := range ids {
		w.bytes, w.commits.bytes = 0, 0 // what is read ahead is of many pushes, and the bounds are of one
		if c, err := w.Commit(id); err == nil {
			commits = append(commits, w.fresh(id, c, t))
		}
	}
	if err := w.ReadAhead(commits); err != nil && !IsBad(err) {
		return err
	}
	for _, id := range ids {
		w.bytes, w.commits.bytes = 0, 0
		var of *Commit
		c, err := w.Commit(id)
		if err == nil {
			of = w.fresh(id, c, t)
		}
		if err := visit(id, of, err); err != nil {
			return err
		}
	}
	return nil
}

// At is the walker for the push of one commit of the past, when its history's own branch was at the
// commit's first parent, "" for a root. It shares what was read, and counts for itself.
func (w *Walker) At(parent string) *Walker {
	at := *w
	at.project, at.control, at.bytes = parent, parent, 0
	at.met, at.seen = map[string]bool{}, map[fresh]bool{}
	at.commits = &commits{kept: w.commits.kept, forms: w.commits.forms}
	return &at
}
