package comms

import (
	"cmp"
	"strings"
)

const ruleAfter = "comms/after"

// maxAfter bounds the directives that one waits for: a longer list belongs in a plan.
const maxAfter = 32

// maxPriority bounds `- priority: N` on both sides.
const maxPriority = 1000

// Compare orders directives by precedence: higher priority first, then the older one (MANY-1).
func Compare(a, b Directive) int {
	return cmp.Or(cmp.Compare(b.Options.Priority, a.Options.Priority), cmp.Compare(a.ID, b.ID))
}

// Waits lists the directives that d still waits for by its `- after:` (MANY-1): those that are not
// closed, in the order of the line. Any report that closes a directive ends the wait, a drop included.
// A name that is not listed is also waited for; Parse reports it. A closed d waits for nothing.
func (doc *Document) Waits(d Directive) []string { return doc.waiting()(d) }

// waiting returns Waits for many calls, and computes the states once.
func (doc *Document) waiting() func(Directive) []string {
	states := doc.states()
	closed := make(map[string]bool, len(doc.Directives))
	for _, d := range doc.Directives {
		if states.of(d) == Closed {
			closed[d.Name()] = true
		}
	}
	return func(d Directive) []string {
		if states.of(d) == Closed {
			return nil
		}
		var list []string
		for _, name := range d.Options.After {
			if !closed[name] {
				list = append(list, name)
			}
		}
		return list
	}
}

// checkAfter reports a directive that would wait for ever: for one that is not listed, or in a cycle.
// Closed directives wait for nothing.
func (doc *Document) checkAfter(f *findings) {
	states := doc.states()
	listed := make(map[string]bool, len(doc.Directives))
	for _, d := range doc.Directives {
		listed[d.Name()] = true
	}
	for _, d := range doc.Directives {
		if len(d.Options.After) == 0 || f.full() || states.of(d) == Closed {
			continue
		}
		for _, name := range d.Options.After {
			if !listed[name] {
				line, col := d.after(name)
				f.add(line, col, ruleAfter, "write the id of a directive that is listed, or take it out; one that is waited for stays in the list until "+d.Name()+" is closed",
					"%s waits for %s, which is not listed", d.Name(), name)
			}
		}
	}
	for _, circle := range doc.circles(states) {
		doc.addCircle(f, circle)
	}
}

// after returns the line and column, from 1, of a name in a directive's `- after:`. It is called only
// for findings.
func (d Directive) after(name string) (lineNum, col int) {
	for l := range lines(d.Raw, 0, len(d.Raw), d.Line) {
		it, ok := parseItem(l.text)
		if !ok || it.indent != 0 || it.box != notBox || !strings.HasPrefix(it.text, keyAfter+":") {
			continue
		}
		value := it.text[len(keyAfter)+1:]
		for offset, s := range items(value) {
			if s == name {
				return l.num, it.col + len(keyAfter) + 1 + offset
			}
		}
	}
	return d.Line, 0
}
