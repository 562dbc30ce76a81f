package checks

import (
	"errors"
	"fmt"

	"git-ward/hooks/push"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// document is a file that a tip changes, before and after.
type document struct {
	tip     *Tip
	path    string
	old     []byte // nil when there was none
	new     []byte // nil when it is gone
	deleted bool
}

// change returns the change of a path in a tip, if it has one. Documents count
// on branches only: a tag or a note has no reader.
func (t *Tip) change(path string) (Change, bool) {
	if push.IsBranch(t.Ref) {
		for _, c := range t.Changes {
			if c.Path == path {
				return c, true
			}
		}
	}
	return Change{}, false
}

// document reads a changed document of at most limit bytes; nil when the tip
// does not change it or a finding says why it cannot be read. A document that
// is not a regular file is the mode check's finding.
func (r *Run) document(t *Tip, path string, limit int64) (*document, error) {
	c, ok := t.change(path)
	if !ok {
		return nil, nil
	}
	d := &document{tip: t, path: path, deleted: c.Deleted()}
	var err error
	if d.old, err = r.regular(c.Old, limit); err != nil {
		var large *git.TooLarge
		if !errors.As(err, &large) { // an old version over the limit is past mending
			return nil, err
		}
	}
	if d.deleted {
		return d, nil
	}
	d.new, err = r.regular(c.New, limit)
	var large *git.TooLarge
	if errors.As(err, &large) {
		r.Report(diag.Diagnostic{Pos: d.pos(0, 0), Ref: t.Ref, Rule: "limit/document",
			Message: fmt.Sprintf("the document has %d bytes, more than %d", large.Object.Size, limit),
			Hint:    "shorten it; for COMMS.md the agent and you prune old reports"})
		return nil, nil
	}
	if err != nil || d.new == nil {
		return nil, err
	}
	return d, nil
}

// regular reads an entry that is a regular file; nil for anything else.
func (r *Run) regular(e git.Entry, limit int64) ([]byte, error) {
	if e.Mode != git.ModeFile && e.Mode != git.ModeExec {
		return nil, nil
	}
	_, data, err := r.batch.Read(e.ID, limit)
	if err != nil {
		return nil, err
	}
	return data, r.spend(int64(len(data)))
}

func (d *document) pos(line, col int) diag.Pos {
	return diag.Pos{Commit: d.tip.New, Path: d.path, Line: line, Col: col}
}

// place gives findings of a document's parser their commit, path and ref.
func (d *document) place(ds []diag.Diagnostic) []diag.Diagnostic {
	for i := range ds {
		ds[i].Commit, ds[i].Path, ds[i].Ref = d.tip.New, d.path, d.tip.Ref
	}
	return ds
}
