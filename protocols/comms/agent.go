package comms

import (
	"bytes"
	"slices"
	"strings"

	"git-ward/internal/diag"
)

// DirectivesEqual reports whether two documents have the same bytes from `## Directives` up to
// `## Reports`. It is false if a section of either document is missing, repeated or out of order.
func DirectivesEqual(a, b []byte) bool {
	da, errA := parseSound(a)
	db, errB := parseSound(b)
	return errA == nil && errB == nil && da.directivesText() == db.directivesText()
}

func (doc *Document) directivesText() string {
	s := doc.layout.parts[directives]
	return doc.layout.src[s.start:s.end]
}

// CheckAgentChange checks an agent's change of COMMS.md (COMMS-4): everything above `## Reports` is
// byte-identical; old reports and questions are unedited and in order; new ones follow them with larger
// ids; a removed report is in pruned (see ParsePrune) and may be removed. Which reports must stay is
// decided over old and new reports together, because one push may append a report and prune the one
// that it replaces.
//
// It does not check that new is well formed; Parse does. Lines of findings are lines of new.
func CheckAgentChange(old, new []byte, pruned []Range) []diag.Diagnostic {
	if bytes.Equal(old, new) {
		return nil
	}
	c := &agentCheck{f: &findings{}, pruned: pruned}
	var errOld, errNew error
	c.old, errOld = parseSound(old)
	c.new, errNew = parseSound(new)
	if errOld != nil || errNew != nil {
		c.f.add(0, 0, ruleAgentDirectives, "restore the version of main and append to it; if that one is broken, only the PM can mend it",
			"the sections cannot be compared: they must stand once and in order, in 256 KiB, before and after")
		return *c.f
	}
	c.directives()
	c.reports()
	c.questions()
	return diag.Normalize(*c.f)
}

const ruleAgentStatus = "comms/agent-status"

// CheckAgentStatus reports statuses of the watcher in reports that an agent added. Ward trusts the
// watcher's reports on the agent's program, so nobody else may write them.
func CheckAgentStatus(old, new []byte) []diag.Diagnostic {
	before, _ := Parse(old)
	after, _ := Parse(new)
	known := map[int]bool{}
	for _, r := range before.Reports {
		known[r.ID] = true
	}
	f := &findings{}
	for _, r := range after.Reports {
		if r.Status.watchers() && !known[r.ID] {
			f.add(r.Line, 0, ruleAgentStatus, "say it as INFO", "%s says %s, which only the watcher reports", r.Name(), r.Status)
		}
	}
	return *f
}

type agentCheck struct {
	old, new *Document
	pruned   []Range
	f        *findings
}

// directives compares everything above the reports, the preamble included.
func (c *agentCheck) directives() {
	a := c.old.layout.src[:c.old.layout.parts[reports].start]
	b := c.new.layout.src[:c.new.layout.parts[reports].start]
	if a == b {
		return
	}
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	line := 1 + strings.Count(b[:same], "\n")
	col := same - strings.LastIndexByte(b[:same], '\n')
	c.f.add(line, col, ruleAgentDirectives, "git checkout main -- COMMS.md, then append the reports again",
		"only the PM may change the part above ## Reports")
}

func (c *agentCheck) reports() {
	removed, added := c.sequence(reports, ruleAgentReport)
	c.checkShown(reports, added)
	isAdded := make(map[int]bool, len(added)) // by line
	for _, e := range added {
		isAdded[e.line] = true
	}
	union := slices.Clone(c.old.Reports)
	for _, r := range c.new.Reports {
		if isAdded[r.Line] {
			union = append(union, r)
		}
	}
	keep := kept(union, c.new.Directives)
	for _, e := range removed {
		c.checkRemoved(e, keep[e.id])
	}
}

func (c *agentCheck) checkRemoved(e entry, keep string) {
	line := c.new.layout.parts[reports].line
	covered := e.id != 0 && slices.ContainsFunc(c.pruned, func(r Range) bool { return r.Has(e.id) })
	what := name('R', e.id)
	if e.id == 0 {
		what = "a report without a readable id"
	}
	switch {
	case keep != "":
		c.f.add(line, 0, ruleAgentPrune, "put it back as it was; prune other reports", "%s may not be removed: %s", what, keep)
	case !covered:
		c.f.add(line, 0, ruleAgentPrune, "put it back where it was, or end the commit message with the trailer "+PruneTrailer+": "+what,
			"%s is gone from its place, and no trailer says so", what)
	}
}

func (c *agentCheck) questions() {
	if c.old.layout.parts[questions].line == 0 {
		c.checkShown(questions, c.new.layout.parts[questions].entries)
		return
	}
	if c.new.layout.parts[questions].line == 0 {
		c.f.add(0, 0, ruleAgentQuestion, "put the section back as it was", "## Questions is gone")
		return
	}
	removed, added := c.sequence(questions, ruleAgentQuestion)
	c.checkShown(questions, added)
	was, is, asked := c.old.about(questions), c.new.about(questions), map[string]bool{}
	for _, e := range added {
		asked[is[e.id]] = true
	}
	for _, e := range removed {
		if asked[was[e.id]] {
			continue // a newer report on the same directive replaces it
		}
		c.f.add(c.new.layout.parts[questions].line, 0, ruleAgentQuestion, "put it back where it was",
			"only the PM may remove %s", name('Q', e.id))
	}
}
