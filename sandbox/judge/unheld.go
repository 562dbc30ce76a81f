package judge

import (
	"context"
	"fmt"

	"git-ward/internal/git"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// unheld says why a claim is none to judge, "" where it is one: its commit must be
// there, and where the unit has a record, a commit of the record's own line must speak
// of it by its second parent, which keeps it (REC-4). The hooks hold a push to the same.
func unheld(ctx context.Context, repo *git.Repo, r *uow.Record) (why string, err error) {
	reader := repo.Batch(ctx)
	defer reader.Close()
	const maxCommit = 1 << 20
	if _, data, err := reader.Read(r.Claim.Commit, maxCommit); err != nil {
		return "the claimed commit is not there", ctx.Err()
	} else if _, err := git.ParseCommit(data); err != nil {
		return "what is claimed is no commit", nil
	}
	if r.Layout != uow.RecordLayout {
		return "", nil
	}
	id, err := uow.ParseID(r.ID)
	if err != nil {
		return "", err
	}
	_, data, err := reader.Read(r.Claim.Record, maxCommit)
	if err != nil {
		return "the commit of the record that the claim names is not there", ctx.Err()
	}
	c, err := git.ParseCommit(data)
	if err != nil || len(c.Parents) != 2 || c.Parents[1] != r.Claim.Commit {
		return "the record's commit does not have the claimed commit as its second parent", nil
	}
	ref := record.Ref(id)
	for line, err := range repo.Lines(ctx, "rev-list", "--first-parent", "--end-of-options", ref, "--") {
		if err != nil {
			return fmt.Sprintf("%s cannot be read", ref), ctx.Err()
		}
		if line == r.Claim.Record {
			return "", nil
		}
	}
	return fmt.Sprintf("%s does not hold the commit that the claim names", ref), nil
}
