package checks

import (
	"errors"
	"fmt"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
)

// document is a file that an update changes, before and after.
type document struct {
	pass    *Pass
	tip     *walk.Tip
	path    string
	old     []byte // nil when there was none
	new     []byte // nil when it is gone
	deleted bool
}

// hasDocuments reports whether Ward's documents matter at a tip: on branches and records of a
// history that has them. Tags and notes have no reader.
func hasDocuments(t *walk.Tip) bool {
	return t.History.Documents() && (push.IsBranch(t.Ref) || t.History == push.Records)
}

// changeOf returns the change of one of Ward's documents in a tip, if it has one.
func changeOf(t *walk.Tip, path string) (walk.Change, bool) {
	if hasDocuments(t) {
		for _, c := range t.Changes {
			if c.Path == path {
				return c, true
			}
		}
	}
	return walk.Change{}, false
}

// readDocument reads a changed document of at most limit bytes; nil if the tip does not change
// it, or a finding explains why it is unreadable. The mode check reports documents that are no
// regular files.
func readDocument(pass *Pass, t *walk.Tip, path string, limit int64) (*document, error) {
	c, ok := changeOf(t, path)
	if !ok {
		return nil, nil
	}
	d := &document{pass: pass, tip: t, path: path, deleted: c.Deleted()}
	var large *git.TooLarge
	var err error
	if d.old, err = pass.Repo.Regular(c.Old, limit); err != nil && !errors.As(err, &large) { // an oversized old version cannot be fixed any more
		return nil, err
	}
	if d.deleted {
		return d, nil
	}
	d.new, err = pass.Repo.Regular(c.New, limit)
	if errors.As(err, &large) {
		hint := "shorten it"
		if path == comms.Path {
			hint = comms.Shorten
		}
		pass.Report(diag.Diagnostic{Pos: d.pos(0, 0), Ref: t.Ref, Rule: "limit/document",
			Message: fmt.Sprintf("the document has %d bytes, more than %d", large.Object.Size, limit), Hint: hint})
		return nil, nil
	}
	if err != nil || d.new == nil {
		return nil, err
	}
	return d, nil
}

func (d *document) pos(line, col int) diag.Pos {
	return diag.Pos{Commit: d.tip.New, Path: d.path, Line: line, Col: col}
}

// report adds a finding at a line, counted from 1; 0 is the whole document.
func (d *document) report(line int, rule, message, hint string) {
	d.pass.Report(diag.Diagnostic{Pos: d.pos(line, 1), Ref: d.tip.Ref, Rule: rule, Message: message, Hint: hint})
}

// reportAll adds the findings of the document's parser, which know their line only.
func (d *document) reportAll(found []diag.Diagnostic) {
	for _, f := range found {
		f.Commit, f.Path, f.Ref = d.tip.New, d.path, d.tip.Ref
		d.pass.Report(f)
	}
}

// gone reports that the document was deleted.
func (d *document) gone(rule string) {
	d.report(0, rule, "the document is gone", "bring it back: git checkout HEAD~1 -- "+d.path)
}
