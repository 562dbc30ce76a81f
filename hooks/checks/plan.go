package checks

import (
	"io/fs"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
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

// newLinter makes a linter of plans in the tree of a tip. Machines come from main: from the tip
// itself where it is what main becomes.
func newLinter(pass *Pass, t *walk.Tip) *plan.Linter {
	tree := &treeFiles{pass: pass, tree: t.Commit.Tree}
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
			main = &treeFiles{pass: pass, tree: commit.Tree}
		}
		return main.ReadFile(path, plan.MaxBytes)
	})
}
