package checks

import (
	"errors"
	"slices"
	"strings"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// held are the findings that refuse whatever [hooks] mode says: those about Ward's own refs,
// about rights, about refs that git itself would not move, and what was redacted.
var held = []string{"ref/", "rights/", "uow/", "record/", "option/", "redacted/"}

// observed reports whether a push passes though checks find what they refuse: the people's
// do where [hooks] mode says so, the agent's never (CTRL-2).
func (p *Push) observed() bool {
	return p.Config.Hooks.Mode == config.Observe && !p.Principal.Fenced()
}

// observe turns the findings of an observed push into warnings, unless one of them holds it.
// Where something ended the judgement, what was not judged of Ward's own refs does not
// enter either.
func (j *judgement) observe() error {
	r := j.pass.result
	if j.stopped && r.Refused() {
		if err := j.unjudged(); err != nil {
			return err
		}
		r.Findings = diag.Normalize(r.Findings)
	}
	if slices.ContainsFunc(r.Findings, func(d diag.Diagnostic) bool {
		return d.IsError() && slices.ContainsFunc(held, func(family string) bool { return strings.HasPrefix(d.Rule, family) })
	}) {
		return nil
	}
	for i, d := range r.Findings {
		if d.IsError() {
			r.Would = append(r.Would, d)
			r.Findings[i].Severity = diag.Warning
		}
	}
	return nil
}

// unjudged holds the refs of Ward's own in a push that was not judged to its end, and looks at
// the histories of the others.
func (j *judgement) unjudged() error {
	for _, u := range j.pass.Push.Updates {
		t := &walk.Tip{Update: u, History: push.HistoryOf(j.pass.Push.Config.Control, u.Ref)}
		switch {
		case u.New == git.Zero:
		case t.History == push.Journals || t.History == push.Records || t.History == push.Control:
			j.pass.Report(diag.Diagnostic{Ref: u.Ref, Rule: "ref/ward", Message: "was not judged, because of what the push holds besides",
				Hint: "mend the other findings, or push this ref by itself"})
		case j.pass.Push.Config.Control.Split():
			if _, err := j.walker.Peel(u, func(*walk.Tag) {}); errors.Is(err, walk.ErrNoCommit) {
				continue // it has no history, and that holds it
			}
			if err := mixed(j.pass, t); err != nil {
				return err
			}
		}
	}
	return nil
}
