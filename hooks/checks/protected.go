package checks

import (
	"errors"
	"slices"
	"strings"

	"git-ward/hooks/push"
	"git-ward/internal/diag"
	"git-ward/internal/filename"
	"git-ward/internal/git"
)

var protectedCheck = Check{
	Name: "protected",
	Doc: "Keeps paths that run code or steer tools on people's machines the PM's on every ref: at an agent's tip " +
		"they equal those of a commit of main that is not older than the merge base. The commits on the way there are held to it, too: once " +
		"merged, they are commits of main. A merge by the PM that brings a change of them is named to the PM.",
	Whole: (*Run).onTheWay,
	Tip: func(r *Run, t *Tip) error {
		onMain := push.IsMain(t.Ref)
		if !r.Principal.Fenced() {
			if onMain && r.Principal == push.PM {
				return r.mergedProtected(t)
			}
			return nil
		}
		if t.Base == "" {
			return nil // refused
		}
		list := r.protectedPaths()
		if onMain {
			list = filename.NewList(slices.Concat(r.Config.Rights.Protected, r.Config.Rights.ProtectedOnMain)...)
		}
		touched := coveredBy(list, t.Changes)
		if len(touched) == 0 && !t.Merges {
			return nil
		}
		same, err := r.someMain(t.New, func(tree string) (bool, error) {
			changed, err := r.firstCovered(tree, t.Commit.Tree, list)
			return changed == "", err
		})
		if err != nil || same {
			return err
		}
		if len(touched) == 0 {
			path, err := r.keptOld(t, list)
			if err != nil {
				return err
			}
			r.Report(diag.Diagnostic{Pos: diag.Pos{Commit: t.New, Path: path}, Ref: t.Ref, Rule: "rights/protected",
				Message: "a merge kept a protected path older than the main that it merged",
				Hint:    "take main's version: git checkout origin/main -- " + path + " (or git rm it when main has none)"})
		}
		for _, c := range touched {
			r.Report(diag.Diagnostic{Pos: diag.Pos{Commit: t.New, Path: c.Path}, Ref: t.Ref, Rule: "rights/protected",
				Message: "only the PM may change this path",
				Hint:    "undo it: git checkout origin/main -- " + c.Path + " (or git rm it when main has none)"})
		}
		return nil
	},
}

// protectedPaths are the paths that the agent may change on no ref.
func (r *Run) protectedPaths() *filename.List {
	if r.protected == nil {
		r.protected = filename.NewList(r.Config.Rights.Protected...)
	}
	return r.protected
}

func coveredBy(list *filename.List, changes []Change) (covered []Change) {
	for _, c := range changes {
		if list.Covers(c.Path) {
			covered = append(covered, c)
		}
	}
	return covered
}

// mergedProtected warns the PM of protected paths that a merge brings to main: what
// a member did there, or the merge itself.
func (r *Run) mergedProtected(t *Tip) error {
	if !t.Merges {
		return nil
	}
	touched := coveredBy(r.protectedPaths(), t.Changes)
	if len(touched) == 0 {
		return nil
	}
	args := []string{"rev-list", "--merges", "--max-count=1", t.New}
	if t.Old != git.Zero {
		args = append(args, "^"+t.Old)
	}
	out, err := r.repo.Output(r.ctx, append(args, "--")...)
	if err != nil || len(out) == 0 {
		return err
	}
	for _, c := range touched {
		r.Report(diag.Diagnostic{Pos: diag.Pos{Commit: t.New, Path: c.Path}, Ref: t.Ref, Rule: "rights/protected", Severity: diag.Warning,
			Message: "the merge changes a path that runs code or steers tools on people's machines",
			Hint:    "look at it: git diff " + diag.Short(t.Base) + " " + diag.Short(t.New) + " -- " + c.Path})
	}
	return nil
}

var errFound = errors.New("found")

// firstCovered is the first path of a list in which two trees differ, "" for none.
// Its cost follows the difference.
func (r *Run) firstCovered(from, to string, list *filename.List) (path string, err error) {
	walk := comparison{trees: r.trees, deletions: true, visit: func(c Change) error {
		if list.Covers(c.Path) {
			path = c.Path
			return errFound
		}
		return nil
	}}
	if err := walk.compare([]string{from}, to); err != nil && !errors.Is(err, errFound) {
		return "", err
	}
	return path, nil
}

// keptOld is a protected path in which a tip differs from main.
func (r *Run) keptOld(t *Tip, list *filename.List) (string, error) {
	if r.mainTip == "" {
		return "", nil
	}
	main, err := r.commit(r.mainTip)
	if err != nil {
		return "", err
	}
	return r.firstCovered(main.Tree, t.Commit.Tree, list)
}

// someMain reports whether same holds for the tree of a commit of main that is not
// older than its merge base with commit. Main's tip is tried first, then the merge
// base, then what is between.
func (r *Run) someMain(commit string, same func(tree string) (bool, error)) (bool, error) {
	matches := func(commit string) (bool, error) {
		c, err := r.commit(commit)
		if err != nil {
			return false, err
		}
		return same(c.Tree)
	}
	if r.mainTip == "" {
		return false, nil
	}
	if ok, err := matches(r.mainTip); ok || err != nil {
		return ok, err
	}
	base, err := r.mergeBase(commit)
	if err != nil || base == "" {
		return false, err
	}
	if ok, err := matches(base); ok || err != nil {
		return ok, err
	}
	out, err := r.repo.Output(r.ctx, "rev-list", "--ancestry-path", "--max-count=1000", base+".."+r.mainTip)
	if err != nil {
		return false, err
	}
	for _, id := range strings.Fields(string(out)) {
		if ok, err := matches(id); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}
