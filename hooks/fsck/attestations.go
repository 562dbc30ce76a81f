package fsck

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"git-ward/internal/diag"
	"git-ward/internal/envelope"
	"git-ward/protocols/attest"
	"git-ward/protocols/loop"
	"git-ward/protocols/state"
)

// attestations verifies verdicts' signatures, and that each verdict is the signed one
// (PROOF-8). Verdicts of an older Ward have none. A clone has no key for it.
func (w *workProof) attestations(ctx context.Context, granted verdicts) error {
	data, err := os.ReadFile(filepath.Join(w.repo.Dir, attest.PublicFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	keys, err := envelope.PublicKeys(data)
	if err != nil {
		w.report.add(attest.Ref, "fsck/attestation", "its lines are public keys, as ssh-keygen writes them", "%s: %v", attest.PublicFile, err)
		return nil
	}
	objects, err := w.reader.Noted(attest.Ref)
	if err != nil {
		return err
	}
	signed := map[string][]*attest.Statement{} // by claim
	for _, object := range objects {
		what := "the note on " + diag.Short(object)
		note, err := w.reader.Note(attest.Ref, object, state.MaxNote)
		if err != nil {
			if w.tooLarge(err, attest.Ref, what) {
				continue
			}
			return err
		}
		for line := range bytes.Lines(note) {
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			var s *attest.Statement
			payload, err := envelope.Verdicts.Verify(ctx, line, keys)
			if err == nil {
				s, err = attest.Parse(payload)
			}
			switch {
			case err != nil:
				w.report.add(attest.Ref, "fsck/attestation", "only the host writes there; it proves nothing", "%s: %s", what, diag.Clean(err.Error()))
			case s.Commit() != object:
				w.report.add(attest.Ref, "fsck/attestation", "somebody copied it; it proves nothing of this commit", "%s attests a verdict on %s", what, diag.Short(s.Commit()))
			default:
				signed[s.Claim()] = append(signed[s.Claim()], s)
			}
		}
	}
	for _, list := range granted {
		for _, v := range list {
			all := signed[v.Claim]
			if len(all) > 0 && !slices.ContainsFunc(all, func(s *attest.Statement) bool { return s.Attests(v) }) {
				w.report.add(loop.VerdictsRef, "fsck/attestation", "git ward verify runs its commands again", "the verdict on %s is not the one that the host signed", diag.Short(v.Commit))
			}
		}
	}
	return nil
}
