package loop

import (
	"fmt"
	"slices"
)

// MissingTool is a program that a directive's command needs and that is not installed where the
// command runs.
type MissingTool struct {
	Tool    string `json:"tool"`
	Command string `json:"command"` // the line that wants it
	Place   string `json:"place"`   // where it was looked for: "the image NAME"
	Remedy  string `json:"remedy"`  // how to install it
}

// Words describes the missing program in one sentence for people.
func (m MissingTool) Words() string {
	return fmt.Sprintf("%s: not found in %s (`%s` needs it); %s", m.Tool, m.Place, m.Command, m.Remedy)
}

// Lacking returns v with m as its reason. A verdict other than NONE is returned unchanged.
func (v Verdict) Lacking(m MissingTool) Verdict {
	if v.Verdict == None {
		v.MissingTool, v.Reason = &m, m.Words()
	}
	return v
}

// Unproved turns a verdict into NONE because the claimed program has not passed its probation.
func (v Verdict) Unproved(reason string) Verdict {
	if v.Verdict != None {
		v.Verdict, v.Lane, v.Rung, v.Untried, v.Reason = None, LaneC, 0, true, reason
	}
	return v
}

// Lacks returns the decision if the verdict waits for something that the loop cannot provide: a
// missing program, the claimed program's probation, or the PM's word. Otherwise missing is false.
func (v Verdict) Lacks() (d Decision, missing bool) {
	switch {
	case v.MissingTool != nil:
		return Decision{InvariantBroken, ToolMissing, v.MissingTool.Words()}, true
	case v.Untried:
		return Decision{InvariantBroken, StartFailed, v.Reason}, true
	case v.WantsWord():
		return Decision{NullDetected, NotIncluded, v.Reason}, true
	}
	return d, false
}

// RunEnd.Kind: why all commands were run.
const (
	RunPlain       = "plain"
	RunAgain       = "again"        // a repetition, for rung 274177
	RunAll         = "all"          // on the whole claim (PROOF-1)
	RunShuffled    = "shuffled"     // tests in another order, where the runner supports it
	RunCold        = "cold"         // without cached builds
	RunSecondImage = "second_image" // [verify] second_image
)

// What a control says about a command that passed with every test broken (PROOF-3).
const (
	ControlFails         = "fails" // as it should
	ControlCannotFail    = "cannot_fail"
	ControlVaries        = "varies"         // a test that passed fails when it only reports its result, or is broken alone
	ControlNotSeen       = "not_seen"       // it fails, but not every test was seen to run to its end
	ControlAnyValue      = "any_value"      // it passes with other expected values
	ControlNotApplicable = "not_applicable" // nothing that Ward could break changed its result
	ControlNotTried      = "not_tried"      // only the work's own program decides it; Ward could break nothing
)

// Refuted reports whether a command counts as not met because of its control.
func Refuted(says string) bool { return says == ControlCannotFail || says == ControlVaries }

// ControlRuns bounds how often the controls run one command. The largest parts: 24 runs (three for
// each of eight) for tests that did not run; 17 for files that the command compares with (one to
// find them, two for each of eight kinds); eight tests broken one at a time; two runs for each of
// six of the work's sources; and 19 where no tests decide (six files of the work, three changes
// each, then all at once). AskRuns is for single comparisons.
const ControlRuns = 116 + AskRuns

// MaxAsked bounds how many comparisons of a command's tests are tried one at a time with another
// value; AskRuns bounds the runs of the command that this takes (PROOF-3).
const (
	MaxAsked = 16
	AskRuns  = 3 * MaxAsked
)

// ControlWords describes the result of a command's controls for people; before says that the
// command also passed without the work.
func ControlWords(says string, before bool) string {
	words := map[string]string{
		ControlFails:         "it fails with every test broken, as it should",
		ControlCannotFail:    "it cannot fail: it holds with tests broken that it should run",
		ControlVaries:        "it varies: a test that held fails when it only reports its result, or is broken alone",
		ControlNotSeen:       "it fails with every test broken, but not every test was seen to run to its end (something else may have failed first)",
		ControlAnyValue:      "it holds with other values in what it compares",
		ControlNotApplicable: "nothing that Ward can break decides it",
		ControlNotTried:      "no control: nothing that Ward can break decides it, and whether it can fail was not tried (- breaks: COMMAND in the directive tries it)",
	}[says]
	switch {
	case before && words == "":
		return "it held before the work"
	case before:
		return words + ", and it held before the work"
	}
	return words
}

// RunEnd is the result of a run of all commands: the first exit code other than 0, or 0.
type RunEnd struct {
	Kind string `json:"kind"`
	Exit int    `json:"exit"`
}

// Mutants counts mutations of the claim's own lines, made one at a time. A mutant survives if
// every command still passes.
type Mutants struct {
	Made     int      `json:"made"`
	Killed   int      `json:"killed"`
	Survived []string `json:"survived"` // path:line: what was changed
}

// AgainstIt adds the runs that rung 65537 requires besides the plain ones (LOOP-11). Each must
// reach the verdict of the plain runs.
func (v Verdict) AgainstIt(p Declaration, kind string, t Trial) Verdict {
	v.Runs = append(v.Runs, EndOf(kind, t))
	if verdict, _ := p.judge(t); v.Verdict == None || verdict == v.Verdict {
		return v
	}
	v.Agree, v.Residual, v.Rung = false, Residual{}, 0
	v.Verdict, v.Lane = None, LaneC
	v.Reason = map[string]string{
		RunShuffled:    "the commands are not met when tests run in another order",
		RunCold:        "the commands are not met without what earlier builds left",
		RunSecondImage: "the commands are not met in the second image",
	}[kind]
	return v
}

// EndOf returns how a run ended.
func EndOf(kind string, t Trial) RunEnd {
	for _, o := range append(slices.Clone(t.Criteria), outcomeOf(t.Residual), outcomeOf(t.Suite), outcomeOf(t.Validate)) {
		if o.ExitCode != 0 {
			return RunEnd{kind, o.ExitCode}
		}
	}
	return RunEnd{kind, 0}
}

func outcomeOf(o *Outcome) Outcome {
	if o == nil {
		return Outcome{}
	}
	return *o
}
