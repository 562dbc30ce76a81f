package review

import (
	"fmt"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// State is where a directive stands, for a PM.
type State string

// The states.
const (
	Open     State = "open"     // the agent takes it up next
	Working  State = "working"  // a unit is at work on it
	Waiting  State = "waiting"  // its unit, or a question of its, waits for the PM
	Ready    State = "ready"    // a verdict proves it, and the project does not have it
	Unproved State = "unproved" // it ended, and no verdict proves it
	Taken    State = "taken"    // the project has it
	Dropped  State = "dropped"  // the PM wanted no more of it
	Gone     State = "gone"     // COMMS.md has it no longer
)

// Words is a state for people, as the answer to "where does it stand?".
func (s State) Words() string {
	switch s {
	case Open:
		return "nobody has begun"
	case Working:
		return "the agent is at work"
	case Waiting:
		return "it waits for you"
	case Ready:
		return "proved, and ready for you to take"
	case Unproved:
		return "it ended, and nothing proves it"
	case Taken:
		return "taken into the project"
	case Dropped:
		return "dropped"
	case Gone:
		return "COMMS.md has it no longer"
	}
	return string(s)
}

// Position is what the refs say of a directive.
type Position struct {
	Name      string           // D-1
	Directive *comms.Directive // as control has it; nil when it is gone
	Reported  comms.State      // what its reports say of it
	Dropped   bool
	Report    *comms.Report // the newest on it, nil for none
	Unit      *uow.Record   // the newest record of the unit in question, nil for none
	Branch    string        // tip of agent/D-1, "" for none
	Taken     string        // the project's commit by which it has what was claimed; "" for none
	Verdict   *loop.Verdict // the host's last on the unit's last claim, nil for none
	After     []string      // the directives that it waits for before its work goes on (MANY-1)
}

// Standing is where a directive stands, as `git ward directive show --json` prints it.
type Standing struct {
	SchemaVersion string `json:"schema_version"`

	Directive string         `json:"directive"`
	Title     diag.Untrusted `json:"title"`
	State     State          `json:"state"`
	waits     uow.Waiting    // what its unit waits for, as p.Waits has it
	WaitsFor  string         `json:"waits_for"`       // "you" (a PM), "agent", "host" (its verdict), "after" (other directives), "" for nobody
	After     []string       `json:"after,omitempty"` // which ones, where it waits for "after"
	Next      string         `json:"next"`            // the command to type, "" for none
	Or        string         `json:"or"`              // another that settles it as well, "" for none
	Unit      string         `json:"unit"`            // D-1.1; "" where nobody began
	UnitState string         `json:"unit_state"`
	Report    string         `json:"report"`   // status of the newest report on it
	Commit    string         `json:"commit"`   // what was claimed last, else the tip of the branch; "" for none
	Claimed   bool           `json:"claimed"`  // the unit claimed it
	Branch    string         `json:"branch"`   // tip of agent/D-1
	Verdict   string         `json:"verdict"`  // EXACT, CONVERGED, NONE; "" while there is none
	Current   bool           `json:"current"`  // the verdict is for the directive's text as it stands
	TakenBy   string         `json:"taken_by"` // the project's commit that took it
}

// Stand says where a directive stands.
func Stand(p Position) Standing {
	s := Standing{SchemaVersion: SchemaVersion, Directive: p.Name, Branch: p.Branch, Commit: p.Branch, TakenBy: p.Taken}
	if p.Directive != nil {
		s.Title = p.Directive.Title
	}
	if p.Report != nil {
		s.Report = string(p.Report.Status)
	}
	if p.Unit != nil {
		s.Unit, s.UnitState = p.Unit.ID, string(p.Unit.State)
		if p.Unit.Claim != nil {
			s.Commit, s.Claimed = p.Unit.Claim.Commit, true
		}
	}
	if p.Verdict != nil {
		s.Verdict = p.Verdict.Verdict
		s.Current = p.Directive != nil && p.Verdict.DirectiveHash == p.Directive.Hash()
	}
	s.State, s.waits = p.state(s), p.Waits()
	s.WaitsFor, s.Next, s.Or = p.waits(s)
	if s.WaitsFor == "agent" && len(p.After) > 0 {
		s.WaitsFor, s.After = "after", p.After
	}
	return s
}

// WaitsOf is for whom a unit of the directive waits: as the directive has it where the unit is
// the one in question and is not put away.
func (s Standing) WaitsOf(r *uow.Record) uow.Waiting {
	if s.Unit != r.ID || r.State == uow.Archived {
		return r.Waits()
	}
	return s.waits
}

// Before names what it waits for by its `- after:`, for people: "D-3 (after)"; "" for nothing.
func (s Standing) Before() string {
	if len(s.After) == 0 {
		return ""
	}
	return strings.Join(s.After, ", ") + " (after)"
}

// proved reports whether a verdict proves the claim for the text as it stands.
func (s Standing) proved() bool {
	return s.Claimed && s.Current && (s.Verdict == loop.Exact || s.Verdict == loop.Converged)
}

// Proof is what the verdict comes to, for people, with the verdict itself beside it; "" while
// there is none.
func (s Standing) Proof() string {
	switch s.Verdict {
	case "":
		return ""
	case loop.Exact, loop.Converged:
		return "proved (" + s.Verdict + ")"
	}
	return "not proved (" + s.Verdict + ")"
}

func (p Position) state(s Standing) State {
	atWork := p.Unit != nil && !p.Unit.State.Ended()
	edited := p.edited()
	switch {
	case p.Directive == nil:
		return Gone
	case p.Dropped:
		return Dropped
	case p.Taken != "" && !edited && !atWork:
		return Taken
	case p.moves() != "", p.Reported == comms.Suspended && p.Unit == nil:
		return Waiting
	case atWork:
		return Working
	case s.proved():
		return Ready
	case p.Reported == comms.Open && p.Unit != nil && !edited:
		return Working // it ended a moment ago, and its report is under way
	case p.Reported == comms.Open:
		return Open
	}
	return Unproved
}

// waits says for whom a directive waits, and what to type, or what else.
func (p Position) waits(s Standing) (who, next, or string) {
	edit := "git ward directive edit " + p.Name
	switch s.State {
	case Open:
		return "agent", "", ""
	case Working:
		if p.Unit.Claim != nil && p.Verdict == nil && p.Unit.Event == uow.MakeClaim {
			return "host", "", ""
		}
		return "agent", "", ""
	case Waiting:
		if next := p.moves(); next != "" {
			return "you", next, ""
		}
		return "you", edit, ""
	case Ready:
		return "you", "git ward review " + p.Name, ""
	case Unproved:
		if p.Unit != nil && p.Unit.State.Ended() && s.Current && p.Verdict.MissingTool != nil { // the text is not what is wrong
			return "you", "git ward uow fork " + p.Unit.ID, edit
		}
		return "you", edit, "git ward drop " + p.Name
	}
	return "", "", ""
}

// edited reports whether the unit is of another text than the directive's present one.
func (p Position) edited() bool {
	return p.Unit != nil && p.Directive != nil && p.Unit.DirectiveHash != p.Directive.Hash()
}

// Waits says what the unit waits for. An edit is the PM's word: the agent goes on by itself
// with what asked or was stopped, and what ended is behind; but a pause stays one.
func (p Position) Waits() uow.Waiting {
	switch {
	case p.Unit == nil:
		return uow.Waiting{For: uow.ForNobody}
	case !p.edited() || p.Unit.State == uow.Paused:
		return p.Unit.Waits()
	case p.Unit.State.Ended():
		return uow.Waiting{For: uow.ForNobody, Why: "it is over"}
	}
	return uow.Waiting{For: uow.ForAgent, Why: "which takes up the directive as it was edited"}
}

// moves is the command by which a PM moves the unit, if it waits for one; else "".
func (p Position) moves() string {
	if w := p.Waits(); w.For == uow.ForYou {
		return w.Command
	}
	return ""
}

// Outcome is the first line of a review: what came of the directive.
func (p Position) Outcome(s Standing) string {
	var words []string
	say := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	switch s.State {
	case Open:
		say("nobody has begun")
	case Gone:
		say("COMMS.md has it no longer")
	case Dropped:
		say("dropped")
	case Taken:
		say("taken, by %s", diag.Short(s.TakenBy))
	case Working, Waiting:
		say("%s", p.progress(s))
	case Unproved:
		say("%s", ended(comms.Status(s.Report)))
	}
	switch {
	case p.Verdict == nil && s.Claimed:
		say("no verdict yet")
	case p.Verdict != nil && !s.Current && p.Directive != nil:
		say("%s for another text of it: %s", s.Proof(), p.Verdict.Reason)
	case p.Verdict != nil:
		say("%s: %s", s.Proof(), p.Verdict.Reason)
	}
	return strings.Join(words, "; ")
}

// ended is how a report says that it ended, where nothing proves it.
func ended(report comms.Status) string {
	switch report {
	case "":
		return "it ended"
	case comms.ExitConverged: // a later verdict took it back
		return "it was reported as done"
	}
	return report.Words()
}

// progress is how far somebody is who has not ended.
func (p Position) progress(s Standing) string {
	if p.Unit == nil {
		return "it waits for your answer"
	}
	return fmt.Sprintf("in progress: %s, iteration %d, %s", s.Unit, p.Unit.Iteration, p.Unit.State.Words())
}
