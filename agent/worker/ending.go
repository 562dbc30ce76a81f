package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"git-ward/agent/cycle"
	"git-ward/agent/stop"
	"git-ward/internal/diag"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/review"
	"git-ward/protocols/uow"
)

// finish ends a unit whose loop has ended: in one push if the remote accepts it, else part by
// part, so that a refused part delays no other (WORK-2).
func (r *unitRun) finish(ctx context.Context, end cycle.End) error {
	if end.Report.StopReason == loop.BackpressureSignal && r.stopFile(ctx) != "" {
		end.Block = uow.Stopped
	}
	err := r.atOnce(ctx, end)
	if err != nil { // no later push may bring the report: the unit may continue, for instance after the PM's pause
		r.unit.journal.Unhold()
		r.ending, r.refined = nil, false
		err = errors.Join(err, r.work.Withdraw(ctx))
	}
	if refused := stop.As(err, stop.Refused); refused != nil {
		r.log.Warn().Str("findings", refused.Output).Msg("the end was refused; once more, part by part")
		if end.Again != nil {
			if err := end.Again(ctx); err != nil {
				return err
			}
		}
		err = r.exit(ctx, end)
	}
	if err != nil {
		return err
	}
	if end.Report.Status == loop.ExitNeedInfo && end.Report.StopReason == loop.NotIncluded {
		if err := r.askToInclude(ctx, end.Report); err != nil {
			return err
		}
	}
	return r.close(ctx, end.Report)
}

// atOnce makes a single push of the end: the loop's last step with its evidence, the
// librarian's analysis with its step, the report, and the archive. A waiting unit has no analysis,
// and a unit with lessons is reported, and archived, after they are applied.
func (r *unitRun) atOnce(ctx context.Context, end cycle.End) error {
	in, ahead, err := r.unit.exitStep(end)
	if err != nil || !ahead {
		return err
	}
	if err := r.unit.hold(ctx, in); err != nil {
		return err
	}
	if analysed(r.unit.last()) {
		if err := r.analyse(ctx, end.Report); err != nil {
			return err
		}
		if err := r.unit.hold(ctx, refinement); err != nil {
			return err
		}
		r.refined = true
		teaches, err := r.work.Teaches(ctx)
		if err != nil { // Learn reports the error, and the report has it
			teaches = true
		}
		if !teaches && !r.unit.journal.Forked() {
			if err := r.enclose(ctx, end.Report); err != nil {
				return err
			}
		}
	}
	return r.unit.flush(ctx, r.work)
}

// enclose adds the report and the archive step to the push of the unit's end. The record is then complete,
// and the host folds the report even if this process dies. A unit with kept changes is archived after
// those are removed, which a later process does.
func (r *unitRun) enclose(ctx context.Context, report *loop.Report) error {
	ending, err := r.told(ctx, report)
	if err != nil {
		return err
	}
	enclosed, err := r.work.Enclose(ctx, r.newReport(report, ending))
	if err != nil || !enclosed {
		return err
	}
	r.ending = &ending
	kept, err := r.work.Kept(ctx)
	if err != nil || kept {
		return err
	}
	return r.unit.hold(ctx, archive)
}

// refinement is the step to the librarian's analysis, archive the one after it.
var (
	refinement = uow.Input{Event: uow.Refine, Reason: "ANALYSIS_STARTED"}
	archive    = uow.Input{Event: uow.Archive, Reason: "ANALYSIS_DONE"}
)

// analysed reports whether a unit comes to the analysis before its archive.
func analysed(last *uow.Record) bool {
	return last.State == uow.Completed || last.State == uow.Failed || last.State == uow.Refinement
}

// close ends a unit completely: the librarian's analysis, from which lessons are read, the
// report, and the archive (UOW-5). A waiting unit is only reported.
func (r *unitRun) close(ctx context.Context, report *loop.Report) error {
	if analysed(r.unit.last()) && !r.refined {
		if err := r.refine(ctx, report); err != nil {
			return err
		}
	}
	if report.Status == loop.ExitConverged {
		r.endSaving(ctx)
	}
	r.lessons = learn(ctx, r.work, r.deps.config.Control, r.log)
	if err := r.report(ctx, report); err != nil {
		return err
	}
	if r.unit.last().State == uow.Refinement {
		return r.unit.step(ctx, archive)
	}
	return nil
}

// refine pushes the librarian's analysis with the step to Refinement. If it is refused, the
// step is pushed alone, because the unit must be able to end.
func (r *unitRun) refine(ctx context.Context, report *loop.Report) error {
	if err := r.analyse(ctx, report); err != nil {
		return err
	}
	var err error
	begun := r.unit.last().State == uow.Refinement // by a killed run, or in one push
	if begun {
		err = r.work.Offer(ctx)
	} else {
		err = r.unit.step(ctx, refinement, r.work)
	}
	refused := stop.As(err, stop.Refused)
	if refused == nil {
		return err
	}
	r.log.Warn().Str("findings", refused.Output).Msg("the refinement was refused")
	if begun {
		return nil
	}
	return r.unit.step(ctx, refinement)
}

// analyse commits the librarian's report on the unit to the record, with proposed lessons if
// any.
func (r *unitRun) analyse(ctx context.Context, report *loop.Report) error {
	summary := uow.Summarize(r.unit.journal.Records, r.cost(ctx, report).Words())
	earlier, err := r.deps.store.Summaries(ctx, r.unit.journal.ID)
	if err != nil { // it only judges efficiency, from what exists
		r.log.Warn().Err(err).Msg("the unit is not compared with all others")
	}
	proposals, err := r.deps.store.Unproposed(ctx, uow.Analyze(summary, r.unit.last().Policy, earlier))
	if err != nil {
		r.log.Warn().Err(err).Msg("what is proposed already cannot be read, and may be proposed again")
	}
	head := fmt.Sprintf("# Refinement of %s\n\n**Task ID:** %s\n**Date:** %s\n\n", r.unit.journal.ID, r.unit.directive.Name(), r.unit.last().Time[:10])
	path := loop.Dir(r.unit.directive.Name()) + "/refinement-" + r.unit.journal.ID.String() + ".md"
	if len(proposals) > 0 {
		path = "postmortems/" + r.unit.last().Time[:10] + "-" + r.unit.journal.ID.String() + ".md"
	}
	files := map[string][]byte{path: []byte(head + uow.RefinementText(summary, proposals, earlier))}
	rec := r.work.Record
	_, err = rec.Commit(ctx, rec.Message("refinement of "+rec.Unit().String(), ""), "", files)
	return err
}

// exit ends the loop in the journal, with its report on the record. A refusal of the report
// does not keep the unit from ending (WORK-2).
func (r *unitRun) exit(ctx context.Context, end cycle.End) error {
	err := r.unit.exit(ctx, end, r.work)
	refused := stop.As(err, stop.Refused)
	if refused == nil {
		return err
	}
	r.log.Warn().Str("findings", refused.Output).Msg("the halting report was refused")
	return r.unit.exit(ctx, end)
}

// fallen suspends a unit whose certified program did not start: main runs again, and the
// directive is not done (BOOT-3).
func (r *unitRun) fallen(ctx context.Context, why string) error {
	made := loop.NewReport(loop.Outcomes{Declaration: r.unit.declaration, Limits: r.unit.limits, Status: loop.ExitBlocked, State: loop.BudgetCheck, Failed: why,
		Decision: loop.Decision{Event: loop.InvariantBroken, Reason: loop.StartFailed, Words: why}})
	if err := r.unit.exit(ctx, cycle.End{Report: &made}, r.work); err != nil {
		return err
	}
	return r.report(ctx, &made)
}

// needInfo asks for what is missing and waits for the PM (COMMS-2, LOOP-1).
func (r *unitRun) needInfo(ctx context.Context, report *loop.Report) error {
	if err := r.exit(ctx, cycle.End{Report: report}); err != nil {
		return err
	}
	if err := r.deps.store.Ask(ctx, comms.NewQuestion{Time: time.Now(), Directive: r.unit.directive.Name(), Text: question(r.unit.directive.Name(), report.Missing)}); err != nil {
		return err
	}
	return r.report(ctx, report)
}

// askToInclude asks the question of a loop that waits for the PM's word (PROOF-1).
func (r *unitRun) askToInclude(ctx context.Context, report *loop.Report) error {
	text := "Is what decides on " + r.unit.directive.Name() + " the work that you asked for?\n\n" +
		"Its criteria are met, and that counts only by your word on:\n\n    " + strings.Join(report.Missing, "\n    ") + "\n\n" +
		"    git ward review " + r.unit.directive.Name() + "\n\n" +
		"If it is right, this says so, and the same commit is judged again:\n\n    git ward include " + r.unit.directive.Name() + "\n\n" +
		"If not, say in the directive what is to be done without it. Any edit of " + r.unit.directive.Name() + " is an answer: it is taken up again then."
	return r.deps.store.Ask(ctx, comms.NewQuestion{Time: time.Now(), Directive: r.unit.directive.Name(), Text: text})
}

// question tells the PM what to write.
func question(directive string, missing []string) string {
	text := "How can I tell that " + directive + " is done?\n\n"
	for _, m := range missing {
		switch m {
		case "acceptance_criteria":
			text += "- it has no acceptance criterion; write one, with a command that decides it:\n" + comms.ExampleCriterion + "\n"
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
	return text + "\nAn edit of " + directive + " is the answer: it is taken up again then."
}

// report adds the halting report to COMMS.md, in words.
func (r *unitRun) report(ctx context.Context, report *loop.Report) error {
	ending := r.ending // enclosed with the unit's end
	if ending == nil {
		told, err := r.told(ctx, report)
		if err != nil {
			return err
		}
		ending = &told
	}
	tell := r.deps.store.Report
	if r.unit.journal.Forked() || r.unit.journal.Cancelled() != nil { // the text may have a report already: an earlier unit's, or one about its question
		tell = func(ctx context.Context, n comms.NewReport) error {
			return r.deps.store.ReportOnce(ctx, r.unit.journal.ID.String()+" "+r.unit.last().Hash[:12], n)
		}
	}
	err := tell(ctx, r.newReport(report, *ending))
	if refused := stop.As(err, stop.Refused); refused != nil && ending.Said != "" {
		// The refusal may be for the worker's text, such as a secret; without any report
		// nobody would know that the unit ended (WORK-2).
		r.log.Warn().Str("findings", refused.Output).Msg("the report was refused; once more without the worker's words")
		ending.Said = "(what it said was refused by the gate, and is left out)"
		err = tell(ctx, r.newReport(report, *ending))
	}
	if err == nil {
		r.log.Info().Str("status", string(report.Status)).Msg("reported")
	}
	return err
}

func (r *unitRun) newReport(report *loop.Report, ending review.Ending) comms.NewReport {
	return comms.NewReport{Time: time.Now(), Directive: r.unit.directive.Name(), DirectiveHash: r.unit.directive.Hash(), Status: comms.Status(report.Status), Text: ending.Text()}
}

// afterwards reports an ended unit that has no report, because a run was killed in between or the PM ended
// it. A unit that asked or was blocked before the PM ended it has its report.
func (r *unitRun) afterwards(ctx context.Context) error {
	report, err := cycle.ReadReport(ctx, r.work, r.unit.journal)
	if err != nil {
		return err
	}
	if report == nil || r.unit.journal.Cancelled() != nil {
		r.unit.keepLost(ctx, r.work)
		if report, err = r.late(ctx); err != nil {
			return err
		}
	}
	return r.close(ctx, report)
}

// late is such a unit's report, from the record.
func (r *unitRun) late(ctx context.Context) (*loop.Report, error) {
	last := r.unit.last()
	d := loop.Decision{Event: loop.InvariantBroken, Reason: loop.InvariantViolation,
		Words: fmt.Sprintf("the unit %s ended without a report (%s)", last.ID, cmp.Or(last.ReasonCode.Words(), last.Words()))}
	if by := r.unit.journal.Cancelled(); by != nil {
		d.Words = "the PM ended it"
		if why := cmp.Or(by.ReasonCode.Words(), by.Note); why != "" {
			d.Words += ", " + diag.Clean(why)
		}
	}
	ended := endedUnit{r}
	if signals := ended.Signals(ctx); len(signals) > 0 {
		d.Event, d.Reason = loop.Backpressure, loop.BackpressureSignal
		d.Words += ", when the loop was held: " + signals[0].Words()
	}
	return r.newLoop(ended).Late(ctx, d)
}

// endedUnit is the unit after its end.
type endedUnit struct{ *unitRun }

// Signals are those that held the loop.
func (u endedUnit) Signals(context.Context) []loop.Signal { return pressed(u.unit.journal.Records) }

// Verdict is the host's verdict so far. It waits for none.
func (u endedUnit) Verdict(ctx context.Context, commit, claim string) (*loop.Verdict, error) {
	return u.deps.store.Verdict(ctx, commit, claim)
}

// pressed is the backpressure that last stopped a unit's loop, by its journal; none if
// something else stopped it, or it has continued since.
func pressed(records []*uow.Record) []loop.Signal {
	for _, rec := range slices.Backward(records) {
		switch {
		case rec.Event == uow.Block && rec.ReasonCode == uow.TransientFailure:
			return []loop.Signal{{Kind: loop.RateLimit, Detail: rec.Note}}
		case rec.Event == uow.Block && rec.ReasonCode == uow.Stopped:
			return []loop.Signal{{Kind: loop.StopFile, Detail: rec.Note}}
		case rec.Event == uow.Block, rec.State == uow.Active:
			return nil
		}
	}
	return nil
}
