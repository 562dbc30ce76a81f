// Package live is the format of progress events: one event a line, from a worker to whoever
// watches (SEE-1). Events are for people; nothing is decided by them, and the agent's events
// are only its word.
package live

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"git-ward/internal/diag"
	"git-ward/internal/pattern"
)

// Prefix begins a line of the agent's output that holds an event.
const Prefix = "ward-live "

const (
	// MaxText bounds an event's text and MaxName its role's and tool's, in bytes.
	MaxText = 2 << 10
	MaxName = 64
	// MaxLine bounds a line with its prefix and its end, in bytes: what a pipe takes at
	// once, so that lines of several writers stay whole (pipe(7), PIPE_BUF).
	MaxLine = 4 << 10
)

// version is of the form of events.
const version = 1

// Host is the role of the host's own events. Nobody else may use it.
const Host = "host"

// Kind is the kind of an event.
type Kind string

// The kinds of an agent's events.
const (
	Told     Kind = "told"     // what was told to who works
	Said     Kind = "said"     // its words, a piece of them
	Called   Kind = "called"   // a use of a tool begins
	Answered Kind = "answered" // it ended
	Failed   Kind = "failed"   // it ended, and failed
	Step     Kind = "step"     // a step of a plan
	State    Kind = "state"    // a machine has entered a state
	Tokens   Kind = "tokens"   // what the iteration has used so far, as who works counts it
	Waits    Kind = "waits"    // who works only waits, for a word or a pause, and ends if neither comes
	Beat     Kind = "beat"     // who works lives; nothing else is new
)

// The kinds of the host's events.
const (
	Verdict Kind = "verdict" // how far a verdict is
	Gateway Kind = "gateway" // what the directive has used so far, or what its provider fails
	Ended   Kind = "ended"   // what worked has ended, and how
	LeftOut Kind = "leftout" // events were left out, and why
)

// agents are the kinds that an agent may tell, and hosts the others.
var (
	agents = map[Kind]bool{Told: true, Said: true, Called: true, Answered: true, Failed: true, Step: true, State: true, Tokens: true, Waits: true, Beat: true}
	hosts  = map[Kind]bool{Verdict: true, Gateway: true, Ended: true, LeftOut: true}
)

// Event is one progress event. All of its text is cleaned; an agent's event is still only its
// word.
type Event struct {
	V         int       `json:"v"`
	Time      time.Time `json:"time"`
	Unit      string    `json:"unit"`               // "D-1.1"; "D-1" where there is no unit
	Iteration int64     `json:"iteration,omitzero"` // from 1; 0: none
	Role      string    `json:"role,omitempty"`     // who works, such as "Solver", or Host
	Kind      Kind      `json:"kind"`
	Tool      string    `json:"tool,omitempty"`
	Text      string    `json:"text,omitempty"` // may have several lines
	Input     int64     `json:"input,omitzero"` // tokens
	Output    int64     `json:"output,omitzero"`
	Money     string    `json:"money,omitempty"` // decimal text of dollars; of the host's events alone
}

// unit is the name of a unit, or of a directive.
var unit = pattern.New(`^(D-[1-9][0-9]{0,8})(\.[1-9][0-9]{0,8})?$`)

// Directive is the directive that an event is about, "" if its unit is malformed.
func (e Event) Directive() string {
	if m := unit.FindStringSubmatch(e.Unit); m != nil {
		return m[1]
	}
	return ""
}

// Line is the event as one line with its line end and without the prefix, cleaned and cut to
// the limit.
func (e Event) Line() []byte {
	e.V, e.Time = version, e.Time.UTC().Truncate(time.Millisecond)
	e.Role, e.Tool = name(e.Role), name(e.Tool)
	e.Text = strings.TrimSpace(diag.CleanLines(strings.ToValidUTF8(e.Text, "")))
	if len(e.Text) > MaxText {
		e.Text = diag.Cut(e.Text, MaxText-len("..."))
	}
	for {
		line, err := json.Marshal(e) // of texts and numbers: fails for what is no UTF-8 alone
		if err != nil {
			e.Role, e.Tool, e.Text = "", "", "" // which was made valid above
			continue
		}
		over := len(Prefix) + len(line) + 1 - MaxLine
		if over <= 0 || e.Text == "" {
			return append(line, '\n')
		}
		e.Text = diag.Cut(e.Text, max(0, len(e.Text)-over-len("...")))
		if e.Text == "..." {
			e.Text = ""
		}
	}
}

// name is a short text on one line.
func name(text string) string {
	text = strings.TrimSpace(diag.Clean(strings.ToValidUTF8(text, "")))
	if len(text) > MaxName {
		text = diag.Cut(text, MaxName-len("..."))
	}
	return text
}

// maxNumber bounds the numbers of an event: what any sum of them still holds.
const maxNumber = 1 << 52

// Parse reads a line without its prefix. It accepts only what Line would write, except that
// unclean text is cleaned.
func Parse(line []byte) (e Event, err error) {
	if line = bytes.TrimSuffix(line, []byte("\n")); len(line) > MaxLine {
		return e, fmt.Errorf("a line of %d bytes", len(line))
	}
	if err := json.Unmarshal(line, &e, json.RejectUnknownMembers(true)); err != nil {
		return Event{}, fmt.Errorf("no event: %w", err)
	}
	if err := e.check(); err != nil {
		return Event{}, err
	}
	e.Role, e.Tool, e.Text = name(e.Role), name(e.Tool), diag.CleanLines(e.Text)
	if hosts[e.Kind] != strings.EqualFold(e.Role, Host) { // cleaned it may be the host's that was not
		return Event{}, errors.New("the role is not the kind's")
	}
	return e, nil
}

// FromAgent is Parse for a line of an agent's, and refuses the host's kinds.
func FromAgent(line []byte) (Event, error) {
	e, err := Parse(line)
	if err == nil && !agents[e.Kind] {
		err = errors.New("only the host tells that")
	}
	if err != nil {
		return Event{}, err
	}
	return e, nil
}

var money = pattern.New(`^[0-9]{1,10}(\.[0-9]{1,12})?$`)

func (e *Event) check() error {
	switch {
	case e.V != version:
		return fmt.Errorf("version %d is not %d", e.V, version)
	case !unit.MatchString(e.Unit):
		return errors.New("no unit's name")
	case !agents[e.Kind] && !hosts[e.Kind]:
		return errors.New("no such kind")
	case hosts[e.Kind] != (e.Role == Host):
		return errors.New("the role is not the kind's")
	case e.Time.Year() < 2000 || e.Time.Year() > 9999:
		return errors.New("no time of this age")
	case len(e.Text) > MaxText || len(e.Role) > MaxName || len(e.Tool) > MaxName:
		return errors.New("a text is too long")
	case !utf8.ValidString(e.Text):
		return errors.New("a text is no UTF-8")
	case min(e.Iteration, e.Input, e.Output) < 0 || max(e.Iteration, e.Input, e.Output) > maxNumber:
		return errors.New("a number is out of bounds")
	case e.Money != "" && (agents[e.Kind] || !money.MatchString(e.Money)):
		return errors.New("no amount of money of the host's")
	}
	return nil
}
