package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"git-ward/internal/failpoint"
	"git-ward/internal/git"
	"git-ward/protocols/state"
)

// Writer appends records. It starts its child early, so that the child starts while the caller
// works.
type Writer struct {
	repo  *git.Repo
	batch *git.Batch
	tx    *git.RefTx
}

// NewWriter prepares to append. The caller closes batch, which it may share, and the writer.
func NewWriter(ctx context.Context, repo *git.Repo, batch *git.Batch) (*Writer, error) {
	w := &Writer{repo: repo, batch: batch}
	return w, w.begin(ctx)
}

func (w *Writer) begin(ctx context.Context) (err error) {
	w.tx, err = w.repo.BeginUpdate(ctx, "ward: audit")
	return err
}

// Close ends a writer. An unused writer changes nothing.
func (w *Writer) Close() {
	if w.tx != nil {
		w.tx.Abort()
		w.tx = nil
	}
}

// Append writes a record to the chain and its notes in one transaction, and sets
// the record's id.
func (w *Writer) Append(ctx context.Context, e Entry) error {
	lock, err := w.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	since, err := tip(w.batch)
	if err != nil {
		return err
	}
	return w.append(ctx, &e, since)
}

// Finish appends the record of a pending push and removes its file. Where
// somebody else was faster, the pending record becomes theirs.
func (w *Writer) Finish(ctx context.Context, p *Pending) error {
	lock, err := w.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	if _, err := os.Stat(p.path); errors.Is(err, fs.ErrNotExist) {
		there, err := find(w.batch, p.Record.Push, p.Since)
		if err == nil && there == nil {
			err = fmt.Errorf("the pending file of push %s is gone, but it is not in the audit", p.Record.Push)
		}
		if err == nil {
			p.Record = there
		}
		return err
	}
	if err := w.append(ctx, &p.Entry, p.Since); err != nil {
		return err
	}
	failpoint.Reach("audit/recorded")
	// Still under the lock, because the file says that a push is not recorded.
	return removeFile(p.path)
}

// race bounds the retries, about 15 seconds of them. Writers that hold the lock do not race;
// but a killed writer may leave a running update-ref.
var race = git.Race{What: state.AuditRef, While: "a record was appended", Tries: 150}

// append moves the refs. The lock keeps writers from racing in vain; the compare-and-swap
// keeps them correct (GIT-1).
//
// Git moves a transaction's refs one after another, the chain first, and a killed writer
// leaves its update-ref running or half done. So each try checks whether the chain has the
// record, and then only completes the rest.
func (w *Writer) append(ctx context.Context, e *Entry, since string) error {
	try := 0
	return git.Update(ctx, race, func() (bool, error) {
		try++
		there, err := find(w.batch, e.Record.Push, since)
		if err != nil {
			return false, err
		}
		var updates []git.RefUpdate
		if there != nil {
			e.Record = there
			updates, err = w.buildNotes(e)
		} else {
			updates, err = w.build(e)
		}
		if err != nil || len(updates) == 0 {
			return true, err
		}
		if w.tx == nil {
			if err := w.begin(ctx); err != nil {
				return false, err
			}
		}
		tx := w.tx
		w.tx = nil
		failpoint.Reach("audit/built")
		done, err := git.Swapped(tx.Commit(updates))
		if err != nil && (w.lockedOut() || try <= 5) {
			err = nil
		}
		return done, err
	})
}
