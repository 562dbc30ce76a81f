package view

import (
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/live"
	"git-ward/internal/runstate"
	"git-ward/protocols/loop"
	"git-ward/protocols/review"
	"git-ward/protocols/uow"
)

// SchemaVersion is the version of the JSON of this file's types. A change of a member's name or meaning
// needs a new version, because programs read it. An unknown time is left out.
const SchemaVersion = "1.0"

// Overview is the state of a repository at one time.
type Overview struct {
	SchemaVersion string    `json:"schema_version"`
	Repository    string    `json:"repository"`    // its base name: no path of the host
	Version       string    `json:"version"`       // changes whenever anything here changes
	Time          time.Time `json:"time,omitzero"` // when it was read
	Host          *Host     `json:"host"`          // null in a clone
	Workers       []Worker  `json:"workers"`       // on this host and elsewhere
	Waiting       []Waiting `json:"waiting"`       // first what only a PM can move, then what continues by itself
	Directives    []Line    `json:"directives"`    // in COMMS.md's order, then those that it no longer lists
	Warnings      []string  `json:"warnings"`      // one line each, with the remedy

	at    map[string]int // positions of directives in the list, by name
	waits map[string][]Waiting
}

// Host says what runs on the repository.
type Host struct {
	MayAsk   bool               `json:"may_ask"` // false: this user may not see the rest
	Running  bool               `json:"running"`
	PID      int                `json:"pid"`                // 0 if not visible from here
	Since    time.Time          `json:"since,omitzero"`     // when the launch began; zero if unknown
	Up       bool               `json:"up"`                 // the agent's container runs
	Judging  *runstate.Judging  `json:"judging"`            // the first of Verdicts
	Verdicts []runstate.Judging `json:"verdicts"`           // the claims that are being judged
	Suite    *runstate.Suite    `json:"suite"`              // the result of [verify] suite on the project; null for none
	Trouble  map[string]Trouble `json:"trouble"`            // failures of providers, by directive
	Control  string             `json:"control"`            // the control branch
	Project  string             `json:"project"`            // the project's branch
	Mode     string             `json:"mode"`               // of the hooks: enforce or observe
	LastBeat time.Time          `json:"last_beat,omitzero"` // a worker's last sign of life; zero for none in this launch
	LastWork time.Time          `json:"last_work,omitzero"` // a worker's last progress: words, commands, steps
}

// Worker is the holder of a directive's lease, or a worker of this machine's launcher (MANY-5).
type Worker struct {
	Directive string    `json:"directive"` // "" if it has none
	Holder    string    `json:"holder"`    // the lease's holder, or the worker's own name
	Where     string    `json:"where"`     // "podman", "process", "kube NAMESPACE/JOB"
	Doing     string    `json:"doing"`     // a state of runstate.Worker; "" for another launcher's worker
	Why       string    `json:"why"`       // why it does not work, with the remedy in one line
	Since     time.Time `json:"since,omitzero"`
	Until     time.Time `json:"until,omitzero"` // the lease ends unless it is renewed; zero for none
	Live      bool      `json:"live"`           // the lease is valid now
	Words     string    `json:"words"`          // a description of all of this
}

// Trouble is a provider's failure for a directive's calls.
type Trouble struct {
	runstate.Trouble
	Words string `json:"words"`
}

// Kind is the kind of thing that waits.
type Kind string

// The kinds, in the order in which they are shown.
const (
	Incident Kind = "incident" // a journal is invalid
	Question Kind = "question" // the agent asks something
	Approval Kind = "approval" // it needs a confirmation or a sign of life
	Blocked  Kind = "blocked"  // it was stopped or gave up, and needs a person to continue
	Ready    Kind = "ready"    // a verdict proves it, but it is not taken
	Unproved Kind = "unproved" // it ended without a verdict that proves it
	Outage   Kind = "outage"   // it continues by itself after the outage
)

// Waiting is one thing that waits for a PM.
type Waiting struct {
	Key       string         `json:"key"` // identifies it between versions
	Kind      Kind           `json:"kind"`
	For       uow.Party      `json:"-"` // who can move it
	Directive string         `json:"directive"`
	Unit      string         `json:"unit"` // "" for none
	Title     diag.Untrusted `json:"title"`
	What      string         `json:"what"`    // one sentence
	Words     diag.Untrusted `json:"words"`   // the agent's own words, such as its question; "" for none
	Command   string         `json:"command"` // settles it, or shows how to
	Or        string         `json:"or"`      // an alternative; "" for none
	Since     time.Time      `json:"since,omitzero"`
}

// Line is a directive in a list.
type Line struct {
	review.Standing
	Words      string         `json:"words"`       // the state
	WaitsWords string         `json:"waits_words"` // who has the next move, with the command
	Worker     *Worker        `json:"worker"`      // the holder of its lease; null for none
	Spent      Spent          `json:"spent"`
	Updated    time.Time      `json:"updated,omitzero"` // the newest step, report or verdict; zero for none
	Residuals  []Point        `json:"residuals"`        // of the newest unit's verdicts
	Live       *live.Event    `json:"live"`             // the worker's last words; null if unknown
	Sign       *runstate.Sign `json:"sign"`             // time of its last sign of life; null if unknown
}

// Spent is a directive's cost so far. An uncounted value is null, never 0.
type Spent struct {
	Tokens     *int64  `json:"tokens"`
	CountedBy  string  `json:"counted_by"` // who counted the tokens: review.ByGateway or review.ByAgent
	Estimated  *int64  `json:"estimated_calls"`
	Money      *string `json:"money"`      // a decimal, of dollars
	Prices     string  `json:"prices"`     // day of the price table; "" if unknown
	Iterations int64   `json:"iterations"` // of all units of the present text
	Allowed    int64   `json:"iterations_allowed"`
	review.Limits
}

// Point is one value of a curve.
type Point struct {
	X     int       `json:"x"` // the iteration, from 1
	Time  time.Time `json:"time,omitzero"`
	Y     *float64  `json:"y"` // null if unknown
	Label string    `json:"label"`
}

// Directive is everything about one directive.
type Directive struct {
	Line
	Text       diag.Untrusted `json:"text"`    // from COMMS.md; "" if no longer listed
	Outcome    string         `json:"outcome"` // one line
	Waiting    []Waiting      `json:"waiting"` // its items of Overview.Waiting
	Units      []Unit         `json:"units"`   // oldest first
	Reports    []Report       `json:"reports"` // oldest first
	Questions  []Report       `json:"questions"`
	Reviewable bool           `json:"reviewable"` // there is work to review
}

// Report is an entry of COMMS.md on a directive: a report, or a question.
type Report struct {
	Name   string         `json:"name"`
	Time   time.Time      `json:"time,omitzero"`
	Status string         `json:"status"` // "" for a question
	Words  string         `json:"words"`  // the status
	Text   diag.Untrusted `json:"text"`
}

// Unit is one unit of work.
type Unit struct {
	ID          string          `json:"id"`
	State       uow.State       `json:"state"`
	Words       string          `json:"words"`       // the state
	WaitsWords  string          `json:"waits_words"` // "" if it waits for nobody
	Begun       time.Time       `json:"begun,omitzero"`
	Updated     time.Time       `json:"updated,omitzero"`
	Iteration   int64           `json:"iteration"`
	Steps       []Step          `json:"steps"`         // the newest MaxSteps, oldest first
	LeftOut     int             `json:"steps_omitted"` // the number of older steps
	Broken      string          `json:"broken"`        // why the journal is invalid; "" if it is valid
	Residuals   []Point         `json:"residuals"`
	Costs       []Point         `json:"costs"`  // cumulative tokens by iteration, by the agent's count
	Claims      []Point         `json:"claims"` // the times of its claims
	Verdicts    []loop.Verdict  `json:"verdicts"`
	Transcripts []TranscriptRef `json:"transcripts"`
	Live        []live.Event    `json:"live"` // the newest events; only of the newest unit
}

// Step is one record of a journal.
type Step struct {
	N         int            `json:"n"` // from 1
	Time      time.Time      `json:"time,omitzero"`
	Actor     uow.Actor      `json:"actor"`
	Event     uow.Event      `json:"event"`
	State     uow.State      `json:"state"` // after the step
	Reason    uow.Reason     `json:"reason_code"`
	Iteration int64          `json:"iteration"`
	Words     string         `json:"words"` // a description of all of this
	Note      diag.Untrusted `json:"note"`
	Commit    string         `json:"commit"` // of the journal
	Claim     string         `json:"claim"`  // the commit that it claims; "" for none
}
