package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"git-ward/agent/cycle"
	"git-ward/agent/launch"
	"git-ward/agent/stop"
	"git-ward/agent/store"
	"git-ward/internal/diag"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// single works on a directive without the bounded loop ([agent] loop = false): once, to an
// unverified report.
type single struct {
	deps      *deps
	directive comms.Directive
	work      *store.Work
	lost      bool // the solver left no repository behind
	log       zerolog.Logger
}

// run works, unless the remote has the completed work already, and reports.
func (s *single) run(ctx context.Context, main store.Snapshot, source []byte) error {
	var failed error
	if err := s.work.Begin(ctx, nil, nil); err != nil {
		return err
	}
	if s.work.Done == nil {
		died, err := s.deps.died(ctx, s.directive.Name())
		if err != nil {
			return err
		}
		if died != "" {
			failed = s.keep(ctx, stop.New(stop.Killed, "%s", died))
		} else if solver, err := s.solver(ctx, main, source); err != nil {
			return err
		} else {
			failed = s.solve(ctx, solver)
		}
	} else {
		s.log.Info().Str("commit", diag.Short(s.work.Done.Commit)).Msg("the work was done before; only the report is missing")
	}
	lessons := ""
	if s.work.Done != nil {
		lessons = learn(ctx, s.work, s.deps.config.Control, s.log)
	}
	return s.report(ctx, failed, lessons)
}

func (s *single) solver(ctx context.Context, main store.Snapshot, source []byte) (solver, error) {
	system, err := s.deps.systemPrompt(ctx, main, source, s.directive.Name())
	if err != nil {
		return nil, err
	}
	f := &solvers{deps: s.deps, directive: s.directive, work: s.work, system: system, lessons: recall(ctx, s.deps.store, s.log), guidance: guide(ctx, s.deps.store, s.work, s.log), log: s.log}
	models := order(s.deps.config, func(text string) { s.log.Warn().Msg(text) })
	f.order = &models
	if f.model, err = openModel(ctx, s.deps, main, logWaits(s.log), models); err != nil {
		return nil, err
	}
	return f.new(nil), nil
}

// solve runs the solver until the remote has the result. A refused push's findings go back to
// it, a bounded number of times.
func (s *single) solve(ctx context.Context, solver solver) error {
	s.log.Info().Str("title", s.directive.Title.String()).Msg("work begins")
	findings := ""
	for refusals := 0; ; refusals++ {
		words, err := s.timely(ctx, solver, findings)
		if stopped := stop.As(err, stop.Unfinished, stop.Killed, stop.Spent, stop.Denied, stop.Missing); stopped != nil {
			return s.keep(ctx, stopped)
		}
		if waits := stop.As(err, stop.Asked, stop.Outage); waits != nil {
			return s.wait(ctx, waits)
		}
		if err != nil {
			return err
		}
		err = s.work.Publish(ctx, words, true)
		refused := stop.As(err, stop.Refused)
		if refused == nil {
			return err
		}
		s.log.Warn().Int("refusals", refusals+1).Str("findings", refused.Output).Msg("the push was refused")
		if refusals == s.deps.config.Agent.Refusals {
			return s.work.NotPushed(refusals+1, refused.Output)
		}
		findings = refused.Output
	}
}

// timely lets the solver work until the launch's time is over. A destroyed repository also ends the work,
// because otherwise there would be no bound on retries.
func (s *single) timely(ctx context.Context, solver solver, findings string) (string, error) {
	process := ctx
	ctx, cancel := s.deps.launch.Context(ctx)
	defer cancel()
	left := endStrays(ctx, s.log)
	done, err := solver.Solve(ctx, findings)
	left()
	if err != nil && stop.Is(context.Cause(ctx), stop.Spent) {
		err = stop.New(stop.Spent, "The work was stopped: %s.", launch.TimeSpent)
	}
	gone, no := s.work.Gone(context.WithoutCancel(ctx))
	if no != nil {
		s.log.Warn().Err(no).Msg("whether the worker's repository is still there is not known")
	}
	if s.lost = gone; gone {
		if stop.Of(err) == nil && process.Err() == nil {
			err = &stop.Stop{Kind: stop.Unfinished, Why: errGone.Error(), Err: err}
		}
		err = ofTree(cmp.Or(err, errGone), allLost)
	}
	return done.Words, err
}

// keep pushes an unfinished solver's work without the trailers of completed work, if the
// remote accepts it. Without a repository there is nothing to push, and another one would remove the
// tree.
func (s *single) keep(ctx context.Context, stopped *stop.Stop) error {
	if s.lost {
		return stopped
	}
	kept := ""
	err := s.work.Publish(ctx, "Unfinished: "+stopped.Why, false)
	if refused := stop.As(err, stop.Refused); refused != nil {
		kept = " What it had so far was refused:\n\n" + diag.Indent(refused.Output)
	} else if err != nil {
		return err
	} else if pushed, err := s.work.HasBranch(ctx, s.work.Branch); err != nil { // err must not replace the original stop
		s.log.Warn().Err(err).Msg("whether the remote has the branch cannot be asked")
		kept = fmt.Sprintf(" What it had so far is on %s, unless nothing was done: the remote could not be asked.\n", s.work.Branch)
	} else if pushed {
		kept = fmt.Sprintf(" What it had so far is on %s.\n", s.work.Branch)
	}
	return &stop.Stop{Kind: stopped.Kind, Why: stopped.Why + kept, Output: stopped.Output}
}

// wait tells the PM what the work waits for. A question suspends the directive, whose edit is
// the answer; a model that does not answer is tried again in the next pass.
func (s *single) wait(ctx context.Context, waits *stop.Stop) error {
	kept := s.keep(ctx, waits)
	if stop.Of(kept) == nil {
		return kept
	}
	name, why := s.directive.Name(), diag.CleanLines(s.deps.clean(waits.Why))
	if waits.Kind == stop.Outage {
		return errors.Join(kept, s.deps.store.ReportOnce(ctx, "outage "+name+" "+s.directive.Hash()[:12], comms.NewReport{Time: time.Now(), Directive: name, Status: comms.Info,
			Text: fmt.Sprintf("Backpressure (%s) on %s: %s\n\nIt is tried again by itself with each pass.", loop.RateLimit, name, why)}))
	}
	return errors.Join(kept, s.deps.store.Ask(ctx, comms.NewQuestion{Time: time.Now(), Directive: name,
		Text: why + fmt.Sprintf("\n\nAsked by who works on %s, which waits for the answer: write it into %s, and push.", name, name)}))
}

// report adds the end of the work to COMMS.md: DONE, or another status with the reason. Other
// errors are no end, and are the pass's.
func (s *single) report(ctx context.Context, err error, lessons string) error {
	r := comms.NewReport{Time: time.Now(), Directive: s.directive.Name(), DirectiveHash: s.directive.Hash()}
	var reason, words, advice string
	switch ended := stop.As(err, stop.Unfinished, stop.Killed, stop.Spent, stop.Blocked, stop.Denied, stop.Missing, stop.Asked); {
	case ended != nil:
		r.Status, reason, words = statusOf(ended.Kind), ended.Why, ended.Output
		advice = "Edit " + r.Directive + " to have it taken up again."
		if reason := cycle.Reason(ended.Kind); reason.By() == uow.ByAdmin {
			advice = "First " + reason.Mend("") + ". " + advice
		}
	case err != nil:
		return err
	default:
		done := s.work.Done
		r.Status, words = comms.Done, done.Text
		// Without a unit there is no verdict, and `git ward take` requires one.
		advice = fmt.Sprintf("%s holds the work, at commit %s, which nobody judged: `git ward review %s` shows it, `git merge origin/%s` takes it.",
			s.work.Branch, diag.Short(done.Commit), r.Directive, s.work.Branch)
	}
	advice = paragraphs(advice, lessons)
	r.Text = paragraphs(reason, words, advice)
	err = s.deps.store.Report(ctx, r)
	if refused := stop.As(err, stop.Refused); words != "" && refused != nil {
		// The refusal may be for the text, such as a secret in the solver's output. Without
		// any report the directive would be worked on again and again.
		s.log.Warn().Str("findings", refused.Output).Msg("the report was refused; once more without the worker's words")
		r.Text = paragraphs(reason, "The remote refused the worker's own words, so they are left out here.", advice)
		err = s.deps.store.Report(ctx, r)
	}
	if err == nil {
		s.log.Info().Str("status", string(r.Status)).Msg("reported")
	}
	return err
}

// statusOf is the report's status for a solver's end.
func statusOf(kind stop.Kind) comms.Status {
	switch kind {
	case stop.Spent:
		return comms.ExitBudgetExceeded
	case stop.Asked:
		return comms.ExitNeedInfo
	}
	return comms.ExitBlocked
}

// paragraphs joins the non-empty ones.
func paragraphs(list ...string) string {
	var b strings.Builder
	for _, p := range list {
		if p != "" {
			b.WriteString(strings.TrimRight(p, "\n") + "\n\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
