package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"git-ward/agent/correct"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/worktree"
	"git-ward/protocols/lesson"
)

// Remembered reads the lessons of all earlier directives, merged or not, as of
// the last fetch (LES-2).
func (s *Store) Remembered(ctx context.Context) ([]lesson.Lesson, error) {
	return correct.Remember(ctx, s.main.tree())
}

func (c *clone) tree() *worktree.Tree { return &worktree.Tree{Dir: c.dir, Env: c.store.Environ()} }

// Learnt is what a directive's post-mortems gave.
type Learnt struct {
	Branch          string // on which the lessons were carried out
	Applied, Failed int    // by all runs together
}

// Learn carries out what the post-mortems of the branch teach, on a branch of
// their own, which the PM merges (HOOK-4), and pushes it. It is nil where there is
// nothing to learn, and does nothing twice. It leaves the working tree as it was
// when the work ended.
func (w *Work) Learn(ctx context.Context) (*Learnt, error) {
	reports, err := w.postMortems(ctx)
	if err != nil || len(reports) == 0 {
		return nil, err
	}
	work, err := w.clone.resolve(ctx, "HEAD")
	if err != nil {
		return nil, err
	}
	l := &Learnt{Branch: w.Branch + "-lessons"}
	start, err := w.clone.remote(ctx, l.Branch)
	if err != nil {
		return nil, err
	}
	if start == "" {
		start = work
	}
	if _, err := w.clone.git(ctx, "checkout", "--quiet", "--force", "--no-track", "-B", l.Branch, start, "--"); err != nil {
		return nil, err
	}
	err = w.carryOut(ctx, l, reports, work, start)
	// Also after an error: the branch of the work is the one that counts.
	return l, errors.Join(err, w.reset(ctx, work))
}

// postMortems are those that the branch has and main has not.
func (w *Work) postMortems(ctx context.Context) ([]string, error) {
	out, err := w.clone.git(ctx, "--literal-pathspecs", "diff", "-z", "--name-only", "--no-renames", "--diff-filter=AM", w.clone.store.projectRef()+"...HEAD", "--", "postmortems")
	var list []string
	for path := range strings.SplitSeq(out, "\x00") {
		if strings.HasSuffix(path, ".md") {
			list = append(list, path)
		}
	}
	return list, err
}

// carryOut does it on the branch that is checked out at start.
func (w *Work) carryOut(ctx context.Context, l *Learnt, reports []string, work, start string) error {
	// Lessons of an edited directive come on top of those of the first one.
	if has, err := w.clone.isAncestor(ctx, work, start); err != nil {
		return err
	} else if !has {
		if _, err := w.clone.git(ctx, "merge", "--quiet", "--no-edit", "-m", "agent: merge "+w.Branch+" into "+l.Branch, work); err != nil {
			return err
		}
	}
	batch := git.Open(w.clone.gitDir()).Batch(ctx)
	defer batch.Close()
	tree := w.clone.tree()
	for _, path := range reports {
		_, data, err := batch.Read(work+":"+path, lesson.MaxPostMortem)
		if err != nil {
			return err
		}
		list, found := lesson.Extract(path, data)
		if diag.HasErrors(found) {
			return fmt.Errorf("%s: %s", found[0].Pos, found[0].Message)
		}
		if _, err := correct.Record(ctx, tree, path, list); err != nil {
			return err
		}
	}
	if err := correct.Apply(ctx, tree, func(correct.Done) {}); err != nil {
		return err
	}
	if err := w.count(ctx, l); err != nil {
		return err
	}
	tip, err := w.clone.resolve(ctx, "HEAD")
	if err != nil || tip == start {
		return err
	}
	return w.clone.push(ctx, tip, l.Branch)
}

// count says what became of the directive's lessons.
func (w *Work) count(ctx context.Context, l *Learnt) error {
	own, err := correct.Own(ctx, w.clone.tree())
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
