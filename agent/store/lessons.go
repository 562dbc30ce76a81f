package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"git-ward/agent/correct"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/worktree"
	"git-ward/protocols/lesson"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// Remembered reads the lessons of all earlier directives, merged or not, as of
// the last fetch (LES-2).
func (s *Store) Remembered(ctx context.Context) ([]lesson.Lesson, correct.Left, error) {
	return correct.Remember(ctx, s.main.tree())
}

func (c *clone) tree() *worktree.Tree { return &worktree.Tree{Dir: c.dir, Env: c.store.Environ()} }

// Learnt is what a directive's post-mortems gave.
type Learnt struct {
	Branch          string // the lessons were applied on top of it
	Applied, Failed int    // in all runs together
}

// lessonsSuffix ends the name of a branch of lessons.
const lessonsSuffix = "-lessons"

// Learn carries out what the post-mortems on the record teach, on a branch of their own
// that begins at control, and pushes it: the PM merges it (HOOK-4). It is nil where there
// is nothing to learn, and does nothing twice. The working tree is not touched.
func (w *Work) Learn(ctx context.Context) (*Learnt, error) {
	list, from, err := w.teaches(ctx)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	control, err := w.clone.resolve(ctx, w.clone.store.ControlRef())
	if err != nil {
		return nil, err
	}
	l := &Learnt{Branch: w.Branch + lessonsSuffix}
	start, err := w.clone.remote(ctx, l.Branch)
	if err != nil {
		return nil, err
	}
	tree, done, err := w.aside(ctx, l.Branch, cmp.Or(start, control))
	if err != nil {
		return nil, err
	}
	defer done()
	return l, w.carryOut(ctx, l, tree, teaching{list: list, from: from, control: control, start: cmp.Or(start, control)})
}

// Teaches reports whether the unit's post-mortems have lessons for Learn.
func (w *Work) Teaches(ctx context.Context) (bool, error) {
	list, _, err := w.teaches(ctx)
	return len(list) > 0, err
}

// teaches is taught without what others have proposed since the analysis.
func (w *Work) teaches(ctx context.Context) (list []lesson.Lesson, from string, err error) {
	if list, from, err = w.taught(ctx); err != nil {
		return nil, "", err
	}
	list, err = unproposed(ctx, w.clone.store, list, func(l lesson.Lesson) string { return l.Action.Parameters.Text }, w.Directive.Name())
	return list, from, err
}

// Unproposed leaves out of proposals what is proposed already: on a branch of lessons, at
// control, or on record, where it stays when its branch was dropped (UOW-5).
func (s *Store) Unproposed(ctx context.Context, list []uow.Proposal) ([]uow.Proposal, error) {
	return unproposed(ctx, s, list, func(p uow.Proposal) string { return p.Action }, "")
}

// unproposed does that for lessons with actions; other lessons of the directive do not count.
func unproposed[T any](ctx context.Context, s *Store, list []T, action func(T) string, but string) ([]T, error) {
	if !slices.ContainsFunc(list, func(x T) bool { return uow.Once(action(x)) != "" }) {
		return list, nil
	}
	known, err := s.lessons(ctx)
	if err != nil {
		return list, err
	}
	proposed := map[string]bool{"": false}
	for _, l := range known {
		if once := uow.Once(l.Action.Parameters.Text); once != "" && l.TaskID != but {
			proposed[once] = true
		}
	}
	return slices.DeleteFunc(list, func(x T) bool { return proposed[uow.Once(action(x))] }), nil
}

// lessons are those at the remote now: at control, on lesson branches, and on the record.
func (s *Store) lessons(ctx context.Context) ([]lesson.Lesson, error) {
	if err := s.main.take(ctx, lesson.Ref+"*:"+lesson.Ref+"*"); err != nil {
		return nil, err
	}
	list, _, err := s.Remembered(ctx)
	if err != nil {
		return nil, err
	}
	far := git.Open(s.Bare)
	tips, err := far.Refs(ctx, "refs/heads/")
	if err != nil {
		return nil, err
	}
	reader := far.Reader(ctx)
	defer reader.Close()
	for _, tip := range tips {
		if tip.Name != s.Control.Ref() && !strings.HasSuffix(tip.Name, lessonsSuffix) {
			continue
		}
		data, err := reader.File(tip.ID, lesson.Path, lesson.MaxBytes)
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		some, _ := lesson.Parse(data) // a broken branch must not delay a unit
		list = append(list, some...)
	}
	return list, nil
}

// teaching is what is applied, and to what.
type teaching struct {
	list    []lesson.Lesson
	from    string // the post-mortems
	control string // commit
	start   string // of the branch
}

// taught are the lessons of the unit's post-mortems, uncommitted ones included, and those that
// a program has extracted.
func (w *Work) taught(ctx context.Context) (list []lesson.Lesson, from string, err error) {
	uncommitted, err := w.Record.Uncommitted(ctx)
	if err != nil {
		return nil, "", err
	}
	names, err := w.Record.List(ctx, record.PostMortems)
	if err != nil {
		return nil, "", err
	}
	for _, name := range names {
		path := record.PostMortems + "/" + name
		if _, newer := uncommitted[path]; !newer {
			if uncommitted[path], err = w.Record.File(ctx, path); err != nil {
				return nil, "", err
			}
		}
	}
	if _, newer := uncommitted[lesson.Path]; !newer {
		if uncommitted[lesson.Path], err = w.Record.File(ctx, lesson.Path); err != nil {
			return nil, "", err
		}
	}
	var reports []string
	for _, path := range slices.Sorted(maps.Keys(uncommitted)) {
		data, found := uncommitted[path], []diag.Diagnostic(nil)
		var some []lesson.Lesson
		switch {
		case path == lesson.Path:
			some, found = lesson.Parse(data)
		case strings.HasPrefix(path, record.PostMortems+"/") && strings.HasSuffix(path, ".md") && len(data) <= lesson.MaxPostMortem:
			if some, found = lesson.Extract(path, data); len(some) > 0 {
				reports = append(reports, path)
			}
		}
		if diag.HasErrors(found) {
			return nil, "", fmt.Errorf("%s: %s", found[0].Pos, found[0].Message)
		}
		for i := range some { // whatever task a post-mortem names: the gate accepts no other
			if own := strings.TrimPrefix(w.Branch, "agent/"); some[i].TaskID != own {
				some[i].TaskID = own
				some[i].ID = some[i].ContentID()
			}
		}
		list = append(list, some...)
	}
	return list, strings.Join(reports, " "), nil
}

// aside checks a branch out in a separate directory and removes it at the end, because
// control's tree is unrelated to the project's.
func (w *Work) aside(ctx context.Context, branch, start string) (*worktree.Tree, func(), error) {
	dir := filepath.Join(filepath.Dir(w.clone.dir), ".lessons")
	remove := func() {
		removeAll(dir)
		w.clone.git(context.WithoutCancel(ctx), "worktree", "prune")
	}
	remove()
	if _, err := w.clone.git(ctx, "worktree", "add", "--quiet", "--force", "--no-track", "-B", branch, dir, start); err != nil {
		return nil, nil, err
	}
	return &worktree.Tree{Dir: dir, Env: w.clone.store.Environ()}, remove, nil
}

// carryOut applies the lessons in a tree of the branch.
func (w *Work) carryOut(ctx context.Context, l *Learnt, tree *worktree.Tree, t teaching) error {
	// The protocols may have changed since the lessons of an edited directive's first unit.
	if has, err := w.clone.isAncestor(ctx, t.control, t.start); err != nil {
		return err
	} else if !has {
		if _, err := tree.Git(ctx, "merge", "--quiet", "--no-edit", "-m", "agent: merge "+w.clone.store.Control.Branch+" into "+l.Branch, t.control); err != nil {
			return err
		}
	}
	if _, err := correct.Record(ctx, tree, t.from, t.list); err != nil {
		return err
	}
	if err := correct.Apply(ctx, tree, func(correct.Done) {}); err != nil {
		return err
	}
	if err := w.count(ctx, l, tree); err != nil {
		return err
	}
	tip, err := tree.Git(ctx, "rev-parse", "--verify", "HEAD^{commit}")
	if err != nil || tip == t.start {
		return err
	}
	return w.clone.push(ctx, tip, l.Branch)
}

// count counts what became of the directive's lessons.
func (w *Work) count(ctx context.Context, l *Learnt, tree *worktree.Tree) error {
	own, err := correct.Own(ctx, tree)
	for _, x := range own {
		switch {
		case x.TaskID != w.Directive.Name():
		case x.Status == lesson.Failed:
			l.Failed++
		default:
			l.Applied++
		}
	}
	return err
}
