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
	Open     State = "open"     // the agent takes it up next
	Working  State = "working"  // a unit is at work on it
	Waiting  State = "waiting"  // its unit, or a question of its, waits for the PM
	Ready    State = "ready"    // a verdict proves it, and the project does not have it yet
	Unproved State = "unproved" // it ended, and no verdict proves it
	Taken    State = "taken"    // the project has it
	Dropped  State = "dropped"  // the PM wanted no more of it
	Gone     State = "gone"     // COMMS.md no longer lists it
)

// States lists all of them, in the order in which a PM wants them.
var States = []State{Waiting, Ready, Unproved, Working, Open, Taken, Dropped, Gone}

// Words is a state for people: in a list, above one, and after "it is".
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

// Over reports whether nothing more is to be done about the directive.
func (s State) Over() bool { return s == Taken || s == Dropped || s == Gone }

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
	Waits     uow.Waiting    `json:"-"`               // who has the next move, why, and by which command
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
	if v := p.Verdict; v != nil && v.Unchanged && v.Verdict == loop.None {
		p.Taken = "" // the project had it before, and it is no work
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

// WaitsWords is for whom it waits, and every command that settles it; "" for nobody.
func (s Standing) WaitsWords() string {
	switch {
	case s.Waits.For == uow.ForNobody:
		return ""
	case s.Or != "":
		return s.Waits.String() + ", or " + s.Or
	}
	return s.Waits.String()
}

// WaitsOf is for whom a unit of the directive waits: as the directive itself does, where the
// unit is the one in question and is not put away.
func (s Standing) WaitsOf(r *uow.Record) uow.Waiting {
	if s.Unit != r.ID || r.State == uow.Archived {
		return r.Waits()
	}
	return s.Waits
}

// proved reports whether a verdict proves the claim for the text as it stands.
func (s Standing) proved() bool {
	return s.Claimed && s.Current && (s.Verdict == loop.Exact || s.Verdict == loop.Converged)
}

// Proof is what the verdict comes to, for people; "" while there is none.
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
		return Working // it ended a moment ago, and its report follows
	case p.Reported == comms.Open:
		return Open
	}
	return Unproved
}

// waits says for whom a directive waits, and what to type else.
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
		if w.Cause == uow.ToolWasAway { // the text is not what is wrong
			return w, "git ward directive edit " + p.Name
		}
		return w, "git ward drop " + p.Name
	}
	return says(uow.IsOver, ""), ""
}

// named are the first of some paths, cut where they are long.
func named(paths []string) string {
	const most = 3
	if n := len(paths); n > most {
		paths = append(slices.Clone(paths[:most]), fmt.Sprintf("and %d more", n-most))
	}
	return diag.Cut(strings.Join(paths, ", "), 200)
}

// unproved is why a directive ended without proof, and the stated reason.
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

// edited reports whether the unit is of another text than the directive's present one.
func (p Position) edited() bool {
	return p.Unit != nil && p.Directive != nil && p.Unit.DirectiveHash != p.Directive.Hash()
}

// unitWaits is for whom the unit waits, on the directive's present text.
func (p Position) unitWaits() uow.Waiting {
	if p.Unit == nil {
		return uow.IsOver.Waiting(p.Name, "", "")
	}
	return p.Unit.Stand(p.edited(), true).Waiting
}

// Outcome is the first line of a review: the directive's result.
func (p Position) Outcome(s Standing) string {
	words := []string{s.State.Words()}
	say := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	switch {
	case s.State == Taken:
		words[0] += " by " + diag.Short(s.TakenBy)
	case (s.State == Working || s.State == Waiting) && p.Unit != nil:
		words[0] += fmt.Sprintf(": %s, iteration %d", s.Unit, p.Unit.Iteration)
		if p.Unit.State != uow.Active && p.Verdict == nil { // else the verdict says why
			words[0] += ", " + p.Unit.Words()
		}
	case s.State == Unproved && comms.Status(s.Report) == comms.ExitConverged: // a later verdict took it back
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
