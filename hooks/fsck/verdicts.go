package fsck

import (
	"context"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/loop"
	"git-ward/protocols/state"
)

// notes proves the notes that hold verdicts: each stands on the commit that it is
// about, and a claim asked for it.
func (w *workProof) notes(ctx context.Context, made claims) (verdicts, error) {
	granted := verdicts{}
	tip, err := w.repo.Ref(ctx, loop.VerdictsRef)
	if err != nil || tip == git.Zero {
		return granted, err
	}
	out, err := w.repo.Output(ctx, "ls-tree", "-r", tip)
	if err != nil {
		return nil, err
	}
	for entry := range strings.Lines(string(out)) {
		object, blob, path := noteEntry(entry)
		if object == "" {
			w.report.add(loop.VerdictsRef, "fsck/verdict", "only the verifier writes there; it counts for nothing", "%q is not a note", path)
			continue
		}
		_, note, err := w.objects.batch.Read(blob, state.MaxNote)
		if w.tooLarge(err, loop.VerdictsRef, "the note on "+diag.Short(object)) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list, err := loop.ParseVerdicts(note)
		if err != nil {
			w.report.add(loop.VerdictsRef, "fsck/verdict", "only the verifier writes there; it passes over such lines", "the note on %s: %v", diag.Short(object), err)
		}
		for _, v := range list {
			w.verdict(v, object, made)
			granted[claimed{v.Unit, object}] = append(granted[claimed{v.Unit, object}], v)
		}
	}
	return granted, nil
}

// verdict reports a verdict that the verifier cannot have written where it stands.
func (w *workProof) verdict(v loop.Verdict, object string, made claims) {
	w.verdicts++
	if v.Commit != object {
		w.report.add(loop.VerdictsRef, "fsck/verdict", "somebody copied it; it counts for nothing", "the note on %s holds a verdict on %s", diag.Short(object), diag.Short(v.Commit))
	} else if problem := w.unfounded(v, made); problem != "" {
		w.report.add(loop.VerdictsRef, "fsck/verdict", "only the verifier writes there; git ward verify runs its commands again", "the note on %s holds a verdict %s %s", diag.Short(object), v.Verdict, problem)
	}
}

// unfounded says why no verifier can have written a verdict; "" when it can. A
// clone without the journals knows no claims.
func (w *workProof) unfounded(v loop.Verdict, made claims) string {
	claim := made[v.Claim]
	switch {
	case w.records > 0 && (claim == nil || claim.ID != v.Unit || claim.Claim.Commit != v.Commit || claim.DirectiveHash != v.DirectiveHash):
		return "that no claim of " + diag.Clean(v.Unit) + " asked for"
	case !v.Sound():
		return "that its own outcomes do not bear out"
	}
	return ""
}
