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

// SchemaVersion is of everything here as JSON. Whoever changes a member's name or meaning
// changes it: programs read it. A time that nobody knows is left out.
const SchemaVersion = "1.0"

// Overview is a repository at one moment.
type Overview struct {
	SchemaVersion string    `json:"schema_version"`
	Repository    string    `json:"repository"`    // its base name: no path of the host
	Version       string    `json:"version"`       // equal ones have nothing new
	Time          time.Time `json:"time,omitzero"` // of the look
	Host          *Host     `json:"host"`          // null in a clone, which cannot know
	Workers       []Worker  `json:"workers"`       // who works on what, wherever they run
	Waiting       []Waiting `json:"waiting"`       // what only a PM can move first, then what waits for a cause to pass
	Directives    []Line    `json:"directives"`    // as COMMS.md has them, then those it has no longer
	Warnings      []string  `json:"warnings"`      // a line each, with what can be done

	at    map[string]int // positions of directives in the list, by name
	waits map[string][]Waiting
}

// Host says what runs on the repository.
type Host struct {
	MayAsk   bool               `json:"may_ask"` // false: the rest is not known to who asks
	Running  bool               `json:"running"`
	PID      int                `json:"pid"`                // 0: invisible from here
	Since    time.Time          `json:"since,omitzero"`     // when it began; zero where nobody says
	Up       bool               `json:"up"`                 // the agent's container runs
	Judging  *runstate.Judging  `json:"judging"`            // the first of the verdicts that run
	Verdicts []runstate.Judging `json:"verdicts"`           // all of them
	Suite    *runstate.Suite    `json:"suite"`              // how [verify] suite ended on the project; null where there is none
	Trouble  map[string]Trouble `json:"trouble"`            // what providers fail, by directive
	Control  string             `json:"control"`            // branch of COMMS.md
	Project  string             `json:"project"`            // the project's branch
	Mode     string             `json:"mode"`               // of the hooks: enforce or observe
	LastBeat time.Time          `json:"last_beat,omitzero"` // when a worker last gave a sign of life; zero for never in this launch
	LastWork time.Time          `json:"last_work,omitzero"` // when a worker last progressed: words, commands, steps
}

// Worker holds a directive's lease, or is run by this machine's launcher (MANY-5).
type Worker struct {
	Directive string    `json:"directive"` // "" while it has none
	Holder    string    `json:"holder"`    // the lease's, or the worker's own name
	Where     string    `json:"where"`     // "podman", "process", "kube NAMESPACE/JOB"
	Doing     string    `json:"doing"`     // as runstate has it; "" of a worker of another launcher
	Why       string    `json:"why"`       // why it does not work, with the remedy in one line
	Since     time.Time `json:"since,omitzero"`
	Until     time.Time `json:"until,omitzero"` // the lease ends unless it is renewed; zero for none
	Live      bool      `json:"live"`           // the lease holds now
	Words     string    `json:"words"`          // all of this, plainly
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
	Incident Kind = "incident" // a journal that cannot be believed
	Question Kind = "question" // the agent asks something
	Approval Kind = "approval" // it needs a confirmation or a sign of life
	Blocked  Kind = "blocked"  // it was stopped or given up, and needs a person to continue
	Ready    Kind = "ready"    // a verdict proves it; nobody has taken it
	Unproved Kind = "unproved" // it ended, and nothing proves it
	Outage   Kind = "outage"   // it continues by itself when the cause has passed
)

// Waiting is one thing that waits for a PM.
type Waiting struct {
	Key       string         `json:"key"` // stable as long as it is the same thing
	Kind      Kind           `json:"kind"`
	For       uow.Party      `json:"-"` // a PM, or a cause that must pass
	Directive string         `json:"directive"`
	Unit      string         `json:"unit"` // "" for none
	Title     diag.Untrusted `json:"title"`
	What      string         `json:"what"`    // one plain sentence
	Words     diag.Untrusted `json:"words"`   // the agent's own, such as its question; "" for none
	Command   string         `json:"command"` // a command to paste, which settles it or shows how
	Or        string         `json:"or"`      // another that does; "" for none
	Since     time.Time      `json:"since,omitzero"`
}

// Line is a directive in a list.
type Line struct {
	review.Standing
	Words      string         `json:"words"`       // the state
	WaitsWords string         `json:"waits_words"` // for whom it waits, with the command
	Worker     *Worker        `json:"worker"`      // who has its lease; null for nobody
	Spent      Spent          `json:"spent"`
	Updated    time.Time      `json:"updated,omitzero"` // the newest step, report or verdict; zero for none
	Residuals  []Point        `json:"residuals"`        // of the newest unit's verdicts
	Live       *live.Event    `json:"live"`             // the worker's last words; null if unknown
	Sign       *runstate.Sign `json:"sign"`             // time of its last sign of life; null if unknown
}

// Spent is a directive's cost so far. An uncounted value is null, never 0.
type Spent struct {
	Tokens     *int64  `json:"tokens"`
	CountedBy  string  `json:"counted_by"` // who counted the tokens: the gateway, or else the agent
	Estimated  *int64  `json:"estimated_calls"`
	Money      *string `json:"money"`      // a decimal, of dollars
	Prices     string  `json:"prices"`     // day of the price table; "" where nobody says
	Iterations int64   `json:"iterations"` // of all units of the present text
	Allowed    int64   `json:"iterations_allowed"`
	review.Limits
}

// Point is one value of a curve.
type Point struct {
	X     int       `json:"x"` // the iteration, from 1
	Time  time.Time `json:"time,omitzero"`
	Y     *float64  `json:"y"` // null: not known
	Label string    `json:"label"`
}

// Directive is everything about one directive.
type Directive struct {
	Line
	Text       diag.Untrusted `json:"text"`    // as COMMS.md has it; "" when it is gone
	Outcome    string         `json:"outcome"` // one line
	Waiting    []Waiting      `json:"waiting"` // what of it waits
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
	WaitsWords  string          `json:"waits_words"` // "" when it is over
	Begun       time.Time       `json:"begun,omitzero"`
	Updated     time.Time       `json:"updated,omitzero"`
	Iteration   int64           `json:"iteration"`
	Steps       []Step          `json:"steps"`         // oldest first, the newest MaxSteps of them
	LeftOut     int             `json:"steps_omitted"` // older ones
	Broken      string          `json:"broken"`        // why the journal cannot be believed; "" when it holds
	Residuals   []Point         `json:"residuals"`
	Costs       []Point         `json:"costs"`  // tokens, summed, as the agent counted them by iteration
	Claims      []Point         `json:"claims"` // when it claimed
	Verdicts    []loop.Verdict  `json:"verdicts"`
	Transcripts []TranscriptRef `json:"transcripts"`
	Live        []live.Event    `json:"live"` // the newest words, of the newest unit only
}

// Step is one record of a journal.
type Step struct {
	N         int            `json:"n"` // from 1
	Time      time.Time      `json:"time,omitzero"`
	Actor     uow.Actor      `json:"actor"`
	Event     uow.Event      `json:"event"`
	State     uow.State      `json:"state"` // that it led to
	Reason    uow.Reason     `json:"reason_code"`
	Iteration int64          `json:"iteration"`
	Words     string         `json:"words"` // all of these, plainly
	Note      diag.Untrusted `json:"note"`
	Commit    string         `json:"commit"` // of the journal
	Claim     string         `json:"claim"`  // the commit that it claims; "" for none
}
