package loop

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"git-ward/protocols/comms"
	"git-ward/protocols/uow"
)

// Cause says why a loop ended, in as much detail as advice needs. The exit alone is not enough: a
// tampered test and a spent budget both end in EXIT_BUDGET_EXCEEDED, but more iterations help only
// with the second (WORK-5).
type Cause string

// The causes.
const (
	Proved      Cause = "proved"          // a verdict proves the work
	AlreadyTrue Cause = "already_true"    // a verdict proves the project as it is
	WithChanges Cause = "with_changes"    // a verdict proves the work, but the claim has other changes, too
	Doubted     Cause = "doubted"         // a verdict proves the work, but names doubts
	NotTaken    Cause = "not_included"    // it passes only by the PM's word
	Tampered    Cause = "tampered"        // the claim changed what is frozen, and fails
	NoTool      Cause = "missing_tool"    // a program of a deciding command was not found where it runs
	NoProgram   Cause = "missing_program" // a program of a step or of the worker was not found
	Grew        Cause = "grew"            // the residual grew
	Iterations  Cause = "iterations"      // the iterations are spent
	Effort      Cause = "effort"          // the tool calls or seconds are spent
	Unpaid      Cause = "unpaid"          // the admin's tokens or money are spent
	Capped      Cause = "capped"          // the directive's own limit of tokens or money is reached
	Pressed     Cause = "pressed"         // backpressure: a STOP, a disk, a rate limit, an outage
	Unjudged    Cause = "unjudged"        // no verdict came
	Refused     Cause = "refused"         // the remote did not take the work
	NothingMade Cause = "nothing_made"    // the worker changed nothing
	Undeclared  Cause = "undeclared"      // the directive does not say how its end is seen
	NotStarted  Cause = "not_started"     // the agent's own program was certified and does not start
	Cancelled   Cause = "cancelled"       // by the PM
	TimeUp      Cause = "time_up"         // the launch's time is spent
	Stuck       Cause = "stuck"           // anything else in the way
)

// Advice is one thing that a PM can do: a command to type, and why.
type Advice struct{ Type, Why string }

// String is the advice on one line.
func (a Advice) String() string {
	if a.Why == "" {
		return a.Type
	}
	return a.Type + " (" + a.Why + ")"
}

// cause derives the cause from the loop's end. It looks at the verdict first, because a loop
// without its tool also runs out of iterations or diverges.
func (o Outcomes) cause() Cause {
	v := o.Verdict
	switch {
	case o.Status == ExitCancelled:
		return Cancelled
	case o.Status == ExitConverged && o.Last != nil && len(o.Last.Left) > 0:
		return WithChanges
	case o.Status == ExitConverged && v != nil && len(v.Against()) > 0:
		return Doubted
	case o.Status == ExitConverged && v != nil && v.Unchanged:
		return AlreadyTrue
	case o.Status == ExitConverged:
		return Proved
	case o.Decision.Reason == NotIncluded:
		return NotTaken
	case o.Status == ExitNeedInfo:
		return Undeclared
	case v != nil && v.MissingTool != nil:
		return NoTool
	case o.Decision.Reason == ToolMissing:
		return NoProgram
	case o.capped():
		return Capped
	case o.Over != "" && o.Status == ExitBudgetExceeded && o.Limit == LaunchTime:
		return TimeUp
	case o.Over != "" && o.Status == ExitBudgetExceeded:
		return Unpaid
	case o.Decision.Reason == BackpressureSignal:
		return Pressed
	case o.Decision.Reason == VerdictUnavailable:
		return Unjudged
	case v != nil && v.Verdict == None && len(v.Deviations) > 0:
		return Tampered
	case o.Status == ExitDiverged:
		return Grew
	case o.Decision.Reason == MaxIters:
		return Iterations
	case o.Decision.Reason == MaxToolCalls:
		return Effort
	case o.Decision.Reason == StartFailed:
		return NotStarted
	case o.Decision.Reason == EvidenceIncomplete && o.Refused != "":
		return Refused
	case o.Decision.Reason == EvidenceIncomplete:
		return NothingMade
	}
	return Stuck
}

// LaunchTime names the setting that limits how long a launch may work, for Outcomes.Limit.
const LaunchTime = "[budget] time"

// capped reports whether the loop reached the directive's own limit of tokens or money.
func (o Outcomes) capped() bool {
	return o.Over != "" && o.Status == ExitBudgetExceeded && (o.Limit == comms.KeyMaxTokens || o.Limit == comms.KeyMaxCost)
}

// remedies says who can fix a cause and what that person can type, likeliest first.
type remedies struct {
	by   uow.Mender
	list []Advice
}

// remedy maps each cause to its remedies. {d} is the directive, {u} its unit, {what} the details of
// the cause, {next} the command that resumes the unit (uow.Record.Next) or, if it has ended, opens
// the next one, and {admin} what the admin does about a missing program.
var remedy = map[Cause]remedies{
	Proved: {uow.ByPM, []Advice{
		{"git ward review {d}", "shows it"},
		{"git ward take {d}", "takes it"},
	}},
	AlreadyTrue: {uow.ByNobody, []Advice{
		{"git ward review {d}", "shows what held; nothing was changed, so there is nothing to take"},
	}},
	WithChanges: {uow.ByPM, []Advice{
		{"git ward review {d}", "shows it, first the files that are not work: {what}"},
		{"git ward take {d}", "takes it, if that is right"},
	}},
	Doubted: {uow.ByPM, []Advice{
		{"git ward review {d}", "shows it, with the doubts first: {what}"},
		{"git ward take {d}", "takes it, if that is right"},
	}},
	NotTaken: {uow.ByPM, []Advice{
		{"git ward include {d}", "confirms it, and has the same commit judged again: {what}"},
		{"git ward review {d}", "shows it first"},
		{"git ward directive edit {d}", "says what is to be done without it"},
	}},
	Tampered: {uow.ByPM, []Advice{
		{"git ward directive edit {d}", "the claim changed what is frozen ({what}) and fails: say that it is to stay, or change it yourself on the project's branch"},
		{"git ward review {d}", "shows what it changed"},
	}},
	NoTool: {uow.ByAdmin, []Advice{
		{"{next}", "goes on once the tool is there: {what}"},
		{"git ward directive edit {d}", "has it decided by what is there"},
	}},
	NoProgram: {uow.ByAdmin, []Advice{
		{"{next}", "goes on once {admin}"},
		{"git ward directive edit {d}", "has it done with what is there"},
	}},
	Grew: {uow.ByPM, []Advice{
		{"git ward directive edit {d}", "asks for another approach, smaller steps or another residual"},
		{"git ward review {d}", "shows what there is"},
	}},
	Iterations: {uow.ByPM, []Advice{
		{"git ward directive edit {d}", "raises max_iterations where the residuals fall, or cuts the goal"},
		{"git ward review {d}", "shows what there is"},
	}},
	Effort: {uow.ByPM, []Advice{
		{"git ward directive edit {d}", "raises max_total_tool_calls or max_total_seconds, or cuts the goal"},
		{"git ward review {d}", "shows what there is"},
	}},
	Capped: {uow.ByPM, []Advice{
		{"git ward directive edit {d}", "raises {what}, which counts all that the directive ever used, or cuts the goal"},
		{"git ward review {d}", "shows what there is"},
	}},
	Unpaid: {uow.ByAdmin, []Advice{
		{"git ward directive edit {d}", "continues it once the admin has raised {what}"},
		{"git ward review {d}", "shows what there is"},
	}},
	TimeUp: {uow.ByNobody, []Advice{
		{"git ward directive edit {d}", "has the next launch continue it, with its own time; no limit has to be raised"},
		{"git ward review {d}", "shows what there is"},
	}},
	Cancelled: {uow.ByPM, []Advice{
		{"git ward directive edit {d}", "has it worked on again, as the new text says"},
		{"git ward drop {d}", "closes the directive, too"},
	}},
	Pressed: {uow.ByAdmin, []Advice{
		{"{next}", "goes on at once; else it is tried again by itself"},
	}},
	Unjudged: {uow.ByAdmin, []Advice{
		{"{next}", "asks for the verdict at once, when the launcher runs (git ward status); else it is tried again by itself"},
	}},
	Refused: {uow.ByPM, []Advice{
		{"{next}", "says how to do it without what was refused; {what}"},
		{"git ward directive edit {d}", "says it in the directive"},
	}},
	NothingMade: {uow.ByPM, []Advice{
		{"{next}", "says what is to be changed, and where"},
		{"git ward directive edit {d}", "says it in the directive"},
	}},
	NotStarted: {uow.ByPM, []Advice{
		{"git ward directive edit {d}", "has it worked on again: say what a start needs, with a criterion that starts it"},
		{"git ward review {d}", "shows what there is"},
	}},
	Undeclared: {uow.ByPM, []Advice{
		{"git ward directive edit {d}", "says what is missing"},
	}},
	Stuck: {uow.ByPM, []Advice{
		{"{next}", "says what it did not know, once what is named above is out of the way"},
		{"git ward directive edit {d}", "says it in the directive"},
	}},
}

// By returns who can fix the cause.
func (c Cause) By() uow.Mender { return remedy[c].by }

// Advice lists what a person can do after the loop of a unit, such as D-1.1, ended. what is the
// detail of the cause in a few words; next is the command that resumes the unit, "" for none. It
// comes first: the entries before it in the table do not help that unit.
func (c Cause) Advice(unit, what, next string) []Advice {
	directive, _, _ := strings.Cut(unit, ".")
	fill := strings.NewReplacer("{next}", cmp.Or(next, "git ward uow fork "+unit), "{d}", directive, "{what}", what, "{admin}", uow.NoTool.Mend(unit))
	var list []Advice
	for _, a := range remedy[c].list {
		list = append(list, Advice{fill.Replace(a.Type), fill.Replace(a.Why)})
	}
	list = slices.CompactFunc(list, func(a, b Advice) bool { return a.Type == b.Type })
	if next == "" {
		return list
	}
	if at := slices.IndexFunc(list, func(a Advice) bool { return a.Type == next }); at >= 0 {
		return list[at:]
	}
	return append([]Advice{{Type: next}}, list...)
}

// about returns the detail of the cause, for Advice.
func (o Outcomes) about() string {
	switch v := o.Verdict; o.cause() {
	case WithChanges:
		return some(o.Last.Left)
	case Doubted:
		var doubts []string
		for _, d := range v.Against() {
			doubts = append(doubts, d.Words())
		}
		return strings.Join(doubts, "; ")
	case NotTaken:
		return some(v.Unsaid())
	case Tampered:
		return some(v.Deviations)
	case NoTool:
		return v.MissingTool.Words()
	case Capped:
		return o.Limit
	case Unpaid:
		if o.Limit == "" {
			return "what the provider's account has"
		}
		return o.Limit + " in the host's config.toml"
	case Refused:
		return o.Refused
	}
	return ""
}

// some joins the first five paths of a list and counts the rest.
func some(paths []string) string {
	const most = 5
	if len(paths) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(paths[:most], ", "), len(paths)-most)
	}
	return strings.Join(paths, ", ")
}

// Advice lists what a person can do after the end that the report describes; next is the command
// that resumes its unit, "" for none.
func (r Report) Advice(next string) (list []string) {
	for _, a := range r.Cause.Advice(r.LoopID, r.About, next) {
		list = append(list, a.String())
	}
	return list
}

// next is the command by which the unit goes on after the loop's end, as far as the end alone says.
func (o Outcomes) next() string {
	event, reason, _ := uow.Exit(string(o.Status))
	directive, _, _ := strings.Cut(o.Declaration.LoopID, ".")
	r := &uow.Record{ID: o.Declaration.LoopID, Directive: directive, ReasonCode: o.Decision.Reason.Step(reason), Policy: uow.DefaultPolicy()}
	switch event {
	case uow.Block:
		r.State = uow.ZombiedSoft
	case uow.RequestApproval:
		r.State = uow.PendingApproval
	}
	return r.Next()
}

// Step maps a stop reason to the reason of the unit's last step; exit is the default.
func (r StopReason) Step(exit uow.Reason) uow.Reason { return cmp.Or(steps[r], exit) }

var steps = map[StopReason]uow.Reason{BackpressureSignal: uow.Backpressure, NotIncluded: uow.NotIncluded, ToolMissing: uow.NoTool, StartFailed: uow.NotStarted, VerdictUnavailable: uow.VerdictTimeout}

// recommendation returns the field that 003 requires for a spent budget (section 16).
func (c Cause) recommendation() string {
	switch c {
	case Iterations, Effort, Capped:
		return "continue with a higher number, or cut the goal"
	case Unpaid:
		return "continue with more of the admin's budget"
	case TimeUp:
		return "continue in the next launch"
	}
	return "more of the budget would not help: see recommended_next_actions"
}
