package store

import (
	"cmp"
	"context"
	"slices"

	"git-ward/internal/git"
	"git-ward/protocols/record"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// Claimed is a unit's last claim, for those who look for the records of other units.
type Claimed struct {
	ID   uow.ID
	Work string // the claimed commit
	Tip  string // of the unit's record
	time string
}

// Records lists the units that have a record and a claim, the newest first.
func (s *Store) Records(ctx context.Context) ([]Claimed, error) {
	if _, err := s.main.git(ctx, "fetch", "--quiet", "--no-write-fetch-head", "origin",
		"+"+record.Prefix+"*:"+recordRefs+"*", "+"+uow.RefPrefix+"*:"+uow.RefPrefix+"*"); err != nil {
		return nil, err
	}
	reader := git.Open(s.main.gitDir()).Reader(ctx)
	defer reader.Close()
	tips, err := reader.Refs(recordRefs)
	if err != nil {
		return nil, err
	}
	units, _, err := state.Units(reader)
	if err != nil {
		return nil, err
	}
	var list []Claimed
	for _, u := range units {
		tip, ok := tips[tracking(u.ID)]
		if !ok {
			continue
		}
		data, err := reader.File(u.Tip, uow.File, recordSize)
		if err != nil || data == nil {
			return nil, err
		}
		if last, err := uow.ParseRecord(data); err == nil && last.Claim != nil { // a broken one teaches nobody
			list = append(list, Claimed{ID: u.ID, Work: last.Claim.Commit, Tip: tip, time: last.Time})
		}
	}
	slices.SortStableFunc(list, func(a, b Claimed) int { return cmp.Compare(b.time, a.time) })
	return list, nil
}
