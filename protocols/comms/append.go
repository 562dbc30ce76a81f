package comms

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Shorten is the hint for a full document. Reports on listed directives must stay, because without them
// the directives would start again.
const Shorten = "take the directives out of COMMS.md that you have taken or dropped, with their reports: their work and their records stay"

// ErrFull means that the document has no room for the entry.
var ErrFull = errors.New("COMMS.md has no room for it")

// ErrUnsound means that the document cannot be changed, because a section is missing, repeated
// or out of order. Parse says where.
var ErrUnsound = errors.New("COMMS.md has no sound ## Directives and ## Reports; git ward lint says why")

// NewReport is a report without its id. Amend appends it after the last report, with the next
// id (COMMS-4). A missing LF at the end is added.
//
// The text may come from a model or a program: lines that would be headings or
// conflict markers are indented by four spaces, CRLF and CR become LF, invalid
// UTF-8 becomes U+FFFD, characters that Parse refuses become escapes like \x1b,
// a text that Markdown would render differently is indented as a whole (see asText),
// and a text over MaxReportBytes is cut, with a line that says so.
type NewReport struct {
	Time          time.Time // cut to seconds, UTC
	Directive     string    // "D-1", or "-" for none
	Status        Status
	Text          string // any bytes
	DirectiveHash string // Directive.Hash of the directive that it answers, or ""
	// Dropped marks a report by which the PM drops the directive (REC-3). It is the newest commit
	// of its work, or "-" if there is none; "" in every other report.
	Dropped string
}

// NewQuestion is a question without its id. Amend appends it below `## Questions`, which it adds if
// missing, at the end of the document. Otherwise it is like NewReport.
type NewQuestion struct {
	Time      time.Time // cut to seconds, UTC
	Directive string    // "D-1", or "-" for none
	Text      string    // any bytes
}

// space is the size limit of an entry, in bytes, and the line that marks a cut.
type space struct {
	most int
	cut  string
}

func (r NewReport) append(data []byte, room space) (out []byte, id int, err error) {
	if !r.Status.Valid() {
		return nil, 0, fmt.Errorf("%s is not a status of a report", quote(string(r.Status)))
	}
	if r.DirectiveHash != "" && !validHash(r.DirectiveHash) {
		return nil, 0, fmt.Errorf("%s is not the hash of a directive", quote(r.DirectiveHash))
	}
	tail := " " + string(r.Status) + "\n"
	if r.DirectiveHash != "" {
		tail += "Directive: " + r.DirectiveHash + "\n"
	}
	if r.Dropped != "" {
		tail += droppedKey + r.Dropped + "\n"
	}
	return appendEntry(data, reports, r.Time, r.Directive, tail, r.Text, room)
}

func (q NewQuestion) append(data []byte, room space) (out []byte, id int, err error) {
	return appendEntry(data, questions, q.Time, q.Directive, "\n", q.Text, room)
}

// appendEntry adds an entry after the last one of part p. tail is the text between the directive in its
// heading and its body.
func appendEntry(data []byte, p part, t time.Time, directive, tail, text string, room space) ([]byte, int, error) {
	if !validReference(directive) {
		return nil, 0, fmt.Errorf("%s is neither a directive nor -", quote(directive))
	}
	t = t.UTC()
	if t.IsZero() || t.Year() < 1 || t.Year() > 9999 {
		return nil, 0, fmt.Errorf("an entry of %s needs its time", headings[p])
	}
	doc, err := parseSound(data)
	if err != nil {
		return nil, 0, err
	}
	s := doc.layout.parts[p]
	id := nextID(s.entries)
	if id > MaxID {
		return nil, 0, fmt.Errorf("%s has no id left", headings[p])
	}
	head := fmt.Sprintf("### %s %s %s%s", name(letters[p], id), t.Format(timeLayout), directive, tail)
	body := fitted(text, room.most-len(head)-2, room.cut)
	if strings.Count(head, "\n") > 1 && strings.HasPrefix(body, codeIndent) {
		head += "\n" // otherwise the text would continue the paragraph above
	}
	return insert(data, p, s, head+body), id, nil
}

// parseSound parses a document in order to change it.
func parseSound(data []byte) (*Document, error) {
	if len(data) > MaxBytes {
		return nil, ErrFull
	}
	doc, _ := Parse(data)
	if !doc.layout.sound {
		return nil, ErrUnsound
	}
	return doc, nil
}

// insert adds an entry at the end of section s of data, with one blank line before it and, if a section
// follows, one after it.
func insert(data []byte, p part, s section, entry string) []byte {
	at := s.end
	if s.line == 0 { // only Questions, the last section, may be missing
		at = len(data)
		entry = headings[p] + "\n\n" + entry
	}
	var b strings.Builder
	b.Write(data[:at])
	b.WriteString(gap(string(data[:at])))
	b.WriteString(strings.TrimRight(entry, "\n"))
	b.WriteByte('\n')
	if at < len(data) {
		b.WriteByte('\n')
		b.Write(data[at:])
	}
	return []byte(b.String())
}

// gap returns the newlines after which a text ends with a blank line.
func gap(before string) string {
	last := strings.TrimSuffix(before, "\n")
	if last == before {
		return "\n\n"
	}
	if isBlank(last[strings.LastIndexByte(last, '\n')+1:]) {
		return ""
	}
	return "\n"
}
