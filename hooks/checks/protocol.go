package checks

import (
	"errors"
	"fmt"
	"strings"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/charter"
)

// newProtocolCheck makes the check of one push, which reads protocols through a cache.
func newProtocolCheck(sources *sourceCache) Check {
	return Check{
		Name: "protocol",
		Doc: "Protocols below protocols/ have their form, their ids are unique in the tree, and AGENTS.md is what they compile " +
			"to, byte for byte (for the PM the last is a warning; the agent compiles it again).",
		Rules: []string{"protocol/*", "protocol/size", "protocol/compiled"},
		Tip:   sources.judge,
	}
}

// sourceCache keeps some megabytes of protocols by blob, because a push of many lessons reads
// the same ones again and again.
type sourceCache struct {
	kept  map[string][]byte
	bytes int
}

func (s *sourceCache) judge(pass *Pass, t *walk.Tip) error {
	touched := map[string]bool{}
	for _, c := range t.Changes {
		if charter.IsSource(c.Path) || c.Path == charter.Compiled {
			touched[c.Path] = true
		}
	}
	if len(touched) == 0 || !hasDocuments(t) {
		return nil
	}
	files, err := s.protocols(pass, t.Commit.Tree)
	if limit, ok := errors.AsType[*walk.Exceeded](err); ok {
		pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: t.New, Path: limit.Path}, Ref: t.Ref, Rule: "protocol/size", Message: limit.Message,
			Hint: "split or shorten the protocols; notes and data have other places"})
		return nil
	}
	if err != nil {
		return err
	}
	for _, d := range charter.Check(files) {
		if touched[d.Path] {
			d.Commit, d.Ref = t.New, t.Ref
			pass.Report(d)
		}
	}
	return compiled(pass, t, files)
}

// protocols reads all sources of AGENTS.md in a tree. A limit's excess is a *walk.Exceeded
// with the path.
func (s *sourceCache) protocols(pass *Pass, tree string) ([]charter.File, error) {
	dir, ok, err := pass.Repo.Lookup(tree, charter.Dir)
	if err != nil || !ok {
		return nil, err
	}
	var sources []walk.Change
	err = pass.Repo.Compare(nil, dir.ID, func(c walk.Change) error {
		if c.Path = charter.Dir + c.Path; charter.IsSource(c.Path) && c.New.Mode == git.ModeFile {
			sources = append(sources, c)
		}
		if len(sources) > charter.MaxFiles {
			return &walk.Exceeded{Path: strings.TrimSuffix(charter.Dir, "/"), Message: fmt.Sprintf("more than %d protocols", charter.MaxFiles)}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	files, total := make([]charter.File, 0, len(sources)), 0
	for _, c := range sources {
		data, err := s.read(pass, c.New)
		if large, ok := errors.AsType[*git.TooLarge](err); ok {
			return nil, &walk.Exceeded{Path: c.Path, Message: fmt.Sprintf("the protocol has %d bytes, more than %d", large.Object.Size, large.Limit)}
		}
		if err != nil {
			return nil, err
		}
		if total += len(data); total > charter.MaxTotal {
			return nil, &walk.Exceeded{Path: c.Path, Message: fmt.Sprintf("the protocols have more than %d bytes together", charter.MaxTotal)}
		}
		files = append(files, charter.File{Path: c.Path, Data: data})
	}
	return files, nil
}

// read reads one protocol.
func (s *sourceCache) read(pass *Pass, e git.Entry) ([]byte, error) {
	if data, ok := s.kept[e.ID]; ok {
		return data, nil
	}
	data, err := pass.Repo.Regular(e, charter.MaxBytes)
	if err != nil {
		return nil, err
	}
	if s.bytes += len(data); s.kept == nil || s.bytes > 2*charter.MaxTotal {
		s.kept, s.bytes = map[string][]byte{}, len(data)
	}
	s.kept[e.ID] = data
	return data, nil
}

// compiled compares AGENTS.md at a tip with its sources. A repository without protocols has
// its own AGENTS.md, or none.
func compiled(pass *Pass, t *walk.Tip, files []charter.File) error {
	if len(files) == 0 {
		return nil
	}
	want, err := charter.Compile(files)
	if err != nil {
		return err // the limits were looked at before
	}
	e, ok, err := pass.Repo.Lookup(t.Commit.Tree, charter.Compiled)
	if err != nil || ok && e.ID == git.BlobID(want) {
		return err
	}
	d := diag.Diagnostic{Pos: diag.Pos{Commit: t.New, Path: charter.Compiled}, Ref: t.Ref, Rule: "protocol/compiled", Severity: diag.Error,
		Message: "is not what protocols/ compiles to",
		Hint:    "git ward protocol compile, then commit; text of your own goes into a protocols/NAME.protocol.md"}
	if !ok {
		d.Message = "is missing"
	}
	if pass.Push.Principal == push.PM {
		d.Severity = diag.Warning
	}
	pass.Report(d)
	return nil
}
