package judge

import (
	"context"
	"errors"
	"fmt"

	"git-ward/internal/git"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// unheld says why a claim cannot be judged, or "". Its commit must exist, and if the unit has
// a record, a commit of that record must have it as second parent, which keeps it (REC-4). The
// hooks check the same in a push.
func unheld(ctx context.Context, repo *git.Repo, r *uow.Record) (why string, err error) {
	reader := repo.Batch(ctx)
	defer reader.Close()
	const maxCommit = 1 << 20
	_, data, err := reader.Read(r.Claim.Commit, maxCommit)
	if why, err := missing("the claimed commit", err); why != "" || err != nil {
		return why, err
	}
	if _, err := git.ParseCommit(data); err != nil {
		return "what is claimed is no commit", nil
	}
	id, err := uow.ParseID(r.ID)
	if err != nil {
		return "", err
	}
	_, data, err = reader.Read(r.Claim.Record, maxCommit)
	if why, err := missing("the commit of the record that the claim names", err); why != "" || err != nil {
		return why, err
	}
	c, err := git.ParseCommit(data)
	if err != nil || record.Work(c.Parents) != r.Claim.Commit {
		return "the record's commit does not have the claimed commit as its second parent", nil
	}
	ref := record.Ref(id)
	tip, err := reader.Info(ref)
	if why, err := missing(ref, err); why != "" || err != nil {
		return why, err
	}
	line := repo.Reader(ctx)
	defer line.Close()
	if tip.ID == r.Claim.Record || line.Follows(tip.ID, r.Claim.Record) {
		return "", nil
	}
	for line, err := range repo.Lines(ctx, "rev-list", "--first-parent", "--end-of-options", ref, "--") {
		if err != nil {
			return "", err
		}
		if line == r.Claim.Record {
			return "", nil
		}
	}
	return fmt.Sprintf("%s does not hold the commit that the claim names", ref), nil
}

// missing says why a claim may not name something that could not be read. Any other error is trouble,
// after which the claim can still be judged; a verdict is final.
func missing(what string, err error) (why string, trouble error) {
	var large *git.TooLarge
	switch {
	case errors.Is(err, git.ErrMissing):
		return what + " is not there", nil
	case errors.As(err, &large):
		return what + " is too large for a commit", nil
	}
	return "", err
}
