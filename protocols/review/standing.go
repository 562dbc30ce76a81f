package review

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// State is a directive's state for a PM.
type State string

// The states.
const (
	Open     State = "open"     // no unit has begun its present text
	Working  State = "working"  // a unit works on it
	Waiting  State = "waiting"  // its unit, or a question of its unit, waits for the PM
	Ready    State = "ready"    // a verdict proves it, and the project does not have it yet
	Unproved State = "unproved" // it ended without a verdict that proves it
	Taken    State = "taken"    // the project has it
	Dropped  State = "dropped"  // the PM dropped it
	Gone     State = "gone"     // COMMS.md no longer lists it
)

// States lists the states in the order in which a PM should see them.
var States = []State{Waiting, Ready, Unproved, Working, Open, Taken, Dropped, Gone}

// Words returns a state for people. It fits in a list, as a heading, and after "it is".
func (s State) Words() string {
	switch s {
	case Open:
		return "not begun"
	case Working:
		return "in progress"
	case Waiting:
		return "waiting for you"
	case Ready:
		return "ready to take"
	case Unproved:
		return "ended without proof"
	case Gone:
		return "no longer in COMMS.md"
	}
	return string(s)
}

// Over reports whether the directive needs no more work or decision.
func (s State) Over() bool { return s == Taken || s == Dropped || s == Gone }

// Position has what the refs say about a directive; it is the input of Stand.
type Position struct {
	Name      string           // D-1
	Directive *comms.Directive // from the control branch; nil if it no longer lists the directive
	Reported  comms.State      // according to its reports
	Dropped   bool
	Report    *comms.Report // its newest report, nil for none
	Unit      *uow.Record   // the newest record of the unit that counts, nil for none
	Branch    string        // tip of agent/D-1, "" for none
	Taken     string        // the project's commit that brought in the claimed work; "" for none
	Verdict   *loop.Verdict // the host's last verdict on the unit's last claim, nil for none
	After     []string      // the directives that must end before it continues (MANY-1)
}

// Standing is a directive's state, as `git ward directive show --json` prints it.
type Standing struct {
	SchemaVersion string `json:"schema_version"`

	Directive string         `json:"directive"`
	Title     diag.Untrusted `json:"title"`
	State     State          `json:"state"`
	Waits     uow.Waiting    `json:"-"`               // who has the next move, why, and by which command
	WaitsFor  string         `json:"waits_for"`       // "you" (a PM), "agent", "host" (its verdict), "after" (other directives), "" for nobody
	After     []string       `json:"after,omitempty"` // the directives, if WaitsFor is "after"
	Next      string         `json:"next"`            // the command to type, "" for none
	Or        string         `json:"or"`              // another command that settles it, "" for none
	Unit      string         `json:"unit"`            // D-1.1; "" if none began
	UnitState string         `json:"unit_state"`
	Report    string         `json:"report"`   // status of its newest report
	Commit    string         `json:"commit"`   // the last claimed commit, else the branch's tip; "" for none
	Claimed   bool           `json:"claimed"`  // Commit is a claim
	Branch    string         `json:"branch"`   // tip of agent/D-1
	Verdict   string         `json:"verdict"`  // EXACT, CONVERGED, NONE; "" while there is none
	Current   bool           `json:"current"`  // the verdict is for the directive's text as it stands
	TakenBy   string         `json:"taken_by"` // the project's commit that took it
}

// Stand derives a directive's state.
func Stand(p Position) Standing {
	if v := p.Verdict; v != nil && v.Unchanged && v.Verdict == loop.None {
		p.Taken = "" // the project had the commit before, so nothing was taken
	}
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
	s.State = p.state(s)
	s.Waits, s.Or = p.waits(s)
	switch w := s.Waits; {
	case w.For == uow.ForYou:
		s.WaitsFor, s.Next = "you", w.Command
	case w.For == uow.ForHost:
		s.WaitsFor = "host"
	case w.For != uow.ForNobody && len(p.After) > 0:
		s.WaitsFor, s.After = "after", p.After
		s.Waits = uow.ComesAfter.Waiting(p.Name, s.Unit, "")
		s.Waits.For = uow.Party(strings.Join(p.After, ", "))
	case w.For != uow.ForNobody:
		s.WaitsFor = "agent" // the agent continues by itself when the cause has passed
	}
	return s
}

// WaitsWords says who has the next move, and each command that settles it; "" for nobody.
func (s Standing) WaitsWords() string {
	switch {
	case s.Waits.For == uow.ForNobody:
		return ""
	case s.Or != "":
		return s.Waits.String() + ", or " + s.Or
	}
	return s.Waits.String()
}

// WaitsOf returns what a unit of the directive waits for. The unit that counts, unless it is
// archived, waits for the same as the directive.
func (s Standing) WaitsOf(r *uow.Record) uow.Waiting {
	if s.Unit != r.ID || r.State == uow.Archived {
		return r.Waits()
	}
	return s.Waits
}

// proved reports whether a verdict proves the claim for the directive's present text.
func (s Standing) proved() bool {
	return s.Claimed && s.Current && (s.Verdict == loop.Exact || s.Verdict == loop.Converged)
}

// Proof describes the verdict in a word for people; "" if there is none.
func (s Standing) Proof() string {
	switch s.Verdict {
	case "":
		return ""
	case loop.Exact, loop.Converged:
		return "proved"
	}
	return "not proved"
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
	case p.unitWaits().For == uow.ForYou, p.Reported == comms.Suspended && p.Unit == nil:
		return Waiting
	case atWork:
		return Working
	case s.proved():
		return Ready
	case p.Reported == comms.Open && p.Unit != nil && !edited:
		return Working // the unit has just ended; its report is not pushed yet
	case p.Reported == comms.Open:
		return Open
	}
	return Unproved
}

// waits returns what a directive waits for, and an alternative command.
func (p Position) waits(s Standing) (w uow.Waiting, or string) {
	says := func(c uow.Cause, what string) uow.Waiting { return c.Waiting(p.Name, s.Unit, diag.OneLine(what)) }
	switch unit := p.unitWaits(); s.State {
	case Open:
		return says(uow.NotBegun, ""), ""
	case Working:
		switch {
		case p.Unit.Claim != nil && p.Verdict == nil && p.Unit.Event == uow.MakeClaim:
			return says(uow.JudgedNow, ""), ""
		case unit.For == uow.ForNobody:
			return says(uow.ReportsNow, ""), ""
		}
		return unit, ""
	case Waiting:
		if p.Unit == nil {
			return says(uow.LacksAnAnswer, ""), ""
		}
		if v := p.Verdict; unit.Cause == uow.WantsInclude && v != nil {
			switch left := v.LeftWords(); {
			case v.OnlyGuards:
				return says(uow.HeldBefore, ""), ""
			case len(left) > 0:
				return says(uow.PassesBesides, named(left)), ""
			}
		}
		if v := p.Verdict; unit.Cause == uow.AdminMends && p.Unit.ReasonCode == uow.NoTool && v != nil && v.MissingTool != nil {
			return says(uow.ProgramNamed, v.MissingTool.Tool), ""
		}
		return unit, ""
	case Ready:
		return says(uow.ReadyToTake, ""), ""
	case Unproved:
		w := says(p.unproved(s))
		if w.Cause == uow.ToolWasAway { // editing the directive would not help
			return w, "git ward directive edit " + p.Name
		}
		return w, "git ward drop " + p.Name
	}
	return says(uow.IsOver, ""), ""
}

// named joins the first three paths and counts the rest, in at most 200 bytes.
func named(paths []string) string {
	const most = 3
	if n := len(paths); n > most {
		paths = append(slices.Clone(paths[:most]), fmt.Sprintf("and %d more", n-most))
	}
	return diag.Cut(strings.Join(paths, ", "), 200)
}

// unproved returns why a directive ended without proof, and the reason in words.
func (p Position) unproved(s Standing) (c uow.Cause, what string) {
	switch {
	case p.Unit != nil && p.Unit.State.Ended() && s.Current && p.Verdict.MissingTool != nil:
		return uow.ToolWasAway, p.Verdict.Reason
	case p.Verdict != nil && !s.Current:
		return uow.JudgedBefore, ""
	case comms.Status(s.Report) == comms.ExitCancelled:
		return uow.WasCancelled, ""
	}
	var reasons []string
	if status := comms.Status(s.Report); status == comms.ExitDiverged || status == comms.ExitBudgetExceeded {
		reasons = append(reasons, strings.TrimPrefix(status.Words(), "stopped: "))
	}
	if p.Verdict != nil && p.Verdict.Verdict == loop.None && p.Verdict.Reason != "" {
		reasons = append(reasons, p.Verdict.Reason)
	}
	if len(reasons) == 0 {
		return uow.NotProvedYet, ""
	}
	return uow.NotProved, strings.Join(reasons, "; ")
}

// edited reports whether the directive was edited since the unit began.
func (p Position) edited() bool {
	return p.Unit != nil && p.Directive != nil && p.Unit.DirectiveHash != p.Directive.Hash()
}

// unitWaits returns what the unit waits for, given the directive's present text.
func (p Position) unitWaits() uow.Waiting {
	if p.Unit == nil {
		return uow.IsOver.Waiting(p.Name, "", "")
	}
	return p.Unit.Stand(p.edited(), true).Waiting
}

// Outcome returns the first line of a review: the directive's result.
func (p Position) Outcome(s Standing) string {
	words := []string{s.State.Words()}
	say := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	switch {
	case s.State == Taken:
		words[0] += " by " + diag.Short(s.TakenBy)
	case (s.State == Working || s.State == Waiting) && p.Unit != nil:
		words[0] += fmt.Sprintf(": %s, iteration %d", s.Unit, p.Unit.Iteration)
		if p.Unit.State != uow.Active && p.Verdict == nil { // otherwise the verdict's reason follows
			words[0] += ", " + p.Unit.Words()
		}
	case s.State == Unproved && comms.Status(s.Report) == comms.ExitConverged: // a later verdict contradicts the report
		say("it was reported as done")
	case s.State == Unproved && s.Report != "":
		say("%s", comms.Status(s.Report).Words())
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
