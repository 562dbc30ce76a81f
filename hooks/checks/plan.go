package checks

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/git"
	"git-ward/protocols/plan"
)

// newPlanCheck makes the check of one push.
func newPlanCheck() Check {
	p := &plans{}
	return Check{
		Name: "plan",
		Doc: "Plans (plans/**, plan.txt, *.plan.txt) are words of their machine, close their task, use files that are there, and " +
			"call plans that exist, end, and stay within the stack (PLAN-1 to PLAN-4). A plan is judged when it changes, in the tree that " +
			"it came with: before it runs. On a record that is the tree of the work that its commit speaks of.",
		Rules: []string{"plan/*"},
		Path:  p.path, Whole: p.record,
		Tip: judgePlans,
	}
}

// isPlan reports whether a change brings a plan.
func isPlan(c walk.Change) bool {
	return !c.Deleted() && plan.IsPlan(c.Path) && c.New.IsRegular()
}

// judgePlans judges the plans that a branch changes.
func judgePlans(pass *Pass, t *walk.Tip) error {
	if !hasDocuments(t) {
		return nil
	}
	var changed []walk.Change
	for _, c := range t.Changes {
		if isPlan(c) {
			changed = append(changed, c)
		}
	}
	if len(changed) == 0 {
		return nil // as most pushes
	}
	brought, err := bringing(pass, t, changed)
	if err != nil {
		return err
	}
	linters := map[string]*plan.Linter{} // by tree
	for _, c := range changed {
		came := brought[c.Path]
		tree := cmp.Or(came.tree, t.Commit.Tree)
		if linters[tree] == nil {
			linters[tree] = newLinter(pass, t, tree)
		}
		found, err := linters[tree].Lint(c.Path)
		if err == nil && plan.AboutFiles(found) && came.commit != "" {
			found, err = lintBefore(pass, t, c, came)
		}
		if err != nil {
			return err
		}
		for _, f := range plan.Relaxed(found) {
			f.Commit, f.Ref = t.New, t.Ref
			pass.Report(f)
		}
	}
	return nil
}

// maxSince bounds the commits that are looked through for those that brought plans.
const maxSince = 1000

// since are the commits between a tip and its base that but, if given, does not contain,
// oldest first: at least those that may have brought the differences, and the newest if there
// are too many.
func since(pass *Pass, t *walk.Tip, most int, but string) (ids []string, err error) {
	if t.Merges {
		args := []string{"--topo-order", fmt.Sprintf("--max-count=%d", most), t.New}
		for _, not := range []string{t.Base, but} {
			if not != "" {
				args = append(args, "^"+not)
			}
		}
		ids, err = pass.Repo.RevList(args...)
	} else {
		for id := t.New; id != t.Base && id != "" && len(ids) < most; {
			ids = append(ids, id)
			if id, err = pass.Repo.Parent(id); err != nil {
				return nil, err
			}
		}
	}
	slices.Reverse(ids)
	return ids, err
}

// arrival is the commit in which a plan's present version came.
type arrival struct{ commit, tree string }

// bringing finds, by path, the commits in which changed plans came, before their own steps
// took effect; those not found are left out.
func bringing(pass *Pass, t *walk.Tip, changed []walk.Change) (came map[string]arrival, err error) {
	commits, err := since(pass, t, maxSince, "")
	if err != nil {
		return nil, err
	}
	wanted := map[string]string{} // blobs
	for _, c := range changed {
		wanted[c.Path] = c.New.ID
	}
	came = map[string]arrival{}
	for _, id := range commits {
		if len(wanted) == 0 {
			break
		}
		commit, err := pass.Repo.Commit(id)
		if err != nil {
			return nil, err
		}
		parents, err := treesOf(pass, commit.Parents)
		if err != nil {
			return nil, err
		}
		err = pass.Repo.Compare(parents, commit.Tree, func(c walk.Change) error {
			if wanted[c.Path] == c.New.ID && isPlan(c) {
				came[c.Path] = arrival{id, commit.Tree}
				delete(wanted, c.Path)
			}
			return nil
		})
		if err != nil && !walk.IsBad(err) { // a new commit is judged for that; an old one may be as it is
			return nil, err
		}
	}
	return came, nil
}

// treesOf are the trees of a commit's first parents.
func treesOf(pass *Pass, parents []string) (trees []string, err error) {
	const most = 16 // are read in step; a new commit has no more
	for _, parent := range parents[:min(most, len(parents))] {
		tree, err := treeOf(pass, parent)
		if err != nil {
			return nil, err
		}
		trees = append(trees, tree)
	}
	return trees, nil
}

// newLinter makes a linter for plans in a tree of a tip's history. Machines come from control:
// from the tip itself if it becomes control.
func newLinter(pass *Pass, t *walk.Tip, tree string) *plan.Linter {
	control := &treeFiles{pass: pass, tree: t.Commit.Tree}
	known := pass.Push.isControl(t.Ref)
	return plan.NewLinter(&treeFiles{pass: pass, tree: tree}, func(path string) ([]byte, error) {
		if !known {
			var err error
			if control, err = controlFiles(pass); err != nil {
				return nil, err
			}
			known = true
		}
		return control.ReadFile(path, plan.MaxBytes)
	})
}

// controlFiles is the control branch's present tree, or an empty one.
func controlFiles(pass *Pass) (*treeFiles, error) {
	files := &treeFiles{pass: pass}
	tip := pass.Repo.Main(pass.Push.control())
	if tip == "" {
		return files, nil
	}
	c, err := pass.Repo.Commit(tip)
	if err == nil {
		files.tree = c.Tree
	}
	return files, err
}

// plans are those in the record's commit that is being judged.
type plans struct{ brought []walk.Change }

func (p *plans) path(_ *Pass, c *walk.Commit, change walk.Change) {
	if c.History == push.Records && isPlan(change) {
		p.brought = append(p.brought, change)
	}
}

// record judges the plans that a commit of a record brings.
func (p *plans) record(pass *Pass, c *walk.Commit, _ []string) error {
	brought := p.brought
	p.brought = nil
	if len(brought) == 0 || c.History != push.Records {
		return nil
	}
	work, err := workOf(pass, c)
	if err != nil {
		return err
	}
	control, err := controlFiles(pass)
	if err != nil {
		return err
	}
	linter := plan.NewRecordLinter(&treeFiles{pass: pass, tree: c.Tree}, &treeFiles{pass: pass, tree: work}, control)
	for _, change := range brought {
		data, err := pass.Repo.Regular(change.New, pass.Push.Config.Limits.BlobSize)
		if _, ok := errors.AsType[*git.TooLarge](err); ok {
			continue // limit/blob says so
		}
		if err != nil {
			return err
		}
		found, err := linter.LintText(change.Path, data) // whatever else has its name
		if err != nil {
			return err
		}
		for _, f := range plan.Relaxed(found) {
			f.Commit, f.Ref = c.ID, c.Ref
			pass.Report(f)
		}
	}
	return nil
}
