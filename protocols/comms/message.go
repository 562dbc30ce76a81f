package comms

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"git-ward/internal/diag"
	"git-ward/protocols/jsondoc"
)

// Message is a report or question for COMMS.md (MANY-2). The agent writes it to its unit's record, where
// nobody else writes. The host folds it into the document, and gives it an id then.
type Message struct {
	Version   int    `json:"version"`
	Kind      Kind   `json:"kind"`
	Time      string `json:"time"` // RFC 3339, UTC, whole seconds
	Directive string `json:"directive"`
	Status    Status `json:"status,omitempty"`         // of a report
	Hash      string `json:"directive_hash,omitempty"` // of a report: Directive.Hash of the directive that it answers
	Text      string `json:"text"`                     // for the document
}

// Kind is what a message becomes.
type Kind string

// The kinds.
const (
	KindReport   Kind = "report"
	KindQuestion Kind = "question"
)

const (
	// MaxMessageBytes bounds a message as a file: its text is at most MaxReportBytes, and
	// JSON may double that.
	MaxMessageBytes = 48 << 10
	messageVersion  = 1
	// messageHead is room for the lines above a message's text in an entry.
	messageHead = 256
)

// Message returns the report as a message. It is an error if Amend would refuse a field, or if Dropped
// is set, because only people drop directives.
func (r NewReport) Message() (Message, error) {
	if r.Dropped != "" {
		return Message{}, errors.New("only people drop a directive")
	}
	m := Message{messageVersion, KindReport, r.Time.UTC().Format(timeLayout), r.Directive, r.Status, r.DirectiveHash, cleanText(r.Text, MaxReportBytes-messageHead)}
	return m, m.check()
}

// Message returns the question as a message. It is an error if Amend would refuse a field.
func (q NewQuestion) Message() (Message, error) {
	m := Message{Version: messageVersion, Kind: KindQuestion, Time: q.Time.UTC().Format(timeLayout), Directive: q.Directive, Text: cleanText(q.Text, MaxQuestionBytes-messageHead)}
	return m, m.check()
}

// ParseMessage parses a message strictly: it must be byte for byte what Format writes, so that nothing
// in it is cleaned, cut or dropped when it is folded.
func ParseMessage(data []byte) (Message, error) {
	var m Message
	if len(data) > MaxMessageBytes {
		return m, fmt.Errorf("%d bytes are more than %d", len(data), MaxMessageBytes)
	}
	if fault, ok := jsondoc.Decode(data, &m, "message", 1); !ok {
		return Message{}, errors.New(diag.Clean(fault.Message))
	}
	if err := m.check(); err != nil {
		return Message{}, err
	}
	if again, err := m.Format(); err != nil || !bytes.Equal(again, data) {
		return Message{}, errors.New("it is not written as Ward writes it: one line of JSON, members in order")
	}
	return m, nil
}

// Format writes the message: one line of JSON.
func (m Message) Format() ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	data, err := json.Marshal(m)
	return append(data, '\n'), err
}

func (m Message) check() error {
	switch {
	case m.Version != messageVersion:
		return fmt.Errorf("version %d is not %d, the one that is known here", m.Version, messageVersion)
	case m.Kind != KindReport && m.Kind != KindQuestion:
		return fmt.Errorf("the kind %s is neither report nor question", quote(string(m.Kind)))
	case m.Kind == KindQuestion && m.Status+Status(m.Hash) != "":
		return errors.New("a question has neither status nor directive_hash")
	case parseName(m.Directive, 'D') == 0:
		return fmt.Errorf("%s is not a directive, such as D-3", quote(m.Directive))
	case m.Text != cleanText(m.Text, MaxReportBytes-messageHead):
		return errors.New("the text is not allowed in COMMS.md: it is too long, or has headings, characters that nobody sees or blank lines around it")
	}
	if t, err := time.Parse(timeLayout, m.Time); err != nil || t.Format(timeLayout) != m.Time || t.Year() < 1 {
		return fmt.Errorf("the time %s is not like 2026-11-21T09:00:00Z", quote(m.Time))
	}
	entry, err := m.entry()
	if err != nil {
		return err
	}
	if entry.report.Dropped() {
		return errors.New("only people drop a directive")
	}
	if m.Status.watchers() {
		return fmt.Errorf("%s is the watcher's word, who writes it into COMMS.md itself", m.Status)
	}
	return nil
}

// When returns the message's time, by its author's clock.
func (m Message) When() time.Time {
	t, _ := time.Parse(timeLayout, m.Time)
	return t
}

// rendered is the entry that a message becomes.
type rendered struct {
	report   Report
	question Question
}

// entry renders a message as Parse would read it from the document, except for id and line.
func (m Message) entry() (r rendered, err error) {
	a, err := Amend([]byte(Empty), m, Whole)
	if err != nil {
		return r, err
	}
	doc, found := Parse(a.Data)
	if diag.HasErrors(found) || len(doc.Reports)+len(doc.Questions) != 1 {
		return r, errors.New("it cannot stand in COMMS.md")
	}
	if m.Kind == KindQuestion {
		r.question = doc.Questions[0]
	} else {
		r.report = doc.Reports[0]
	}
	return r, nil
}

// Report returns the report that a message becomes, without its id; ok is false for a question.
func (m Message) Report() (r Report, ok bool) {
	entry, err := m.entry()
	return entry.report, err == nil && m.Kind == KindReport
}

// Has reports whether the document has the message's entry, under any id, whole or cut by Share. So a
// message that is folded twice appears once.
func (doc *Document) Has(m Message, where string) bool {
	entry, err := m.entry()
	if err != nil {
		return false
	}
	_, want, _ := strings.Cut(entry.report.Raw+entry.question.Raw, "\n")
	same := func(at time.Time, directive, raw string) bool {
		_, text, _ := strings.Cut(raw, "\n")
		return at.Equal(m.When()) && directive == m.Directive &&
			(text == want || where != "" && strings.HasSuffix(strings.TrimRight(text, "\n"), strings.TrimPrefix(cutLine(directive, where), "\n")))
	}
	if m.Kind == KindQuestion {
		return slices.ContainsFunc(doc.Questions, func(q Question) bool { return same(q.Time, q.Directive, q.Raw) })
	}
	return slices.ContainsFunc(doc.Reports, func(r Report) bool {
		return r.Status == m.Status && same(r.Time, r.Directive, r.Raw)
	})
}

// Is reports whether old, a question in a document, is the entry of q, which may have been indented and
// cut.
func (q NewQuestion) Is(old Question) bool {
	m, err := q.Message()
	return err == nil && old.Directive == q.Directive && asText(m.Text) == asText(trimBlankLines(old.Text))
}

// WithIncident adds a line to a report's text that names an incident. A document has at most one report
// of an incident.
func WithIncident(text, incident string) string {
	return strings.TrimRight(text, "\n") + "\n\n" + incidentLine(incident) + "\n"
}

// HasIncident reports whether the document has a report of the same incident on the same directive. An
// agent can write such a line into its own reports, so reports by the watcher and by others are never
// compared with each other.
func (doc *Document) HasIncident(of NewReport, incident string) bool {
	return slices.ContainsFunc(doc.Reports, func(r Report) bool {
		return r.Directive == of.Directive && r.Status.watchers() == of.Status.watchers() && r.HasLine(incidentLine(incident))
	})
}

func incidentLine(incident string) string { return "Incident: " + diag.Clean(incident) }

// HasLine reports whether the report has exactly this line, indented or not.
func (r Report) HasLine(want string) bool {
	for line := range strings.SplitSeq(r.Raw, "\n") {
		if strings.TrimPrefix(line, codeIndent) == want {
			return true
		}
	}
	return false
}
