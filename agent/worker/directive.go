package worker

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"git-ward/agent/stop"
	"git-ward/agent/store"
	"git-ward/internal/diag"
	"git-ward/protocols/comms"
)

// promptSize bounds SYSTEM.md; COMMS.md has a bound of its own.
const promptSize = 1 << 20

// job is the work on one directive.
type job struct {
	*agent
	log       zerolog.Logger
	directive comms.Directive
	work      *store.Work
	worker    worker
	memory    string // what earlier directives learnt
	lessons   string // what became of this one's lessons, for the report
}

// directive takes one directive to its report. Nothing that it knows outlives
// it: after a kill the next run finds out from the remote how far this one came.
func (a *agent) directive(ctx context.Context, main store.Snapshot, source []byte, d comms.Directive) error {
	j := &job{agent: a, directive: d, log: a.log.With().Str("directive", d.Name()).Logger()}
	var err error
	if j.work, err = a.store.Work(ctx, d); err != nil {
		return err
	}
	if a.Config.Agent.Loop {
		return j.bounded(ctx)
	}
	if j.work.Done == nil {
		if err := j.prepare(ctx, main, source); err != nil {
			return err
		}
		err = j.solve(ctx)
	} else {
		j.log.Info().Str("commit", diag.Short(j.work.Done.Commit)).Msg("the work was done before; only the report is missing")
	}
	if j.work.Done != nil {
		j.learn(ctx)
	}
	return j.report(ctx, err)
}

// prepare makes the worker and what it is told.
func (j *job) prepare(ctx context.Context, main store.Snapshot, source []byte) error {
	system, err := main.File(ctx, "SYSTEM.md", promptSize)
	if err != nil {
		return err
	}
	j.memory = j.recall(ctx)
	j.worker, err = j.newWorker(ctx, main, systemPrompt(system, source))
	return err
}

// systemPrompt is SYSTEM.md followed by COMMS.md. A line end is put between them
// where SYSTEM.md lacks its last one, or COMMS.md would lose its heading.
func systemPrompt(system, comms []byte) string {
	s := string(system)
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return s + string(comms)
}

// solve lets the worker work until the remote has the result. The findings of a
// refused push go back to it, a bounded number of times.
func (j *job) solve(ctx context.Context) error {
	j.log.Info().Str("title", j.directive.Title.String()).Msg("work begins")
	findings := ""
	for refusals := 0; ; refusals++ {
		words, err := j.timely(ctx, findings)
		if stopped := stop.As(err, stop.Unfinished, stop.Spent); stopped != nil {
			return j.keep(ctx, stopped)
		}
		if err != nil {
			return err
		}
		err = j.work.Publish(ctx, words, true)
		refused := stop.As(err, stop.Refused)
		if refused == nil {
			return err
		}
		j.log.Warn().Int("refusals", refusals+1).Str("findings", refused.Output).Msg("the push was refused")
		if refusals == j.Config.Agent.Refusals {
			return refusedFor(j.work.Branch, refusals+1, refused.Output)
		}
		findings = refused.Output
	}
}

// timely lets the worker work until the launch's time is spent.
func (j *job) timely(ctx context.Context, findings string) (string, error) {
	ctx, cancel := j.timed(ctx)
	defer cancel()
	words, err := j.worker.do(ctx, findings)
	if err != nil && stop.Is(context.Cause(ctx), stop.Spent) {
		err = stop.New(stop.Spent, "The work was stopped: %s.", timeSpent)
	}
	return words, err
}

// refusedFor is the end of work that the server does not take.
func refusedFor(branch string, times int, findings string) error {
	often := ""
	if times > 1 {
		often = fmt.Sprintf(" %d times", times)
	}
	return stop.New(stop.Blocked, "%s was refused%s, so the work is not on the server. The last refusal:\n\n%s", branch, often, indent(findings))
}

// keep pushes what an unfinished worker has so far, without the trailers of
// finished work, if the remote takes it.
func (j *job) keep(ctx context.Context, stopped *stop.Stop) error {
	kept := fmt.Sprintf("What it had so far is on %s.\n", j.work.Branch)
	err := j.work.Publish(ctx, "Unfinished: "+stopped.Why, false)
	if refused := stop.As(err, stop.Refused); refused != nil {
		kept = "What it had so far was refused:\n\n" + indent(refused.Output)
	} else if err != nil {
		return err
	}
	return &stop.Stop{Kind: stopped.Kind, Why: stopped.Why + " " + kept, Output: stopped.Output}
}

// indent makes lines of a program stand as they are in Markdown.
func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ") + "\n"
}

// report puts the end of the work into COMMS.md: DONE, or EXIT_BLOCKED with the
// reason. Other errors are no end, and go to the loop.
func (j *job) report(ctx context.Context, err error) error {
	r := comms.NewReport{Time: time.Now(), Directive: j.directive.Name(), DirectiveHash: j.directive.Hash()}
	var reason, words, advice string
	switch ended := stop.As(err, stop.Unfinished, stop.Spent, stop.Blocked); {
	case ended != nil:
		r.Status, reason, words = comms.ExitBlocked, ended.Why, ended.Output
		if ended.Kind == stop.Spent {
			r.Status = comms.ExitBudgetExceeded
		}
		advice = "Edit " + r.Directive + " to have it taken up again."
	case err != nil:
		return err
	default:
		done := j.work.Done
		r.Status, words = comms.Done, done.Text
		advice = fmt.Sprintf("%s holds the work, at commit %s; `git merge origin/%s` takes it.",
			j.work.Branch, diag.Short(done.Commit), j.work.Branch)
	}
	advice = paragraphs(advice, j.lessons)
	r.Text = paragraphs(reason, words, advice)
	err = j.store.Report(ctx, r)
	if refused := stop.As(err, stop.Refused); words != "" && refused != nil {
		// It may be for the words, such as a secret that the worker printed. Without
		// a report the directive would be worked on again and again.
		j.log.Warn().Str("findings", refused.Output).Msg("the report was refused; once more without the worker's words")
		r.Text = paragraphs(reason, "The remote refused the worker's own words, so they are left out here.", advice)
		err = j.store.Report(ctx, r)
	}
	if err != nil {
		return err
	}
	j.log.Info().Str("status", string(r.Status)).Msg("reported")
	return nil
}

// paragraphs joins those that are not empty.
func paragraphs(list ...string) string {
	var b strings.Builder
	for _, p := range list {
		if p != "" {
			b.WriteString(strings.TrimRight(p, "\n") + "\n\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
