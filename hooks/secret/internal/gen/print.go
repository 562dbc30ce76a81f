package main

import (
	"bytes"
	"cmp"
	"fmt"
	"log"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"git-ward/hooks/secret/internal/shape"
)

// printer writes the table; byte sets are shared between rules.
type printer struct {
	bytes.Buffer
	sets []shape.Set
}

func (p *printer) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// file writes all of rules.txt.
func (p *printer) file(c config, version string) []byte {
	p.line("# Written by internal/gen from gitleaks %s; do not edit. table.go says what the fields are.", version)
	p.line("# The rules are Copyright (c) 2019 Zachary Rice, under the MIT licence in LICENSE.gitleaks.")
	p.allowlist(c.Allowlist)
	for _, r := range c.Rules {
		p.rule(r)
	}
	for i, s := range p.sets {
		p.line("set %x %d %s", s[:], i, s)
	}
	return p.Bytes()
}

func (p *printer) rule(r rule) {
	p.line("rule %s %s", r.ID, r.Description)
	if r.Path != "" {
		p.line("path %s", text(r.Path))
	}
	if r.Regex != "" {
		p.content(r)
	}
	if r.Entropy != 0 {
		p.line("entropy %v", r.Entropy)
	}
	if r.SecretGroup != 0 {
		p.line("group %d", r.SecretGroup)
	}
	for _, a := range r.Allowlists {
		p.allowlist(a)
	}
}

// content writes the regex and where it has to be tried.
func (p *printer) content(r rule) {
	p.line("regex %s", text(r.Regex))
	re := parse(r.Regex)
	anchors := shape.Anchors(re)
	a, isAssignment := shape.ParseAssignment(r.Regex)
	switch {
	case isAssignment:
		anchors = a.Anchors
		p.line("value %d %d %d %d %d", a.Before, a.Gap, p.set(a.Value), a.Min, a.Max)
		if a.Closed {
			p.line("closed")
		}
		for _, end := range a.Ends {
			p.line("end %d %d", end.Bound, p.set(end.Run))
		}
	case anchors != nil:
		p.reach(re, shape.AllAtStart(anchors))
	default:
		// Nothing in the match tells where it is: as in gitleaks, a keyword
		// anywhere lets the rule look everywhere.
		p.reach(re, true)
		p.line("apart%s", p.runs(shape.Head(re)))
		for _, k := range r.Keywords {
			anchors = append(anchors, shape.Anchor{Text: strings.ToLower(k), Fold: true})
		}
	}
	if len(anchors) == 0 {
		log.Fatalf("rule %s has neither a literal nor a keyword", r.ID)
	}
	slices.SortFunc(anchors, func(a, b shape.Anchor) int { return cmp.Compare(a.Text, b.Text) })
	for _, a := range anchors {
		if a.Fold {
			p.line("fold %s", text(a.Text))
		} else {
			p.line("anchor %s", text(a.Text))
		}
		if len(a.Then) > 0 {
			p.line("then%s", p.runs(a.Then))
		}
	}
}

// reach writes how far a match can extend.
func (p *printer) reach(re *syntax.Regexp, atStart bool) {
	bound, run := shape.Reach(re)
	p.line("reach %d", bound)
	if run != (shape.Set{}) {
		p.line("run %d", p.set(run))
	}
	if atStart {
		p.line("start")
	}
}

// runs gives each set, and how often it comes in a row.
func (p *printer) runs(sets []shape.Set) (numbers string) {
	for len(sets) > 0 {
		n := 1
		for n < len(sets) && sets[n] == sets[0] {
			n++
		}
		numbers += fmt.Sprintf(" %d %d", p.set(sets[0]), n)
		sets = sets[n:]
	}
	return numbers
}

// set gives the place of s in the table. Place 0 is the empty set: "none".
func (p *printer) set(s shape.Set) int {
	if p.sets == nil {
		p.sets = []shape.Set{{}}
	}
	i := slices.Index(p.sets, s)
	if i < 0 {
		i = len(p.sets)
		p.sets = append(p.sets, s)
	}
	return i
}

// allowlist writes one, if it is kept.
func (p *printer) allowlist(a allowlist) {
	if !kept(a) {
		return
	}
	p.line("allow %s", cmp.Or(a.RegexTarget, "secret"))
	if len(a.Regexes) > 0 { // joined as in gitleaks, where (?i) of one holds for the next
		p.line("excuse %s", text(strings.Join(a.Regexes, "|")))
	}
	if len(a.Stopwords) > 0 {
		p.line("stopwords %s", text(strings.ToLower(strings.Join(a.Stopwords, " "))))
	}
}

// long matches what a scanner might take for a secret.
var long = regexp.MustCompile(`[\w-]{29}`)

// text writes such words on several lines, so that nobody's scanner finds a secret in the
// table.
func text(s string) string {
	if strings.Contains(s, "\n") {
		log.Fatalf("%q is more than a line", s)
	}
	return long.ReplaceAllString(s, "$0\n+")
}
