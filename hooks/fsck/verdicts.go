package fsck

import (
	"cmp"

	"git-ward/internal/diag"
	"git-ward/protocols/loop"
	"git-ward/protocols/state"
)

// notes proves the notes that hold verdicts: each stands on the commit that it is
// about, and a claim asked for it.
func (w *workProof) notes(made claims) (verdicts, error) {
	granted := verdicts{}
	for note, err := range state.AllVerdicts(w.reader) {
		if err != nil {
			return nil, err
		}
		what := "the note on " + diag.Short(note.Object)
		if note.Broken != nil && !w.tooLarge(note.Broken, loop.VerdictsRef, what) {
			w.report.add(loop.VerdictsRef, "fsck/verdict", "only the verifier writes there; it passes over such lines", "%s: %v", what, note.Broken)
		}
		for _, v := range note.Verdicts {
			w.verdict(v, note.Object, made)
			if v.Commit == note.Object {
				granted[v.Unit] = append(granted[v.Unit], v)
			}
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
	claim, of := made[v.Claim], cmp.Or(v.Takes, v.Commit)
	switch {
	case w.steps > 0 && (claim == nil || claim.ID != v.Unit || claim.Claim.Commit != of || claim.DirectiveHash != v.DirectiveHash):
		return "that no claim of " + diag.Clean(v.Unit) + " asked for"
	case claim != nil && claim.Claim.Record != v.Record:
		return "that names another commit of the record than its claim does"
	case !v.Sound():
		return "that its own outcomes do not bear out"
	}
	return ""
}
