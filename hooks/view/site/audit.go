package site

import (
	"fmt"
	"strings"
	"time"

	"git-ward/hooks/audit"
	"git-ward/hooks/view"
	"git-ward/internal/diag"
)

// The limits of what a page shows of one push.
const (
	maxRefs  = 20
	maxRules = 30
	maxPath  = 300 // bytes of a ref's name, or a rule with its path
)

// pushes is a page of the audit.
type pushes struct {
	Form   bool
	Fields []field
	Rows   []pushed
	None   string
	Pages  *pager
}

// A field is a field of the form; with options it is a drop-down list.
type field struct {
	Name, Words, Value string
	Options            []option
}

type pushed struct {
	N              int64
	Time           time.Time
	Who            string
	Class, Verdict string
	Refs           []moved
	Rules          []string
	Note           string
}

type moved struct{ Name, Move string }

func newPushes(a *view.AuditPage, f view.Filter, l links, pages *pager) pushes {
	p := pushes{Form: l.Live, Pages: pages, Fields: fields(f)}
	for _, push := range a.Pushes {
		p.Rows = append(p.Rows, newPushed(push))
	}
	switch {
	case a.Missing:
		p.None = "There is no audit here: git ward clone fetches it."
	case len(p.Rows) == 0:
		p.None = "No push is like that."
	}
	return p
}

func fields(f view.Filter) []field {
	verdicts := field{Name: "verdict", Words: "Verdict", Options: []option{{Words: "all", Chosen: f.Verdict == ""}}}
	for _, v := range []audit.Verdict{audit.Accepted, audit.Refused, audit.Lost, audit.Broken} {
		verdicts.Options = append(verdicts.Options, option{Name: string(v), Words: string(v), Chosen: f.Verdict == string(v)})
	}
	return []field{verdicts, {Name: "who", Words: "Who", Value: f.Who}, {Name: "directive", Words: "Directive", Value: f.Directive},
		{Name: "ref", Words: "Ref", Value: f.Ref}, {Name: "rule", Words: "Rule", Value: f.Rule}}
}

func newPushed(push view.Push) pushed {
	who := diag.Untrusted(push.Who()).String()
	p := pushed{N: push.N, Time: push.Time, Who: shorten(who, 80), Verdict: push.Verdict, Class: verdictClass[audit.Verdict(push.Verdict)]}
	for _, r := range push.Refs[:min(len(push.Refs), maxRefs)] {
		p.Refs = append(p.Refs, moved{strings.TrimPrefix(shorten(r.Ref.String(), maxPath), "refs/heads/"), short(r.Old) + ".." + short(r.New)})
	}
	var notes []string
	if more := push.LeftOut + len(push.Refs) - len(p.Refs); more > 0 {
		notes = append(notes, fmt.Sprintf("and %s more", diag.Count(more, "ref")))
	}
	if push.Repeats > 0 {
		notes = append(notes, "and the same "+diag.Count(push.Repeats, "more time"))
	}
	if push.Verdict == string(audit.Broken) {
		notes = append(notes, "cannot be read: git ward fsck")
	}
	rules := func(what string, list []diag.Untrusted) {
		for _, rule := range list[:min(len(list), maxRules)] {
			p.Rules = append(p.Rules, what+shorten(rule.String(), maxPath))
		}
	}
	if len(push.Would) > 0 { // Would also has the rules, with their paths
		rules("would refuse ", push.Would)
	} else {
		rules("", push.Rules)
	}
	rules("allowed ", push.Allowed)
	p.Note = strings.Join(notes, "; ")
	return p
}

var verdictClass = map[audit.Verdict]string{audit.Accepted: "good", audit.Refused: "bad", audit.Broken: "bad"}

// short abbreviates an object id; "-" for none.
func short(id string) string {
	if id == "" {
		return "-"
	}
	return diag.Short(id)
}
