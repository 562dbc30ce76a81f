package worker

import (
	"cmp"
	"context"
	"strings"

	"git-ward/agent/gateway"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/review"
)

// told is the content of a unit's report (WORK-5). Unreadable parts are left out, because a
// shorter report is better than none.
func (r *unitRun) told(ctx context.Context, report *loop.Report) (review.Ending, error) {
	last := r.unit.last()
	e := review.Ending{Report: *report, Unit: last, Unmerged: r.unmerged, Lessons: r.lessons, Branch: r.work.Branch, Record: r.work.Record.Ref()}
	var commit string
	if claim := r.unit.journal.Claimed(); claim != nil {
		commit = claim.Claim.Commit
		if taken, err := r.deps.store.Taken(ctx, commit); err != nil {
			return e, err
		} else if taken {
			e.Project = r.deps.config.Control.Project
		}
		verdict, err := r.deps.store.Verdict(ctx, commit, claim.Hash)
		r.lacks("verdict", err)
		if verdict != nil && verdict.DirectiveHash == r.unit.directive.Hash() { // a verdict on another text does not count
			e.Verdict = verdict
		}
	}
	e.Criteria = review.Criteria(criteria(r.unit.directive), e.Verdict)
	e.Said = r.lastWords(ctx, report)
	e.Changes = r.changes(ctx, commit, e.Verdict)
	e.Cost, e.Instead = r.cost(ctx, report), r.stoodIn()
	return e, nil
}

// lacks notes what a report leaves out.
func (r *unitRun) lacks(what string, err error) {
	if err != nil {
		r.log.Warn().Err(err).Msg("the report goes without its " + what)
	}
}

func criteria(d comms.Directive) (list [][2]string) {
	for _, c := range d.Criteria {
		list = append(list, [2]string{c.Text, c.Command})
	}
	return list
}

// lastWords is the worker's final text of the newest iteration with one.
func (r *unitRun) lastWords(ctx context.Context, report *loop.Report) string {
	for n := report.Iterations; n >= max(0, report.Iterations-1); n-- { // an unfinished iteration comes after the finished ones
		data, err := r.work.Record.File(ctx, loop.IterationDir(r.unit.directive.Name(), n)+"/"+loop.WordsFile)
		r.lacks("words", err)
		if text := strings.TrimSpace(string(data)); text != "" {
			return r.deps.clean(text)
		}
	}
	return ""
}

// changes are those of the claimed commit, else of the branch.
func (r *unitRun) changes(ctx context.Context, commit string, v *loop.Verdict) (list []review.Change) {
	base := ""
	if commit == "" {
		head, err := r.work.Head(ctx)
		if r.lacks("diffstat", err); err != nil {
			return nil
		}
		commit = head
	} else if v != nil {
		base = v.Base
	}
	differences, err := r.work.Stat(ctx, base, commit)
	r.lacks("diffstat", err)
	for _, d := range differences {
		list = append(list, review.Change{Path: diag.Untrusted(d.Path), Old: kind(d.Old), New: kind(d.New),
			Added: max(0, d.Added), Deleted: max(0, d.Deleted), Binary: d.Added < 0})
	}
	return list
}

func kind(e git.Entry) review.Kind { return review.KindOf(uint32(e.Mode)) }

// Limit is the limit that the newest model call hit, by the gateway.
func (r *unitRun) Limit(ctx context.Context) string {
	base := r.models()
	if base == "" {
		return ""
	}
	account, err := gateway.ReadAccount(ctx, base)
	r.lacks("budget", err)
	return account.Limit
}

// models is the gateway's address for a model's protocol, "" for none.
func (r *unitRun) models() string {
	return cmp.Or(r.deps.getenv(gateway.Anthropic), r.deps.getenv(gateway.OpenAI))
}

// cost is what the unit's directive used: the journal's counts, the loop's, and the gateway's
// tokens and money.
func (r *unitRun) cost(ctx context.Context, report *loop.Report) (cost review.Cost) {
	last := r.unit.last()
	seconds, calls := int64(report.Seconds), last.Interactions
	cost = review.Cost{Iterations: last.Budget.Spent.Iterations, Allowed: last.Budget.Total.Iterations, Claims: last.Budget.Spent.Claims, Seconds: &seconds, ToolCalls: &calls}
	cost.Bound(r.unit.directive.Options)
	if m := report.Model; m != nil {
		defer func() { cost.Count(m.Input + m.Output) }()
	}
	base := r.models()
	if base == "" {
		return cost
	}
	used, err := gateway.ReadCost(ctx, base, r.unit.directive.Name())
	r.lacks("cost", err)
	if err == nil && used.Tokens != nil {
		cost.Tokens, cost.CountedBy = used.Tokens, review.ByGateway
		cost.Money, cost.Estimated, cost.Prices = &used.Money, used.Estimated, used.Prices
	}
	return cost
}
