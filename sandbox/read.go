package sandbox

import (
	"context"
	"fmt"
	"iter"

	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/uow"
)

// lastRecords reads the last record of every unit of work, in the order of their
// refs. A record that cannot be read is an error in its place: the caller decides
// whether the others still count.
func lastRecords(ctx context.Context, repo *git.Repo) iter.Seq2[*uow.Record, error] {
	return func(yield func(*uow.Record, error) bool) {
		tips, err := repo.Refs(ctx, uow.RefPrefix)
		if err != nil {
			yield(nil, err)
			return
		}
		batch := repo.Batch(ctx)
		defer batch.Close()
		for _, tip := range tips {
			id, err := uow.ParseRef(tip.Name)
			if err != nil {
				continue // not a unit, and no push puts it there
			}
			r, err := readRecord(batch, tip.ID)
			if err != nil {
				err = fmt.Errorf("%s: %w", id, err)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// readRecord reads the record of one commit of a journal.
func readRecord(batch *git.Batch, commit string) (*uow.Record, error) {
	_, data, err := batch.Read(commit+":"+uow.File, uow.MaxRecord)
	if err != nil {
		return nil, err
	}
	r, err := uow.ParseRecord(data)
	if err != nil {
		return nil, fmt.Errorf("%w (git ward fsck names what is broken)", err)
	}
	return r, nil
}

// commsAt reads a revision's COMMS.md.
func commsAt(ctx context.Context, repo *git.Repo, rev string) (*comms.Document, error) {
	batch := repo.Batch(ctx)
	defer batch.Close()
	_, data, err := batch.Read(rev+":"+comms.Path, comms.MaxBytes)
	if err != nil {
		return nil, fmt.Errorf("%.12s:%s: %w", rev, comms.Path, err)
	}
	doc, _ := comms.Parse(data)
	return doc, nil
}
