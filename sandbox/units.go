package sandbox

import (
	"context"
	"errors"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// unit is a unit of work as `git ward status` shows it.
type unit struct {
	id uow.ID
	*uow.Record
	Verdicts []loop.Verdict `json:"verdicts"` // on its claims, oldest first
}

// units reads the units that are not put away from a bare repository: the last
// record of each, and the verdicts on its claims.
func units(ctx context.Context, bare string) ([]unit, error) {
	repo := git.Open(bare)
	batch := repo.Batch(ctx)
	defer batch.Close()
	list := []unit{}
	for r, err := range lastRecords(ctx, repo) {
		if err != nil {
			return nil, err
		}
		if r.State == uow.Archived {
			continue
		}
		id, err := uow.ParseID(r.ID)
		if err != nil {
			return nil, err
		}
		verdicts, err := verdicts(ctx, repo, batch, id)
		if err != nil {
			return nil, err
		}
		list = append(list, unit{id, r, verdicts})
	}
	slices.SortFunc(list, func(a, b unit) int { return a.id.Compare(b.id) })
	return list, nil
}

// verdicts are the host's words on a unit's claims, in the order of the claims.
func verdicts(ctx context.Context, repo *git.Repo, batch *git.Batch, id uow.ID) ([]loop.Verdict, error) {
	if _, err := batch.Info(loop.VerdictsRef); errors.Is(err, git.ErrMissing) {
		return []loop.Verdict{}, nil
	}
	claims, err := claims(ctx, repo, batch, id)
	if err != nil {
		return nil, err
	}
	list := []loop.Verdict{}
	for _, commit := range claims {
		note, err := repo.Note(ctx, loop.VerdictsRef, commit)
		if err != nil {
			return nil, err
		}
		all, _ := loop.ParseVerdicts(note)
		for _, v := range all {
			if v.Unit == id.String() && v.Commit == commit {
				list = append(list, v)
			}
		}
	}
	return list, nil
}

// maxShown is how many claims of a unit are looked up: as many as the picture has
// columns.
const maxShown = 30

// claims are the commits that a unit claimed, the newest maxShown, oldest first.
func claims(ctx context.Context, repo *git.Repo, batch *git.Batch, id uow.ID) ([]string, error) {
	out, err := repo.Output(ctx, "rev-list", "--first-parent", id.Ref())
	if err != nil {
		return nil, err
	}
	var list []string
	for commit := range strings.FieldsSeq(string(out)) {
		_, data, err := batch.Read(commit+":"+uow.File, uow.MaxRecord)
		if err != nil {
			return nil, err
		}
		r, err := uow.ParseRecord(data)
		if err == nil && r.Event == uow.MakeClaim && !slices.Contains(list, r.Claim.Commit) {
			if list = append(list, r.Claim.Commit); len(list) == maxShown {
				break
			}
		}
	}
	slices.Reverse(list)
	return list, nil
}

// statusText words the units for a person.
func statusText(list []unit) string {
	var b strings.Builder
	for _, u := range list {
		for line := range strings.Lines(loop.Overview(u.Record, u.Verdicts)) {
			b.WriteString(diag.Clean(strings.TrimRight(line, "\n")) + "\n")
		}
	}
	return b.String()
}
