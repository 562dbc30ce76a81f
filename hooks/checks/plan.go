package checks

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/plan"
)

var planCheck = Check{
	Name: "plan",
	Doc: "Plans (plans/**, plan.txt, *.plan.txt) are words of their machine, close their task, use files that are there, and " +
		"call plans that exist, end, and stay within the stack (PLAN-1 to PLAN-4). A plan is judged when it changes; what it " +
		"calls is read from the same tree.",
	Rules: []string{"plan/*"},
	Tip: func(pass *Pass, t *walk.Tip) error {
		if !push.IsBranch(t.Ref) {
			return nil
		}
		var linter *plan.Linter // most pushes hold no plan
		for _, c := range t.Changes {
			if c.Deleted() || !plan.IsPlan(c.Path) || (c.New.Mode != git.ModeFile && c.New.Mode != git.ModeExec) {
				continue
			}
			if linter == nil {
				linter = newLinter(pass, t)
			}
			found, err := linter.Lint(c.Path)
			if err != nil {
				return err
			}
			for _, f := range found {
				f.Commit, f.Ref = t.New, t.Ref
				pass.Report(f)
			}
		}
		return nil
	},
}

var registryCheck = Check{
	Name: "registry",
	Doc: "knowledge_core/plan_registry.json maps logical names to plans inside the repository, each name once; what a change of " +
		"it points to is there and has no findings, and no registered plan goes away.",
	Tip: func(pass *Pass, t *walk.Tip) error {
		d, err := readDocument(pass, t, plan.RegistryPath, plan.MaxRegistryBytes)
		if err != nil {
			return err
		}
		if d == nil {
			return registeredGone(pass, t)
		}
		if d.deleted {
			d.gone(plan.RuleRegistry)
			return nil
		}
		registry, found := plan.ParseRegistry(d.new)
		d.reportAll(found)
		before, _ := plan.ParseRegistry(d.old)
		linter := newLinter(pass, t)
		for _, e := range registry.Entries {
			if old, ok := before.Lookup(e.Name); ok && old == e.Path {
				continue
			}
			if err := target(pass, d, linter, e); err != nil {
				return err
			}
		}
		return registeredGone(pass, t)
	},
}

// linter lints plans in the tree of a tip. Machines come from main: from the tip
// itself where it is what main becomes.
func newLinter(pass *Pass, t *walk.Tip) *plan.Linter {
	tree := &planTree{pass: pass, tree: t.Commit.Tree}
	main := tree
	if !push.IsMain(t.Ref) {
		main = nil
	}
	return plan.NewLinter(tree, func(path string) ([]byte, error) {
		if main == nil {
			if pass.Repo.Main() == "" {
				return nil, fs.ErrNotExist
			}
			commit, err := pass.Repo.Commit(pass.Repo.Main())
			if err != nil {
				return nil, err
			}
			main = &planTree{pass: pass, tree: commit.Tree}
		}
		return main.ReadFile(path, plan.MaxBytes)
	})
}

// target reports a changed entry whose plan is not there, or has findings.
func target(pass *Pass, d *document, linter *plan.Linter, e plan.Entry) error {
	fault := func(message, hint string) {
		d.report(e.Line, plan.RuleTarget, fmt.Sprintf("%q: %s", e.Name, message), hint)
	}
	tree := &planTree{pass: pass, tree: d.tip.Commit.Tree}
	kind, err := tree.Kind(e.Path)
	if err != nil {
		return err
	}
	if kind != plan.File {
		fault("there is no file "+e.Path, "add the plan, or git ward plan deregister "+e.Name)
		return nil
	}
	if strings.HasSuffix(e.Path, ".udc") {
		return nil
	}
	found, err := linter.Lint(e.Path)
	if err != nil {
		return err
	}
	if diag.HasErrors(found) {
		fault(fmt.Sprintf("%s: %s: %s", found[0].Pos, found[0].Rule, found[0].Message), "mend the plan: git ward plan lint "+e.Path)
	}
	return nil
}

// registeredGone reports files that go away though the registry names them.
func registeredGone(pass *Pass, t *walk.Tip) error {
	gone := map[string]bool{}
	for _, c := range t.Changes {
		if c.Deleted() && c.Path != plan.RegistryPath {
			gone[c.Path] = true
		}
	}
	if len(gone) == 0 || !push.IsBranch(t.Ref) {
		return nil
	}
	tree := &planTree{pass: pass, tree: t.Commit.Tree}
	data, err := tree.ReadFile(plan.RegistryPath, plan.MaxRegistryBytes)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, plan.ErrTooLarge) {
		return nil
	}
	if err != nil {
		return err
	}
	registry, _ := plan.ParseRegistry(data)
	_, changed := changeOf(t, plan.RegistryPath)
	for _, e := range registry.Entries {
		if gone[e.Path] && !changed {
			pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: t.New, Path: plan.RegistryPath, Line: e.Line, Col: 1}, Ref: t.Ref, Rule: plan.RuleTarget,
				Message: fmt.Sprintf("%q: %s is gone", e.Name, e.Path), Hint: "bring the plan back, or git ward plan deregister " + e.Name})
		}
	}
	return nil
}

// planTree is a commit's tree as the lint of plans sees it.
type planTree struct {
	pass *Pass
	tree string
	dirs map[string]map[string]git.Entry // by tree id, so that many look-ups cost one reading
}

func (p *planTree) entry(path string) (git.Entry, bool, error) {
	at := git.Entry{Mode: git.ModeDir, ID: p.tree}
	for name := range strings.SplitSeq(path, "/") {
		if !at.IsDir() {
			return git.Entry{}, false, nil
		}
		dir, err := p.dir(at.ID)
		if err != nil {
			return git.Entry{}, false, err
		}
		e, ok := dir[name]
		if !ok {
			return git.Entry{}, false, nil
		}
		at = e
	}
	return at, true, nil
}

func (p *planTree) dir(id string) (map[string]git.Entry, error) {
	if dir, ok := p.dirs[id]; ok {
		return dir, nil
	}
	entries, err := p.pass.Repo.Tree(id)
	if err != nil {
		return nil, err
	}
	dir := make(map[string]git.Entry, len(entries))
	for _, e := range entries {
		dir[e.Name] = e
	}
	if p.dirs == nil {
		p.dirs = map[string]map[string]git.Entry{}
	}
	p.dirs[id] = dir
	return dir, nil
}

// Kind says what a path of the tree names.
func (p *planTree) Kind(path string) (plan.Kind, error) {
	if path == "." {
		return plan.Folder, nil
	}
	e, ok, err := p.entry(path)
	switch {
	case err != nil || !ok:
		return plan.Missing, err
	case e.IsDir():
		return plan.Folder, nil
	case e.Mode == git.ModeFile || e.Mode == git.ModeExec:
		return plan.File, nil
	}
	return plan.Other, nil
}

// ReadFile reads a regular file of the tree; what it costs counts against the
// push's limit.
func (p *planTree) ReadFile(path string, limit int64) ([]byte, error) {
	e, ok, err := p.entry(path)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fs.ErrNotExist
	}
	data, err := p.pass.Repo.Regular(e, limit)
	var large *git.TooLarge
	switch {
	case errors.As(err, &large):
		return nil, plan.ErrTooLarge
	case err == nil && data == nil && e.Mode != git.ModeFile && e.Mode != git.ModeExec:
		return nil, fs.ErrNotExist
	}
	return data, err
}
