package comms

import (
	"iter"
	"strings"
	"time"

	"git-ward/internal/diag"
)

// entryReader parses one `### ` entry.
type entryReader struct {
	raw  string
	num  int  // line of the heading
	head line // the heading
	f    *findings
}

func newEntryReader(raw string, num int, f *findings) *entryReader {
	r := &entryReader{raw: raw, num: num, f: f}
	for l := range lines(raw, 0, len(raw), num) {
		r.head = l
		break
	}
	return r
}

// body yields the lines below the heading.
func (r *entryReader) body() iter.Seq[line] {
	return lines(r.raw, r.bodyStart(), len(r.raw), r.num+1)
}

func (r *entryReader) bodyStart() int { return min(r.head.end+1, len(r.raw)) }

func (r *entryReader) text() string { return trimBlankLines(r.raw[r.bodyStart():]) }

func (r *entryReader) checkSize(what, rule string) {
	if len(r.raw) > MaxReportBytes {
		r.f.add(r.num, 0, rule, "keep the summary, and commit the rest as a file that it names",
			"the %s has %d bytes; at most %d are allowed", what, len(r.raw), MaxReportBytes)
	}
}

// directive parses `### D-1: title` and the body; it returns false if the id is malformed.
func (r *entryReader) directive() (Directive, bool) {
	d := Directive{Line: r.num, Raw: r.raw}
	id, title, ok := strings.Cut(strings.TrimPrefix(r.head.text, "### "), ": ")
	d.Title = diag.Untrusted(strings.TrimSpace(title))
	d.ID = parseName(id, 'D')
	if !ok || d.ID == 0 || d.Title == "" {
		r.badHead(directives, r.head.text, 1)
	}
	if d.ID == 0 {
		// The most common mistakes: no title, no space, a space instead of the colon.
		d.ID = leadingID(r.head.text)
	}
	readBody(r, &d)
	return d, d.ID != 0
}

// report parses `### R-1 <time> <D-n or -> <STATUS>`; it returns false if the id is malformed.
func (r *entryReader) report() (Report, bool) {
	rep := Report{Line: r.num, Raw: r.raw, Text: r.text()}
	words := r.words(reports, 4)
	rep.ID = r.id(reports, words)
	rep.Time = r.time(reports, words)
	rep.Directive = r.reference(reports, words)
	if len(words) > 3 {
		rep.Status = r.status(words[3])
	}
	return rep, rep.ID != 0
}

// question parses `### Q-1 <time> <D-n or ->`; it returns false if the id is malformed.
func (r *entryReader) question() (Question, bool) {
	q := Question{Line: r.num, Raw: r.raw, Text: r.text()}
	words := r.words(questions, 3)
	q.ID = r.id(questions, words)
	q.Time = r.time(questions, words)
	q.Directive = r.reference(questions, words)
	return q, q.ID != 0
}

// word is one word of a heading and its column.
type word struct {
	text string
	col  int
}

// words splits a heading at blanks. It is a finding if there are not exactly want words.
func (r *entryReader) words(p part, want int) []word {
	s := r.head.text
	if !strings.HasPrefix(s, "### ") {
		r.badHead(p, s, 1)
	}
	var ws []word
	for i := 3; i < len(s); {
		if s[i] == ' ' || s[i] == '\t' {
			i++
			continue
		}
		n := strings.IndexAny(s[i:], " \t")
		if n < 0 {
			n = len(s) - i
		}
		if len(ws) == want {
			r.badHead(p, s[i:], i+1)
			return ws
		}
		ws = append(ws, word{s[i : i+n], i + 1})
		i += n
	}
	if len(ws) < want {
		r.badHead(p, s, 1)
	}
	return ws
}

func (r *entryReader) badHead(p part, what string, col int) {
	r.f.add(r.num, col, headRules[p], `the form is "`+forms[p]+`", without leading zeros; `+indentHint,
		"%s does not fit an entry of %s", quote(what), headings[p])
}

func (r *entryReader) id(p part, ws []word) int {
	if len(ws) < 1 {
		return 0
	}
	id := parseName(ws[0].text, letters[p])
	if id == 0 {
		r.badHead(p, ws[0].text, ws[0].col)
	}
	return id
}

func (r *entryReader) time(p part, ws []word) time.Time {
	if len(ws) < 2 {
		return time.Time{}
	}
	t, err := time.Parse(timeLayout, ws[1].text)
	// time.Parse also accepts fractions and one-digit hours.
	if err != nil || t.Format(timeLayout) != ws[1].text {
		r.badHead(p, ws[1].text, ws[1].col)
		return time.Time{}
	}
	return t
}

func (r *entryReader) reference(p part, ws []word) string {
	if len(ws) < 3 {
		return ""
	}
	if !validReference(ws[2].text) {
		r.badHead(p, ws[2].text, ws[2].col)
		return ""
	}
	return ws[2].text
}

func (r *entryReader) status(w word) Status {
	if s := Status(w.text); s.Valid() {
		return s
	}
	r.f.add(r.num, w.col, ruleStatus, nearestHint(w.text, names(statuses)), "%s is not a status", quote(w.text))
	return ""
}
