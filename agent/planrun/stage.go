package planrun

import (
	"context"

	"git-ward/internal/worktree"
	"git-ward/protocols/plan"
)

// runs reports whether a step is a command, which may have done anything.
func runs(p point) bool { return p.Action() == plan.ToolExec || p.Action() == plan.CloseOp }

// writes reports whether a step may have changed files.
func writes(p point) bool {
	switch p.Action() {
	case plan.WriteOp, plan.DeleteOp, plan.MoveOp:
		return true
	}
	return runs(p)
}

// stage puts what a step changed into the index.
func (u *run) stage(ctx context.Context, p point) error {
	if runs(p) {
		return u.stageAll(ctx)
	}
	words := []string{p.Args}
	if p.Tool == plan.RenameFile {
		old, name := p.RenameArgs()
		words = []string{old, name}
	}
	var paths []string
	for _, word := range words {
		if path := u.place(p, plan.Fill(word, p.files)); !worktree.InRecord(path) {
			paths = append(paths, path)
		}
	}
	return u.stageOnly(ctx, paths)
}

// stageAll puts all of the tree into the index. On a person's branch logs/ are left out,
// which are of this machine; an agent has its own elsewhere.
func (u *run) stageAll(ctx context.Context) error {
	if _, err := u.deps.Tree.Git(ctx, "add", "--all"); err != nil || u.deps.Record != nil {
		return err
	}
	_, err := u.deps.Tree.Git(ctx, "reset", "--quiet", "HEAD", "--", "logs", ".signal") // git add has no way to leave out what may be ignored
	return err
}

// stageOnly is stageAll for what lies at paths: in a large tree looking at all files
// takes longer than the step. What git ignores stays out.
func (u *run) stageOnly(ctx context.Context, paths []string) error {
	list := []string{"ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate", "--"}
	for _, path := range paths {
		list = append(list, ":(top,literal)"+path)
	}
	if len(paths) == 0 {
		return nil
	}
	names, err := u.deps.Tree.Git(ctx, list...)
	if err != nil || names == "" {
		return err
	}
	_, err = u.deps.Tree.GitInput(ctx, nil, []byte(names), "update-index", "-z", "--add", "--remove", "--replace", "--stdin")
	return err
}
