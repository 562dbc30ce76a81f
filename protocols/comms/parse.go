package comms

import "git-ward/internal/diag"

// Parse reads COMMS.md and returns what it holds and all that is wrong with it (COMMS-1,
// COMMS-2), sorted by place, in time linear in the size. The document is never nil; with
// errors it holds what could be read. A file over MaxBytes is one finding, comms/size, and is
// not read.
func Parse(data []byte) (*Document, []diag.Diagnostic) {
	doc, f := &Document{}, &findings{}
	if len(data) > MaxBytes {
		f.add(0, 0, ruleSize, "delete old entries from the top of ## Reports; git keeps them in its history",
			"COMMS.md has %d bytes; at most %d are allowed", len(data), MaxBytes)
		return doc, *f
	}
	f.checkLines(string(data))
	doc.layout = split(string(data), f)
	doc.readEntries(f)
	doc.checkIDs(f)
	doc.checkAfter(f)
	doc.warn(f)
	return doc, diag.Normalize(*f)
}

// read is Parse for a document that is about to be made smaller.
func read(data []byte) *Document {
	doc := &Document{layout: split(string(data), &findings{})}
	doc.readEntries(&findings{})
	return doc
}

// checkLines checks each line by itself. CRLF is one finding for the file, because an editor makes this
// mistake on every line.
func (f *findings) checkLines(src string) {
	crlf := false
	for l := range lines(src, 0, len(src), 1) {
		f.checkText(l)
		if l.crlf && !crlf {
			crlf = true
			f.add(l.num, len(l.text)+1, ruleCRLF,
				"git config core.autocrlf input && git add --renormalize COMMS.md, then amend the commit",
				"the file has CRLF line ends; it must have LF")
		}
	}
}

// readEntries fills the document from its layout.
func (doc *Document) readEntries(f *findings) {
	for p := directives; p < numParts; p++ {
		entries := doc.layout.parts[p].entries
		for i := range entries {
			doc.readEntry(p, &entries[i], f)
		}
	}
}

func (doc *Document) readEntry(p part, e *entry, f *findings) {
	raw := doc.layout.raw(*e)
	r := newEntryReader(raw, e.line, f)
	switch p {
	case directives:
		if d, ok := r.directive(); ok {
			e.id = d.ID
			doc.Directives = append(doc.Directives, d)
		}
	case reports:
		if rep, ok := r.report(); ok {
			e.id = rep.ID
			doc.Reports = append(doc.Reports, rep)
		}
		r.checkSize("report", ruleReportSize)
	case questions:
		if q, ok := r.question(); ok {
			e.id = q.ID
			doc.Questions = append(doc.Questions, q)
		}
		r.checkSize("question", ruleQuestionSize)
	}
}

// checkIDs asks for unique directive ids and for strictly increasing ids of
// reports and questions.
func (doc *Document) checkIDs(f *findings) {
	seen := make(map[int]int, len(doc.Directives))
	next := freeDirective(Set{}, doc)
	for _, d := range doc.Directives {
		if first := seen[d.ID]; first != 0 {
			f.add(d.Line, 5, ruleDuplicateID, "give it the next free id, "+name('D', next),
				"%s stands in line %d already", d.Name(), first)
			continue
		}
		seen[d.ID] = d.Line
	}
	doc.checkOrder(f, reports, ruleReportOrder)
	doc.checkOrder(f, questions, ruleQuestionOrder)
}

func (doc *Document) checkOrder(f *findings, p part, rule string) {
	entries := doc.layout.parts[p].entries
	next := nextID(entries)
	last := 0
	for _, e := range entries {
		if e.id != 0 && e.id <= last {
			f.add(e.line, 5, rule, "ids only grow: move the entry to the end as "+name(letters[p], next),
				"%s stands below %s", name(letters[p], e.id), name(letters[p], last))
		}
		last = max(last, e.id)
	}
}

// warn adds warnings about directives that are valid but probably a mistake. It skips closed ones.
func (doc *Document) warn(f *findings) {
	states := doc.states()
	for _, d := range doc.Directives {
		if states.of(d) == Closed {
			continue
		}
		if len(d.Criteria) == 0 {
			f.warn(d.Line, ruleNoCriterion, "add a line like \""+ExampleCriterion+"\"; without one the agent will only ask",
				"%s has no acceptance criterion", d.Name())
		}
		if d.Options.Residual == "" && d.Options.declares(Converged) {
			f.warn(d.Line, ruleNoResidual, "add a line like \"- residual: `scripts/failing-fraction`\", a command that prints a decimal number",
				"%s declares CONVERGED and has no residual to measure it by", d.Name())
		}
	}
}

// nextID is one more than the largest id among entries.
func nextID(entries []entry) int {
	last := 0
	for _, e := range entries {
		last = max(last, e.id)
	}
	return last + 1
}
