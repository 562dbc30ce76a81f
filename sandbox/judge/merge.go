package judge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"git-ward/internal/git"
	"git-ward/internal/scratch"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
	"git-ward/sandbox/verifier"
)

// request asks for a verdict on a claim, or on the merge by which the project would take it.
type request struct {
	*uow.Record
	merge string // a commit; "" for the claim itself
}

// commit is the commit to judge.
func (a request) commit() string {
	if a.merge != "" {
		return a.merge
	}
	return a.Claim.Commit
}

// Asked reports whether a merge waits for its verdict.
func (j *Judge) Asked(ctx context.Context) bool {
	reader := j.Repo.Reader(ctx)
	defer reader.Close()
	merges, err := j.merges(ctx, reader)
	return err == nil && len(merges) > 0
}

// merges lists merges without a verdict that the PM wants judged before the project's branch
// moves to them (PROOF-7).
func (j *Judge) merges(ctx context.Context, reader *git.Reader) (list []request, all error) {
	refs, err := reader.Refs(uow.TakePrefix)
	if err != nil || len(refs) == 0 {
		return nil, err
	}
	heads, err := ReadHeads(ctx, j.Repo, j.Settings.Control)
	if err != nil {
		return nil, err
	}
	for _, ref := range slices.Sorted(maps.Keys(refs)) {
		claim, err := merged(reader, heads.Project, strings.TrimPrefix(ref, uow.TakePrefix), refs[ref])
		if err != nil {
			all = errors.Join(all, fmt.Errorf("%s: %w", ref, err))
		} else if claim != nil {
			list = append(list, request{claim, refs[ref]})
		}
	}
	return list, all
}

// merged returns the claim that a merge takes; nil if the merge has its verdict, or its base was never on
// the project's branch.
func merged(reader *git.Reader, project, unit, merge string) (*uow.Record, error) {
	id, err := uow.ParseID(unit)
	if err != nil {
		return nil, err
	}
	parent, err := reader.Parent(merge)
	if err != nil {
		return nil, err
	}
	if in, err := reader.Contains(project, parent); !in || err != nil {
		return nil, err
	}
	tip, err := reader.Tip(id.Ref())
	if err != nil || tip == "" {
		return nil, err
	}
	claim, err := state.Claimed(reader, tip)
	if err != nil || claim == nil {
		return nil, err
	}
	verdict, err := state.Answer(reader, merge, claim.Hash)
	if err != nil || verdict != nil {
		return nil, err
	}
	return claim, nil
}

// withMerged extends the PM's includes to a merge. Where the work has an included file as the PM saw it,
// and the merge has the result of git's own merge with the project's version, that result is included.
func (j *Judge) withMerged(ctx context.Context, c *verifier.Claim, work string) error {
	if len(c.Included) == 0 {
		return nil
	}
	dir, err := scratch.Make("", "merge-")
	if err != nil {
		return err
	}
	defer dir.Remove()
	apart, err := j.Repo.Apart(dir.Path)
	if err != nil {
		return err
	}
	m, err := apart.MergeTrees(ctx, c.Main, work)
	if err != nil || len(m.Conflicts) > 0 {
		return err
	}
	batch := j.Repo.Batch(ctx)
	defer batch.Close()
	var trees [3]git.Files
	for i, tree := range []string{work, m.Tree, c.Commit} {
		trees[i] = git.Files{Commit: tree, Batch: batch}
	}
	for _, seen := range c.Included {
		var at [3]string // mode and blob, "" for none
		for i := range trees {
			e, ok, err := trees[i].Entry(seen.Path)
			if err != nil {
				return err
			}
			if ok && !e.IsDir() {
				at[i] = fmt.Sprintf("%06o %s", e.Mode, e.ID)
			}
		}
		if at[0] == seen.Mode+" "+seen.Blob && at[2] == at[1] && at[1] != "" {
			mode, blob, _ := strings.Cut(at[1], " ")
			c.Included = append(c.Included, verifier.Entry{Path: seen.Path, Mode: mode, Blob: blob})
		}
	}
	return nil
}
