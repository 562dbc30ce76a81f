package install

import (
	"context"
	"fmt"
	"time"

	"git-ward/hooks/audit"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/protocols/state"
)

// genesis records refs that came without a push: the first commit, and the refs of an adopted
// repository.
func (in *installer) genesis(ctx context.Context) error {
	if in.DryRun {
		return nil // what is recorded follows from the rest
	}
	batch := in.repo.Batch(ctx)
	defer batch.Close()
	if _, err := audit.Reconcile(ctx, in.repo, batch); err != nil {
		in.report.Changes = append(in.report.Changes, change("leave", "a push unrecorded: %v; git ward fsck --repair", err))
	}
	chain, err := audit.ReadChain(ctx, in.repo, batch)
	if err != nil {
		return err
	}
	c, err := config.Load(in.Dir)
	if err != nil {
		return err
	}
	if err := in.beginReflog(chain); err != nil {
		return err
	}
	r, err := audit.Unrecorded(ctx, in.repo, c, chain)
	if err != nil || len(r.Refs) == 0 {
		return err
	}
	w, err := audit.NewWriter(ctx, in.repo, batch)
	if err != nil {
		return err
	}
	defer w.Close()
	return in.do(change("record", "%s in the audit", diag.Count(len(r.Refs), "ref")), func() error {
		for _, part := range parts(r) {
			if err := w.Append(ctx, audit.Entry{Record: part}); err != nil {
				return err
			}
		}
		return nil
	})
}

// beginReflog starts the chain's reflog in a restored repository: clones have no reflogs, and
// fsck reads the chain's end from it.
func (in *installer) beginReflog(chain []audit.Link) error {
	if len(chain) == 0 {
		return nil
	}
	begun, err := audit.BeginReflog(in.repo, state.AuditRef, chain[len(chain)-1].Commit, time.Now())
	if begun {
		in.report.Changes = append(in.report.Changes, change("begin", "the reflog of the audit, which no clone brings"))
	}
	return err
}

// parts splits a record if there are more refs than one record allows.
func parts(r *audit.Record) (all []*audit.Record) {
	for rest := r.Refs; len(rest) > 0; {
		part, size, count := *r, 0, 0
		part.Push = "init-" + r.Time.Format("20060102T150405Z")
		if len(all) > 0 {
			part.Push += fmt.Sprintf("-%d", len(all)+1)
		}
		for count < min(len(rest), audit.MaxRefs) && size < audit.MaxRefBytes {
			size += audit.SizeOf(rest[count].Ref)
			count++
		}
		part.Refs, rest = rest[:count], rest[count:]
		all = append(all, &part)
	}
	return all
}
