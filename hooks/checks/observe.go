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

// held are the findings that refuse in any [hooks] mode: about Ward's own refs, rights, refs
// that git would not move, and redacted content.
var held = []string{"ref/", "rights/", "uow/", "record/", "option/", "redacted/"}

// observed reports whether a push passes in spite of findings: people's do if [hooks] mode
// says so, the agent's never (CTRL-2).
func (p *Push) observed() bool {
	return p.Config.Hooks.Mode == config.Observe && !p.Principal.Fenced()
}

// observe turns an observed push's findings into warnings, unless one must refuse. If the
// judgement was cut off, unjudged refs of Ward's own do not enter either.
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

// unjudged refuses Ward's own refs, and names of other refs, in a push that was not judged
// completely, and checks the others' histories.
func (j *judgement) unjudged() error {
	for _, u := range j.pass.Push.Updates {
		if j.pass.Push.Received {
			if err := j.symbolic(u.Ref); err != nil {
				return err
			}
		}
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
