package planrun

import (
	"context"

	"git-ward/internal/worktree"
	"git-ward/protocols/plan"
)

// runs reports whether a step is a command, which may have changed anything.
func runs(p point) bool { return p.Action() == plan.ToolExec || p.Action() == plan.CloseOp }

// writes reports whether a step may have changed files.
func writes(p point) bool {
	switch p.Action() {
	case plan.WriteOp, plan.DeleteOp, plan.MoveOp:
		return true
	}
	return runs(p)
}

// stage puts a step's changes into the index.
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

// stageAll puts the whole tree into the index. On a person's branch logs/ is left out, which
// belongs to this machine; an agent's is elsewhere.
func (u *run) stageAll(ctx context.Context) error {
	if _, err := u.deps.Tree.Git(ctx, "add", "--all"); err != nil || u.deps.Record != nil {
		return err
	}
	_, err := u.deps.Tree.Git(ctx, "reset", "--quiet", "HEAD", "--", "logs", ".signal") // git add cannot exclude a path that may be ignored
	return err
}

// stageOnly is stageAll for some paths, because in a large tree scanning all files takes
// longer than the step. Ignored files stay out.
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
