package fsck

import (
	"context"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// evidence checks certificates and reports of success against the host's verdicts. Manifests are
// verified with their records.
func (w *workProof) evidence(ctx context.Context, granted verdicts) error {
	records, err := w.repo.Refs(ctx, record.Prefix)
	if err != nil {
		return err
	}
	for _, r := range records {
		out, err := w.repo.Output(ctx, "ls-tree", "-r", "-z", r.Name, "evidence/")
		if err != nil {
			return err
		}
		for entry := range strings.SplitSeq(string(out), "\x00") {
			_, path, _ := strings.Cut(entry, "\t")
			at, ok := loop.ParseEvidencePath(path)
			if !ok || at.File != loop.CertificateFile && at.File != loop.ReportFile {
				continue
			}
			if err := w.success(r.Name, path, at, granted); err != nil {
				return err
			}
		}
	}
	return nil
}

// success checks a certificate or a halting report against the host's verdicts on its unit.
func (w *workProof) success(ref, path string, at loop.EvidencePath, granted verdicts) error {
	if w.verdicts == 0 && w.steps == 0 {
		return nil // a clone that has fetched neither journals nor verdicts
	}
	data, err := w.reader.File(ref, path, loop.MaxEvidence)
	if err != nil {
		if w.tooLarge(err, ref, path) {
			return nil
		}
		return err
	}
	s, ok := at.Success(data)
	if !ok {
		return nil
	}
	id, err := uow.ParseID(s.Unit)
	if err != nil || id.Directive != at.Directive || !slices.ContainsFunc(granted[s.Unit], func(v loop.Verdict) bool { return v.Grants(s) }) {
		w.report.add(diag.Clean(ref), "fsck/evidence", "compare with git notes --ref=certificates show", "%s claims %s, and the host has no such verdict", diag.Clean(path), diag.Clean(s.Words()))
	}
	return nil
}

// maxFile bounds a file that a manifest names, in bytes.
const maxFile = 64 << 20
