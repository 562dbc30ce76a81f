package fsck

import (
	"context"
	"errors"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/uow"
)

// units proves every journal, and those of one directive together.
func (w *workProof) units(ctx context.Context) (claims, error) {
	refs, err := w.repo.Refs(ctx, uow.RefPrefix)
	if err != nil {
		return nil, err
	}
	units := map[string][]uow.ID{} // by directive
	for _, ref := range refs {
		id, err := uow.ParseRef(ref.Name)
		if err != nil {
			w.report.add(diag.Clean(ref.Name), "fsck/unit", "delete it on the host: git update-ref -d", "%v", err)
			continue
		}
		units[id.Directive] = append(units[id.Directive], id)
	}
	made := claims{}
	for _, ids := range units {
		slices.SortFunc(ids, func(a, b uow.ID) int { return a.K - b.K })
		var journals [][]*uow.Record
		for _, id := range ids {
			records, err := w.journal(ctx, id)
			if err != nil {
				return nil, err
			}
			made.collect(records)
			journals = append(journals, records)
		}
		for _, d := range uow.CheckLedgers(journals...) {
			w.report.add(ids[0].Ref(), "fsck/"+strings.TrimPrefix(d.Rule, "uow/"), d.Hint, "%s", d.Message)
		}
	}
	return made, nil
}

func (c claims) collect(journal []*uow.Record) {
	for _, r := range journal {
		if r.Event == uow.MakeClaim {
			c[r.Hash] = r
		}
	}
}

// journal walks one unit's journal, names the first broken record and returns those
// before it.
func (w *workProof) journal(ctx context.Context, id uow.ID) ([]*uow.Record, error) {
	out, err := w.repo.Output(ctx, "rev-list", "--first-parent", "--reverse", id.Ref())
	if err != nil {
		return nil, err
	}
	commits := strings.Fields(string(out))
	var files [][]byte
	for _, commit := range commits {
		_, data, err := w.objects.batch.Read(commit+":"+uow.File, uow.MaxRecord)
		var large *git.TooLarge
		if err != nil && !errors.Is(err, git.ErrMissing) && !errors.As(err, &large) {
			return nil, err
		}
		files = append(files, data)
	}
	records, found := uow.Validate(id, files)
	for _, d := range found {
		w.report.add(id.Ref(), "fsck/unit", d.Hint, "commit %s, %s", diag.Short(commits[len(records)]), d.Message)
	}
	w.records += len(records)
	return records, nil
}
