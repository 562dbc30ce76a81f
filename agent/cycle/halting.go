package cycle

import (
	"context"

	"git-ward/internal/diag"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// checkHalting is CHECK_HALTING: it waits for the host's verdict on the claim, lets the
// Skeptic formulate what was learned, and makes the iteration's certificate from both.
func (r *run) checkHalting(ctx context.Context) (loop.Decision, error) {
	if d, err := r.takeUp(ctx); err != nil || d.Event != "" {
		return d, err
	}
	if d, err := r.await(ctx); err != nil || d.Event != "" {
		return d, err
	}
	team, err := r.assemble(ctx)
	if err != nil {
		return loop.Decision{}, err
	}
	review, calls, err := team.Review(ctx, r.now.brief, r.now.result)
	if err != nil {
		return loop.Decision{}, err
	}
	r.count(calls)
	r.now.review = review.redacted(r.deps.Work.Redact)
	n := r.now.brief.Iteration
	r.spend(n)
	cert := loop.Certify(r.findings(n, r.now.result.Verdict, r.deps.Unit.Signals(ctx)))
	if claim := r.deps.Journal.Claimed().Claim; cert.Commit == claim.Commit {
		cert.Record = claim.Record
	}
	r.now.cert = &cert
	return loop.Decision{Event: loop.Certified}, nil
}

// await waits for the host's verdict on the journal's claim. If the verifier lacked a program,
// the verdict says nothing about the work: the iteration stays claimed and costs no other once
// the program is there.
func (r *run) await(ctx context.Context) (loop.Decision, error) {
	record := r.deps.Journal.Claimed()
	r.deps.Log.Info().Str("commit", diag.Short(record.Claim.Commit)).Msg("claimed; waiting for the verdict")
	v, err := r.deps.Unit.Verdict(ctx, record.Claim.Commit, record.Hash)
	switch {
	case err != nil:
		return loop.Decision{}, err
	case v == nil && r.overspent() != "":
		return loop.Decision{Event: loop.BudgetExhausted, Reason: loop.MaxToolCalls,
			Words: "no verdict came before the grace was half over; the claim stands, and its verdict may come yet"}, nil
	case v == nil:
		return loop.Decision{Event: loop.InvariantBroken, Reason: loop.VerdictUnavailable,
			Words: "no verdict within the verifier's time; does the launcher run?"}, nil
	}
	r.deps.Log.Info().Str("verdict", v.Verdict).Str("reason", v.Reason).Str("residual", v.Residual.Words()).Msg("the host's verdict")
	r.now.result.Verdict = v
	// The claim may need the PM's decision on more paths than he has included; then he is asked again.
	if v.WantsWord() && record.Event != uow.MakeClaim && record.ReasonCode != uow.IncludedNow { // he has answered, and the unit continues without it
		return loop.Decision{}, nil
	}
	d, _ := v.Lacks()
	return d, nil
}
