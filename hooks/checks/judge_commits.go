package checks

import (
	"errors"
	"fmt"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// commits judges the new commits, oldest first. One that cannot be judged refuses the push;
// the others are still judged.
func (j *judgement) commits(commits []*walk.Commit) error {
	j.pass.judgingInCommits = true
	defer func() { j.pass.judgingInCommits = false }()
	for i, c := range commits {
		if i%walk.AheadOf == 0 && len(commits) > walk.AheadOf/8 {
			// What this meets, the comparison meets again, and knows the path.
			if err := j.walker.ReadAhead(commits[i:min(i+walk.AheadOf, len(commits))]); err != nil && !walk.IsBad(err) {
				return err
			}
		}
		if err := j.commit(c); err != nil && !j.bad(c, err) {
			return err
		}
	}
	return nil
}

// commit runs the checks of one new commit. Each content is read once per path.
func (j *judgement) commit(c *walk.Commit) error {
	j.pass.result.Counts.Commits++
	if c.Form != nil {
		j.form(c, &walk.BadObject{ID: c.ID, Err: c.Form})
	}
	for _, check := range j.table {
		if check.Commit != nil {
			check.Commit(j.pass, c)
		}
	}
	parents, err := j.walker.ParentTrees(c)
	if err != nil {
		return err
	}
	if c.History == push.Records { // the work that it speaks of has other paths, or other things at the same ones
		parents = parents[:min(1, len(parents))]
	}
	if err := j.walker.Brought(c, parents, j.brought(c)); err != nil {
		return inCommit(c, err)
	}
	for _, check := range j.table {
		if check.Whole == nil {
			continue
		}
		if err := check.Whole(j.pass, c, parents); err != nil {
			return inCommit(c, fmt.Errorf("%s: %w", check.Name, err))
		}
	}
	return nil
}

// inCommit gives trouble its commit; what becomes a finding has one.
func inCommit(c *walk.Commit, err error) error {
	return fmt.Errorf("commit %s: %w", diag.Short(c.ID), err)
}

// brought calls the checks with what no parent of a commit has.
func (j *judgement) brought(c *walk.Commit) walk.Brought {
	return walk.Brought{
		Met: func(path, id string, form *git.FormError) {
			if form != nil {
				j.form(c, &walk.BadObject{ID: id, Path: path, Err: form})
			}
		},
		Names: func(dir string, entries []git.Entry, in []uint16) {
			for _, check := range j.table {
				if check.Names != nil {
					check.Names(j.pass, c, dir, entries, in)
				}
			}
		},
		Path: func(change walk.Change) error { return j.path(c, change) },
	}
}

func (j *judgement) path(c *walk.Commit, change walk.Change) error {
	j.pass.result.Counts.Paths++
	for _, check := range j.table {
		if check.Path != nil {
			check.Path(j.pass, c, change)
		}
	}
	here := content{c.History, change.New.ID, change.Path, change.New.Mode}
	if change.New.Mode == git.ModeGitlink || j.judged[here] {
		return nil
	}
	j.judged[here] = true
	return walk.At(j.blob(c, change), change.Path)
}

func (j *judgement) blob(c *walk.Commit, change walk.Change) error {
	data, err := j.walker.NewBlob(change.New.ID)
	if large, ok := errors.AsType[*git.TooLarge](err); ok {
		j.pass.Report(diag.Diagnostic{Pos: at(c, change.Path), Rule: "limit/blob",
			Message: fmt.Sprintf("the file has %d bytes, more than %d", large.Object.Size, large.Limit),
			Hint:    "keep large files out of git; remove it from every commit of the push (git rebase -i)"})
		return nil
	}
	if err != nil {
		return err
	}
	j.pass.result.Counts.Blobs++
	for _, check := range j.table {
		if check.Blob != nil {
			check.Blob(j.pass, c, change, data)
		}
	}
	return nil
}
