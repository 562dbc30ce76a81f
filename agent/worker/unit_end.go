package worker

import (
	"context"
	"fmt"
	"strings"
	"time"

	"git-ward/agent/cycle"
	"git-ward/agent/stop"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// close ends a unit in good order: the librarian's analysis, which the lessons are
// read from, the report, the archive (UOW-5). A unit that only waits is reported.
func (u *unit) close(ctx context.Context, report *loop.Report) error {
	state := u.journal.Last().State
	if state == uow.Completed || state == uow.Failed {
		if err := u.step(ctx, uow.Input{Event: uow.Refine, Reason: "ANALYSIS_STARTED"}); err != nil {
			return err
		}
	}
	if u.journal.Last().State == uow.Refinement {
		if err := u.refine(ctx); err != nil {
			return err
		}
	}
	u.learn(ctx)
	if err := u.report(ctx, report); err != nil {
		return err
	}
	if u.journal.Last().State == uow.Refinement {
		return u.step(ctx, uow.Input{Event: uow.Archive, Reason: "ANALYSIS_DONE"})
	}
	return nil
}

// refine writes the librarian's report of the unit, with what it proposes as
// lessons, where it proposes something.
func (u *unit) refine(ctx context.Context) error {
	summary := uow.Summarize(u.journal.Records, "")
	var earlier []uow.Summary
	for _, j := range u.before {
		earlier = append(earlier, uow.Summarize(j.Records, ""))
	}
	proposals := uow.Analyze(summary, u.journal.Last().Policy, earlier)
	head := fmt.Sprintf("# Refinement of %s\n\n**Task ID:** %s\n**Date:** %s\n\n", u.journal.ID, u.directive.Name(), u.journal.Last().Time[:10])
	path := loop.Dir(u.directive.Name()) + "/refinement-" + u.journal.ID.String() + ".md"
	if len(proposals) > 0 {
		path = "postmortems/" + u.journal.Last().Time[:10] + "-" + u.journal.ID.String() + ".md"
	}
	files := map[string][]byte{path: []byte(head + uow.RefinementText(summary, proposals))}
	if err := u.work.Commit(ctx, "uow: refinement of "+u.journal.ID.String(), files); err != nil {
		return err
	}
	err := u.work.Offer(ctx)
	if refused := stop.As(err, stop.Refused); refused != nil { // an analysis is not worth a unit that cannot end
		u.log.Warn().Str("findings", refused.Output).Msg("the refinement was refused")
		return u.work.Restart(ctx)
	}
	return err
}

// suspended turns the wait for somebody else into the end of this pass.
func (u *unit) suspended(err error) error {
	if wait := stop.As(err, stop.Suspended); wait != nil {
		u.log.Warn().Str("unit", u.journal.ID.String()).Msg(wait.Why)
		return nil
	}
	return err
}

// exit moves the unit to where the halting report says (UOW-1), once.
func (u *unit) exit(ctx context.Context, r *loop.Report, block uow.Reason) error {
	event, reason, ok := uow.Exit(string(r.Status))
	if !ok {
		return fmt.Errorf("%s is no exit", r.Status)
	}
	switch {
	case block != "":
		reason = block
	case r.StopReason == loop.BackpressureSignal:
		reason = "BACKPRESSURE"
	case r.StopReason == loop.VerdictUnavailable:
		reason = "VERDICT_TIMEOUT"
	}
	if u.journal.Last().Event == event {
		return nil
	}
	return u.step(ctx, uow.Input{Event: event, Reason: reason})
}

// needInfo asks what is missing and waits for the PM (COMMS-2, LOOP-1).
func (u *unit) needInfo(ctx context.Context, report *loop.Report) error {
	if err := u.exit(ctx, report, ""); err != nil {
		return err
	}
	if err := u.store.Ask(ctx, comms.NewQuestion{Time: time.Now(), Directive: u.directive.Name(), Text: u.question(report.Missing)}); err != nil {
		return err
	}
	return u.report(ctx, report)
}

// ask puts the question of a loop that waits for a line in the directive (LOOP-10).
func (u *unit) ask(ctx context.Context, r *loop.Report) error {
	text := "Is what decides on " + u.directive.Name() + " the work that you asked for?\n\n" +
		"Its criteria are met only with files that the work itself adds, or changes, where tests and build tools look:\n\n" +
		"    git diff main...origin/" + u.work.Branch + "\n\n" +
		"If they are right, this line in " + u.directive.Name() + " accepts them:\n\n    " + strings.Join(r.Missing, "\n    ") + "\n\n" +
		"If not, say in the directive what is to be done without them. Any edit of " + u.directive.Name() + " is an answer: it is taken up again then."
	return u.store.Ask(ctx, comms.NewQuestion{Time: time.Now(), Directive: u.directive.Name(), Text: text})
}

// question says in the PM's terms what to write.
func (u *unit) question(missing []string) string {
	text := "How can I tell that " + u.directive.Name() + " is done?\n\n"
	for _, m := range missing {
		switch m {
		case "acceptance_criteria":
			text += "- it has no acceptance criterion; write one, with a command that decides it: - [ ] all tests pass (`go test ./...`)\n"
		case "halting_certificates_applicable":
			text += "- no criterion has a command, and no certificate is declared; write a command, or a residual with - certificates: CONVERGED\n"
		case "R_p":
			text += "- CONVERGED needs a tolerance above zero: - R_p: 1e-3\n"
		case "residual":
			text += "- CONVERGED needs a command that prints the distance to the goal: - residual: `scripts/failing`\n"
		default:
			text += "- it does not say: " + m + "\n"
		}
	}
	return text + "\nAn edit of " + u.directive.Name() + " is the answer: it is taken up again then."
}

// report puts the halting report into COMMS.md in words.
func (u *unit) report(ctx context.Context, r *loop.Report) error {
	text := r.Words()
	if r.Status != loop.ExitNeedInfo {
		merge, err := u.wayToMain(ctx)
		if err != nil {
			return err
		}
		text = paragraphs(text, fmt.Sprintf("Unit %s. %s holds the work, with the evidence in %s. %s",
			u.journal.ID, u.work.Branch, loop.Dir(u.directive.Name()), merge), u.lessons)
	}
	err := u.store.Report(ctx, comms.NewReport{Time: time.Now(), Directive: u.directive.Name(), DirectiveHash: u.directive.Hash(),
		Status: comms.Status(r.Status), Text: text})
	if err == nil {
		u.log.Info().Str("status", string(r.Status)).Msg("reported")
	}
	return err
}

// wayToMain says in the report how the work comes into main, or that it is there:
// a run that was killed may have merged it.
func (u *unit) wayToMain(ctx context.Context) (string, error) {
	if u.unmerged != "" {
		return u.unmerged, nil
	}
	if claim := u.journal.Last().Claim; claim != nil {
		if merged, err := u.store.Merged(ctx, claim.Commit); merged || err != nil {
			return "It is merged into main.", err
		}
	}
	return fmt.Sprintf("`git merge origin/%s` takes it.", u.work.Branch), nil
}

// afterwards reports a unit that ended without one: a run was killed in between,
// or the PM ended it.
func (u *unit) afterwards(ctx context.Context) error {
	report, err := cycle.ReadReport(ctx, u.work, u.journal)
	if err != nil {
		return err
	}
	if report == nil {
		why := fmt.Sprintf("the unit %s ended %s (%s) without a report", u.journal.ID, u.journal.Last().State, u.journal.Last().ReasonCode)
		made := loop.NewReport(loop.Outcomes{Declaration: u.declaration, Limits: u.limits, Status: loop.ExitBlocked, State: loop.BudgetCheck, Failed: why,
			Decision: loop.Decision{Event: loop.InvariantBroken, Reason: loop.InvariantViolation, Words: why}})
		report = &made
	}
	return u.suspended(u.close(ctx, report))
}
