package comms

import (
	"bytes"
	"slices"
	"strings"

	"git-ward/internal/diag"
)

// DirectivesEqual reports whether the sections `## Directives`, from their
// heading up to `## Reports`, are the same bytes. A document whose sections do
// not stand once and in order equals nothing.
func DirectivesEqual(a, b []byte) bool {
	da, errA := parseSound(a)
	db, errB := parseSound(b)
	return errA == nil && errB == nil && da.directivesText() == db.directivesText()
}

func (doc *Document) directivesText() string {
	s := doc.layout.parts[directives]
	return doc.layout.src[s.start:s.end]
}

// CheckAgentChange judges what the agent made of COMMS.md between two versions
// (COMMS-4): all above `## Reports` is byte-identical; old reports and questions
// stand unedited and in order; new ones stand below them with larger ids; a report
// that is gone lies in pruned (see ParsePrune) and was no report that has to stay.
// What has to stay is judged over old and new reports together, because one push
// may append a report and then prune the one that it outdates.
//
// It looks at old and new only; that the new document is well formed is for Parse
// to say. Lines are those of new.
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

// CheckAgentStatus finds reports that an agent added with statuses reserved for the watcher.
// The watcher's reports on the agent's program are believed, so nobody else may write them.
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

// directives compares all above the reports, the preamble included.
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
			continue // a newer one of the same directive stands for it
		}
		c.f.add(c.new.layout.parts[questions].line, 0, ruleAgentQuestion, "put it back where it was",
			"only the PM may remove %s", name('Q', e.id))
	}
}
