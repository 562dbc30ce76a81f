package comms

import (
	"strings"
	"time"

	"git-ward/internal/diag"
)

// Path is the file that this package is about; every finding names it.
const Path = "COMMS.md"

// The limits of COMMS-1, and the bounds that keep this package's memory small.
const (
	MaxBytes       = 256 << 10   // of the document
	MaxReportBytes = 16 << 10    // of a report or question, Raw
	MaxID          = 999_999_999 // of a directive, report or question
	MaxFindings    = 1000        // from one Parse; more are not collected
)

// timeLayout is RFC 3339 in UTC, whole seconds.
const timeLayout = "2006-01-02T15:04:05Z"

// Document is the parsed COMMS.md, without entries whose id cannot be parsed. Entries keep the order of
// the file.
type Document struct {
	Directives []Directive
	Reports    []Report
	Questions  []Question

	layout layout
}

// Directive is one instruction of the PM: `### D-1: title` and what follows.
type Directive struct {
	ID       int
	Title    diag.Untrusted
	Goal     string      // everything but criteria and options, blank lines around it trimmed
	Criteria []Criterion // in the order of the file
	Options  Options
	Line     int    // of the heading, from 1
	Raw      string // exact bytes from the heading through the last non-blank line, LF ended
}

// Name is the directive's id as people and reports write it: "D-1".
func (d Directive) Name() string { return name('D', d.ID) }

// Directive returns the directive with a name, nil if there is none.
func (d *Document) Directive(name string) *Directive {
	for i := range d.Directives {
		if d.Directives[i].Name() == name {
			return &d.Directives[i]
		}
	}
	return nil
}

// Criterion is one acceptance criterion (COMMS-2).
type Criterion struct {
	Text    string // all of it, the command included
	Command string // "" if the Skeptic's evidence decides
	Line    int    // from 1
}

// Report is one entry of the agent, the watcher or the host.
type Report struct {
	ID        int
	Time      time.Time // UTC; zero when it could not be read
	Directive string    // "D-1", or "-" for none; "" when it could not be read
	Status    Status    // "" when it is not one of Statuses
	Text      string    // below the heading, blank lines around it trimmed
	Line      int       // of the heading, from 1
	Raw       string    // as Directive.Raw
}

// Name is the report's id as people write it: "R-1".
func (r Report) Name() string { return name('R', r.ID) }

// Said returns the report's text for a person, without the line with the directive's hash and without
// the indentation for Markdown.
func (r Report) Said() string {
	text := r.Text
	if first, rest, _ := strings.Cut(text, "\n"); strings.HasPrefix(first, "Directive: ") {
		text = strings.TrimLeft(rest, "\n")
	}
	return Unlaid(text)
}

// Question is one question or suggestion of the agent.
type Question struct {
	ID        int
	Time      time.Time // as Report.Time
	Directive string    // as Report.Directive
	Text      string    // as Report.Text
	Line      int       // of the heading, from 1
	Raw       string    // as Directive.Raw
}

// Name is the question's id as people write it: "Q-1".
func (q Question) Name() string { return name('Q', q.ID) }
