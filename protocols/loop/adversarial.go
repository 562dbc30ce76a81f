package loop

import (
	"fmt"
	"slices"
)

// MissingTool is a program that a directive's command needs, and that is missing where
// commands run.
type MissingTool struct {
	Tool    string `json:"tool"`
	Command string `json:"command"` // the line that wants it
	Place   string `json:"place"`   // where it is not: "the image NAME"
	Remedy  string `json:"remedy"`  // what brings it there
}

// Words is the full sentence for a person.
func (m MissingTool) Words() string {
	return fmt.Sprintf("%s: not found in %s (`%s` needs it); %s", m.Tool, m.Place, m.Command, m.Remedy)
}

// Lacking is the verdict where a program is missing: NONE, for that reason.
func (v Verdict) Lacking(m MissingTool) Verdict {
	if v.Verdict == None {
		v.MissingTool, v.Reason = &m, m.Words()
	}
	return v
}

// Unproved is the verdict where the program that was claimed has passed no probation: NONE,
// for that reason.
func (v Verdict) Unproved(reason string) Verdict {
	if v.Verdict != None {
		v.Verdict, v.Lane, v.Rung, v.Untried, v.Reason = None, LaneC, 0, true, reason
	}
	return v
}

// Lacks is the decision when something is missing that the loop cannot provide: a program that
// decides, the claimed program's probation, or the PM's word. missing is false if nothing is.
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

// The kinds of runs of all commands.
const (
	RunPlain       = "plain"
	RunAgain       = "again"        // the same once more, for rung 274177
	RunAll         = "all"          // on all of the claim (PROOF-1)
	RunShuffled    = "shuffled"     // tests in another order, as far as the tools can
	RunCold        = "cold"         // without any build that was kept
	RunSecondImage = "second_image" // [verify] second_image
)

// What a control says about a command that passed with every test broken (PROOF-3).
const (
	ControlFails         = "fails" // as it should
	ControlCannotFail    = "cannot_fail"
	ControlVaries        = "varies"         // a test fails for no more than being looked at
	ControlNotSeen       = "not_seen"       // it fails, and no test, or not each, was seen to come to its end
	ControlAnyValue      = "any_value"      // something decides it, and not by what it compares with
	ControlNotApplicable = "not_applicable" // what Ward can break was broken, and decides it not
	ControlNotTried      = "not_tried"      // the work's own program decides it, and nothing could be broken
)

// Refuted reports whether a command counts as not met because of its control.
func Refuted(says string) bool { return says == ControlCannotFail || says == ControlVaries }

// ControlRuns is how often controls run a command at most: twice without the work, then with its
// tests, with each test broken, and once for tests that are gone; four times to tell what tests
// decide, or eight times three for tests that did not run; eight times with other values or no
// truths, twice with the work's programs ending at once, twice with them saying how they were
// started, three times for rows of tables, and once to see which files are compared with and
// twice for each of eight kinds of them. Of a command that tests decide each of eight is
// broken alone, with six runs beside, single comparisons are asked, and each of six of the work's
// sources twice whether it checks; four programs are asked alone with other values, or no truths,
// and three times once more. What the PM's line breaks is found in two runs, and eight files of it
// are broken alone. Of another command, six of the work's files are changed three times each, and
// once all of them.
const ControlRuns = 116 + AskRuns

// MaxAsked bounds how many comparisons of a command's tests are asked by themselves whether
// another value would have done, and AskRuns how many runs of it that takes (PROOF-3).
const (
	MaxAsked = 16
	AskRuns  = 3 * MaxAsked
)

// ControlWords are what the controls of a command say, for people; before: it held without
// the work, too.
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

// RunEnd is how a run of all commands ended: the first exit code that is not 0.
type RunEnd struct {
	Kind string `json:"kind"`
	Exit int    `json:"exit"`
}

// Mutants has the results of changing the claim's own lines, one at a time. A change that the
// commands did not notice survived.
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
