package checks

import (
	"errors"
	"fmt"
	"strings"

	"git-ward/hooks/push"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/charter"
)

var protocolCheck = Check{
	Name: "protocol",
	Doc: "Protocols below protocols/ have their form, their ids are unique in the tree, and AGENTS.md is what they compile " +
		"to, byte for byte (for the PM the last is a warning; the agent compiles it again).",
	Tip: func(r *Run, t *Tip) error {
		touched := map[string]bool{}
		for _, c := range t.Changes {
			if charter.IsSource(c.Path) || c.Path == charter.Compiled {
				touched[c.Path] = true
			}
		}
		if len(touched) == 0 || !push.IsBranch(t.Ref) {
			return nil
		}
		files, err := r.protocols(t.Commit.Tree)
		var limit *limitError
		if errors.As(err, &limit) {
			r.Report(diag.Diagnostic{Pos: diag.Pos{Commit: t.New, Path: limit.path}, Ref: t.Ref, Rule: "protocol/size", Message: limit.message,
				Hint: "split or shorten the protocols; notes and data have other places"})
			return nil
		}
		if err != nil {
			return err
		}
		for _, d := range charter.Check(files) {
			if touched[d.Path] {
				d.Commit, d.Ref = t.New, t.Ref
				r.Report(d)
			}
		}
		return r.compiled(t, files)
	},
}

// protocols reads all sources of AGENTS.md in a tree. Too much is a limitError
// with the path.
func (r *Run) protocols(tree string) ([]charter.File, error) {
	dir, ok, err := r.trees.lookup(tree, charter.Dir)
	if err != nil || !ok {
		return nil, err
	}
	var entries []Change
	walk := comparison{trees: r.trees, visit: func(c Change) error {
		if c.Path = charter.Dir + c.Path; charter.IsSource(c.Path) && c.New.Mode == git.ModeFile {
			entries = append(entries, c)
		}
		if len(entries) > charter.MaxFiles {
			return &limitError{strings.TrimSuffix(charter.Dir, "/"), fmt.Sprintf("more than %d protocols", charter.MaxFiles)}
		}
		return nil
	}}
	if err := walk.compare(nil, dir.ID); err != nil {
		return nil, err
	}
	files, total := make([]charter.File, 0, len(entries)), 0
	for _, c := range entries {
		data, err := r.source(c.New)
		var large *git.TooLarge
		if errors.As(err, &large) {
			return nil, &limitError{c.Path, fmt.Sprintf("the protocol has %d bytes, more than %d", large.Object.Size, large.Limit)}
		}
		if err != nil {
			return nil, err
		}
		if total += len(data); total > charter.MaxTotal {
			return nil, &limitError{c.Path, fmt.Sprintf("the protocols have more than %d bytes together", charter.MaxTotal)}
		}
		files = append(files, charter.File{Path: c.Path, Data: data})
	}
	return files, nil
}

// source reads a protocol. A push of many lessons meets the same ones again and
// again, so they are kept, some megabytes of them.
func (r *Run) source(e git.Entry) ([]byte, error) {
	if data, ok := r.sources[e.ID]; ok {
		return data, nil
	}
	data, err := r.regular(e, charter.MaxBytes)
	if err != nil {
		return nil, err
	}
	if r.sourceBytes += len(data); r.sources == nil || r.sourceBytes > 2*charter.MaxTotal {
		r.sources, r.sourceBytes = map[string][]byte{}, len(data)
	}
	r.sources[e.ID] = data
	return data, nil
}

// compiled compares AGENTS.md at a tip with its sources. A repository without
// protocols has an AGENTS.md of its own, or none.
func (r *Run) compiled(t *Tip, files []charter.File) error {
	if len(files) == 0 {
		return nil
	}
	want, err := charter.Compile(files)
	if err != nil {
		return err // the limits were looked at before
	}
	e, ok, err := r.trees.lookup(t.Commit.Tree, charter.Compiled)
	if err != nil || ok && e.ID == git.BlobID(want) {
		return err
	}
	d := diag.Diagnostic{Pos: diag.Pos{Commit: t.New, Path: charter.Compiled}, Ref: t.Ref, Rule: "protocol/compiled", Severity: diag.Error,
		Message: "is not what protocols/ compiles to",
		Hint:    "git ward protocol compile, then commit; text of your own goes into a protocols/NAME.protocol.md"}
	if !ok {
		d.Message = "is missing"
	}
	if r.Principal == push.PM {
		d.Severity = diag.Warning
	}
	r.Report(d)
	return nil
}
