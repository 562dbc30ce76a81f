package comms

import (
	"maps"

	"git-ward/internal/diag"
)

// CheckUpdate checks any change of COMMS.md between two versions (COMMS-1): new reports have
// larger ids than all old ones, and a directive's id is never used again. retired is every id
// that an earlier version listed and old no longer does. Lines are those of new; old is empty
// when there was none.
func CheckUpdate(old, new []byte, retired Set) []diag.Diagnostic {
	before, _ := Parse(old)
	after, _ := Parse(new)
	f := &findings{}
	before.checkNewIDs(f, after, reports, ruleReportOrder)
	before.checkNewIDs(f, after, questions, ruleQuestionOrder)
	before.checkReuse(f, after, retired)
	return diag.Normalize(*f)
}

// checkNewIDs requires that new entries have larger ids than all old ones. Otherwise two clones that
// append at the same time could both use R-7.
func (doc *Document) checkNewIDs(f *findings, after *Document, p part, rule string) {
	old := doc.layout.parts[p].entries
	known := make(map[int]bool, len(old))
	for _, e := range old {
		known[e.id] = true
	}
	last := nextID(old) - 1
	entries := after.layout.parts[p].entries
	next := nextID(entries)
	for _, e := range entries {
		if e.id != 0 && e.id < last && !known[e.id] {
			f.add(e.line, 5, rule, "append it at the end as "+name(letters[p], next),
				"%s is new and below %s, which stood here before", name(letters[p], e.id), name(letters[p], last))
		}
	}
}

// checkReuse refuses the id of a removed directive, because its reports, units and verdicts would count
// for the new one.
func (doc *Document) checkReuse(f *findings, after *Document, retired Set) {
	listed := make(map[int]bool, len(doc.Directives))
	for _, d := range doc.Directives {
		listed[d.ID] = true
	}
	mentioned := doc.mentioned()
	next := freeDirective(retired, doc, after)
	for _, d := range after.Directives {
		if listed[d.ID] || !retired.Has(d.ID) && !mentioned[d.ID] {
			continue
		}
		f.add(d.Line, 5, ruleReusedID, "give it the next free id, "+name('D', next), "%s was used before and is never used again", d.Name())
	}
}

// mentioned is the ids of directives that reports and questions name.
func (doc *Document) mentioned() map[int]bool {
	ids := make(map[int]bool)
	for _, r := range doc.Reports {
		ids[parseName(r.Directive, 'D')] = true
	}
	for _, q := range doc.Questions {
		ids[parseName(q.Directive, 'D')] = true
	}
	delete(ids, 0) // "-"
	return ids
}

// freeDirective returns the id for a new directive: larger than all that are or were listed, and named by
// no report or question. A name in a report alone does not raise the id, or one report on D-999999999
// would leave the PM without ids.
func freeDirective(retired Set, docs ...*Document) int {
	used, next := map[int]bool{}, retired.Max()+1
	for _, doc := range docs {
		maps.Copy(used, doc.mentioned())
		for _, d := range doc.Directives {
			used[d.ID] = true
			next = max(next, d.ID+1)
		}
	}
	if next > MaxID {
		next = 1
	}
	for used[next] || retired.Has(next) {
		next = retired.after(next)
	}
	return next
}
