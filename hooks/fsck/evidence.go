package fsck

import (
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"git-ward/internal/diag"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
)

// evidence compares the manifests at every branch's tip with the evidence that
// they name, and certificates of success there and on records with the verdicts.
// Entries about code are not compared: code goes on changing. The manifests of records
// are proved with them.
func (w *workProof) evidence(ctx context.Context, granted verdicts) error {
	seen := map[string]bool{} // the same file on many branches is read once
	branches, err := w.repo.Refs(ctx, record.Prefix)
	if err != nil {
		return err
	}
	// In an adopted project what is called evidence on a branch is the project's own.
	if heads, err := w.repo.Refs(ctx, "refs/heads/"); err != nil {
		return err
	} else if !w.settings.Control.Split() {
		branches = append(branches, heads...)
	}
	for _, branch := range branches {
		out, err := w.repo.Output(ctx, "ls-tree", "-r", "-z", branch.Name, "evidence/")
		if err != nil {
			return err
		}
		for entry := range strings.SplitSeq(string(out), "\x00") {
			_, path, _ := strings.Cut(entry, "\t")
			at, ok := loop.ParseEvidencePath(path)
			if ok && at.File == loop.ManifestFile && !strings.HasPrefix(branch.Name, record.Prefix) {
				err = w.manifest(branch.Name, path)
			} else if ok && at.File == loop.CertificateFile && !seen[entry] {
				seen[entry] = true
				err = w.certificate(branch.Name, path, at, granted)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// certificate holds a certificate that claims success to the host's verdict on the
// commit that it names. A halting report names none: its last certificate does.
func (w *workProof) certificate(branch, path string, at loop.EvidencePath, granted verdicts) error {
	if w.verdicts == 0 && w.steps == 0 {
		return nil // a clone that has fetched neither journals nor verdicts
	}
	data, err := w.reader.File(branch, path, loop.MaxEvidence)
	if err != nil {
		if w.tooLarge(err, branch, path) {
			return nil
		}
		return err
	}
	s, ok := at.Success(data)
	if ok && !slices.ContainsFunc(granted[claimed{s.Unit, s.Commit}], func(v loop.Verdict) bool { return v.Grants(s) }) {
		w.report.add(diag.Clean(branch), "fsck/evidence", "compare with git notes --ref=certificates show", "%s claims %s, and the host has no such verdict", diag.Clean(path), s.Verdict)
	}
	return nil
}

// maxFile bounds a file that a manifest names, in bytes.
const maxFile = 64 << 20

func (w *workProof) manifest(branch, path string) error {
	data, err := w.reader.File(branch, path, loop.MaxEvidence)
	if err != nil {
		if w.tooLarge(err, branch, path) {
			return nil
		}
		return err
	}
	var a loop.Artifacts
	if err := json.Unmarshal(data, &a, json.RejectUnknownMembers(true)); err != nil {
		if w.tombstones.covers(w.objects, branch+":"+path) {
			return nil
		}
		w.report.add(diag.Clean(branch), "fsck/evidence", "restore it from the branch's history", "%s: %v", diag.Clean(path), err)
		return nil
	}
	a.Artifacts = slices.DeleteFunc(a.Artifacts, func(m loop.Artifact) bool { return !strings.HasPrefix(m.Path, "evidence/") })
	err = a.CheckManifest(func(file string) ([]byte, error) { return w.reader.File(branch, file, maxFile) })
	w.mismatches(branch, branch, err, "restore the file from the branch's history")
	return nil
}
