package fsck

import (
	"context"
	"errors"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// workProof proves the units of work, their records, the verdicts and the evidence:
// every hash, step and counter of every journal, the ledgers of all units of a directive
// together, the line and the files of every record, the form and place of every verdict,
// and the hashes of every manifest.
type workProof struct {
	repo       *git.Repo
	reader     *git.Reader
	objects    *objects
	report     *report
	tombstones tombstones
	settings   *config.Config

	steps    int // records of all journals
	verdicts int
}

// claims are the claims of all journals by their record's hash, and verdicts the
// verdicts by unit: each proof hands the next one what it read.
type (
	claims   map[string]*uow.Record
	verdicts map[string][]loop.Verdict
)

func (w *workProof) prove(ctx context.Context) error {
	journals, err := w.units()
	if err != nil {
		return err
	}
	made := claims{}
	for _, j := range journals {
		made.collect(j.Records)
	}
	if err := w.records(ctx, journals); err != nil {
		return err
	}
	granted, err := w.notes(made)
	if err != nil {
		return err
	}
	if err := w.attestations(ctx, granted); err != nil {
		return err
	}
	if err := w.leases(ctx); err != nil {
		return err
	}
	if err := w.good(ctx); err != nil {
		return err
	}
	if err := w.folded(ctx); err != nil {
		return err
	}
	return w.evidence(ctx, granted)
}

// tooLarge reports an object that is larger than any reader takes, and says whether
// that is what the error is: the proof goes on after it.
func (w *workProof) tooLarge(err error, ref, what string) bool {
	var large *git.TooLarge
	if !errors.As(err, &large) {
		return false
	}
	w.report.add(diag.Clean(ref), "fsck/size", "whoever writes it keeps to that bound; look at who did", "%s has %d bytes, more than the %d that are read", diag.Clean(what), large.Object.Size, large.Limit)
	return true
}
