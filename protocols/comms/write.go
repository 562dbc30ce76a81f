package comms

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"git-ward/internal/diag"
)

// Scissors is the line below which an edited text is ignored, as in git (git-commit(1),
// --cleanup).
const Scissors = "# ------------------------ >8 ------------------------"

// AboveScissors returns what a person wrote in an editor above Scissors, with LF line ends and
// without blank lines around it.
func AboveScissors(text string) string {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	if i := strings.Index("\n"+text, "\n"+Scissors); i >= 0 {
		text = text[:i]
	}
	return trimBlankLines(text)
}

// Draft is a directive as a PM writes it in an editor: the title in the first line, with
// or without the heading `### D-1: ` before it, and the directive below.
type Draft struct {
	ID    int    // 0: none was written
	Title string // one line
	Body  string // blank lines around it trimmed, LF line ends
}

// ErrNoText means that a draft is empty.
var ErrNoText = errors.New("the text is empty")

// ParseDraft reads what a PM wrote, above Scissors. Errors: ErrNoText, or a first line
// that is a heading of another form.
func ParseDraft(text string) (Draft, error) {
	text = AboveScissors(text)
	if text == "" {
		return Draft{}, ErrNoText
	}
	first, body, _ := strings.Cut(text, "\n")
	d := Draft{Title: strings.TrimSpace(first), Body: trimBlankLines(body)}
	if level(first) == 0 {
		return d, nil
	}
	id, title, ok := strings.Cut(strings.TrimPrefix(first, "### "), ": ")
	if d.ID, d.Title = parseName(id, 'D'), strings.TrimSpace(title); !ok || d.ID == 0 || d.Title == "" {
		return d, fmt.Errorf(`%s: the first line is the title, or "### D-<n>: <title>"`, quote(first))
	}
	return d, nil
}

// Draft returns the directive as a draft.
func (d Directive) Draft() Draft {
	_, body, _ := strings.Cut(d.Raw, "\n")
	return Draft{d.ID, d.Title.Raw(), trimBlankLines(body)}
}

// Text is the draft for an editor; it is what ParseDraft reads.
func (d Draft) Text() string {
	head := d.Title
	if d.ID != 0 {
		head = "### " + name('D', d.ID) + ": " + d.Title
	}
	if d.Body == "" {
		return head + "\n"
	}
	return head + "\n\n" + d.Body + "\n"
}

// Addition appends a directive after the last one, under the draft's id or else the next free one.
// Retired has the ids of removed directives, which are never reused. Amended.Found has the findings in
// the directive; if there are errors among them, Amended.Data is nil.
type Addition struct {
	Draft   Draft
	Retired Set
}

func (c Addition) amend(data []byte, _ Room) (Amended, error) {
	draft, retired := c.Draft, c.Retired
	doc, err := parseSound(data)
	if err != nil {
		return Amended{}, err
	}
	free := freeDirective(retired, doc)
	draft.ID = cmp.Or(draft.ID, free)
	if doc.Directive(name('D', draft.ID)) != nil {
		var f findings
		f.add(1, 5, ruleDuplicateID, "give it the next free id, "+name('D', free)+", or none", "%s is there already", name('D', draft.ID))
		return Amended{ID: draft.ID, Found: f}, nil
	}
	out := insert(data, directives, doc.layout.parts[directives], draft.Text())
	return doc.changed(data, out, draft, retired)
}

// Edit replaces the directive of the draft's id, which must exist. Otherwise it is like
// Addition.
type Edit struct{ Draft Draft }

func (c Edit) amend(data []byte, _ Room) (Amended, error) {
	draft := c.Draft
	doc, err := parseSound(data)
	if err != nil {
		return Amended{}, err
	}
	for _, e := range doc.layout.parts[directives].entries {
		if e.id != draft.ID {
			continue
		}
		end := e.start + len(doc.layout.raw(e))
		out := append(append(append([]byte{}, data[:e.start]...), draft.Text()...), data[min(end, len(data)):]...)
		return doc.changed(data, out, draft, Set{})
	}
	return Amended{}, fmt.Errorf("COMMS.md has no %s", name('D', draft.ID))
}

// changed parses a document with a new draft and returns its findings.
func (doc *Document) changed(old, out []byte, draft Draft, retired Set) (Amended, error) {
	a := Amended{ID: draft.ID}
	if len(out) > MaxBytes { // what is longer is not parsed
		return a, ErrFull
	}
	after, found := Parse(out)
	found = append(found, CheckUpdate(old, out, retired)...)
	d := after.Directive(name('D', draft.ID))
	if d == nil {
		return a, fmt.Errorf("%s cannot be read in its place: %w", name('D', draft.ID), ErrUnsound)
	}
	lines := strings.Count(draft.Text(), "\n")
	list := draft.headings()
	for _, f := range append(found, after.circlesOf(draft.ID)...) {
		if f.Pos.Line >= d.Line && f.Pos.Line < d.Line+lines {
			f.Pos.Line -= d.Line - 1
			list = append(list, f)
		}
	}
	if a.Found = diag.Normalize(list); !diag.HasErrors(a.Found) {
		a.Data = out
	}
	return a, nil
}

// headings reports the lines of a draft that would begin another entry or section. Parse would not
// always, because the document with them may be valid.
func (d Draft) headings() []diag.Diagnostic {
	var f findings
	n := 0
	for line := range strings.Lines(d.Text()) {
		if n++; n > 1 && level(line) > 0 {
			f.add(n, 1, ruleStructure, indentHint, "a heading ends the directive here")
		}
	}
	return f
}
