package loop

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"git-ward/internal/diag"
)

// VerdictsRef is the notes ref with the host's verdicts on claimed commits.
const VerdictsRef = "refs/notes/certificates"

// MaxVerdict bounds one verdict, which is one line of a note, in bytes.
const MaxVerdict = 256 << 10

// maxTail bounds the output that a verdict keeps of one command.
const maxTail = 2 << 10

// Outcome is the result of one command (of a criterion, the residual, the suite or the validation)
// on the claimed commit, in a fresh container of its own.
type Outcome struct {
	Criterion    string `json:"criterion"` // "" for a command of no criterion
	Command      string `json:"command"`
	ExitCode     int    `json:"exit_code"`
	Met          bool   `json:"met"` // the command ran to its end and exited 0
	OutputSHA256 string `json:"output_sha256"`
	Tail         string `json:"tail"`    // the end of its output
	Trouble      string `json:"trouble"` // why it did not run to its end or proves nothing; "" for none
	// Control is the result of its controls (PROOF-3), one of the Control constants; "" if none ran.
	Control string `json:"control,omitempty"`
	Before  bool   `json:"before,omitzero"` // it was also met before the work
	// Process is SeparateProcess if none of the command's tests shares a process with the work, and
	// "" if that is unknown.
	Process string `json:"process,omitempty"`
}

// Passed reports whether the command met what it is for, and proves something by it.
func (o Outcome) Passed() bool { return o.Met && o.ExitCode == 0 && o.Trouble == "" }

// failed reports whether the command failed; false for nil, a command that did not have to run.
func (o *Outcome) failed() bool { return o != nil && (!o.Met || o.ExitCode != 0) }

// Trial is one run of all commands. Rung 274177 requires two that agree.
type Trial struct {
	Criteria []Outcome // of the criteria with a command, in the directive's order
	Residual *Outcome  // nil when the directive names no residual command
	Value    Residual  // what Residual printed; null if it could not be parsed
	Suite    *Outcome  // [verify] suite; nil when none is set
	Validate *Outcome  // [bootstrap] build and validate; nil when they do not apply
}

// Verdict is the host's decision on a claimed commit (LOOP-5): one line of JSON in its note.
// It records how these commands, in this image, ended on this commit; code can still cheat its
// own tests.
type Verdict struct {
	SchemaVersion string    `json:"schema_version"`
	Unit          string    `json:"unit"`
	DirectiveHash string    `json:"directive_hash"`
	Commit        string    `json:"commit"`
	Claim         string    `json:"claim"` // hash of the journal's record that claimed it
	Iteration     int       `json:"iteration"`
	Verdict       string    `json:"verdict"` // EXACT, CONVERGED or NONE
	Lane          Lane      `json:"lane"`    // A for EXACT, B for CONVERGED, C for NONE
	Reason        string    `json:"reason"`
	Residual      Residual  `json:"residual"`
	Rp            Residual  `json:"R_p"`
	Criteria      []Outcome `json:"criteria"`
	ResidualRun   *Outcome  `json:"residual_run"`
	Suite         *Outcome  `json:"suite"`
	Validate      *Outcome  `json:"validate"`
	// Left are paths that differ from main and do not count as work. The commands ran without
	// them, which decides, and with them (PROOF-1). If there are any, the agent may not merge.
	// LeftMore counts those beyond the list.
	Left     []Left   `json:"left,omitempty"`
	LeftMore int      `json:"left_more,omitzero"`
	Included []string `json:"included,omitempty"` // paths that are work by the PM's word
	// NotIncluded says that the commands pass only with the left-out paths, so that the verdict
	// waits for the PM's word.
	NotIncluded bool `json:"not_included,omitzero"`
	// OnlyGuards says that everything that holds also held before the work, so that nothing proves
	// the work, and the verdict waits for the PM's word (PROOF-3).
	OnlyGuards bool `json:"only_guards,omitzero"`
	// Unchanged says that the commit changes nothing in the project.
	Unchanged bool `json:"unchanged,omitzero"`
	// Additions, Accepted and Needs are read from verdicts of earlier versions: the paths that they
	// left out, the paths that a directive accepted, and the line that it lacked.
	Additions []string `json:"additions,omitempty"`
	Accepted  []string `json:"accepted,omitempty"`
	Needs     string   `json:"needs,omitempty"`
	Observed
	// Process is SameProcess if the work can run in its tests' process, and so fake their results,
	// SeparateProcess if it cannot for any test, and "" if it is no program.
	Process string `json:"process,omitempty"`
	// MissingTool is a program that the commands need and that is not installed where they run.
	// The loop ends, because no work would help.
	MissingTool *MissingTool `json:"missing_tool,omitempty"`
	// Untried says that only the claimed program's probation is missing. The claim is judged again
	// after it (BOOT-3).
	Untried bool `json:"untried,omitzero"`
	// Runs are the runs of all commands, in order, each with its kind (LOOP-11).
	Runs []RunEnd `json:"runs,omitempty"`
	// Mutants is the result of mutating the claim's own lines; nil if that was not done.
	Mutants *Mutants `json:"mutants,omitempty"`
	Surface *Surface `json:"surface,omitempty"` // nil if none was asked for
	Gate    string   `json:"gate,omitempty"`    // commit of refs/notes/audit that has the gate's record of the push
	// NotDone are the parts of a declared rung that were not done, each with the reason.
	NotDone []string `json:"not_done,omitempty"`
	// Cache says which part of the host's cache of dependencies the commands could read, and for
	// which commit of main (LOOP-12); "" for none.
	Cache   string `json:"cache,omitempty"`
	Main    string `json:"main,omitempty"`    // tip of the project's branch when it was judged
	Base    string `json:"base,omitempty"`    // the commit of that branch that the work was rebased on
	Takes   string `json:"takes,omitempty"`   // the claimed commit, if Commit is the merge that would take it into the project (PROOF-7)
	Control string `json:"control,omitempty"` // commit of the control branch with directive and policy, if that is not the project's branch
	Record  string `json:"record,omitempty"`  // the record's commit that the claim names (REC-4)
	// Assisted are the programs and models that worked on the directive, as the gateway saw
	// them: "PROGRAM:MODEL".
	Assisted   []string `json:"assisted,omitempty"`
	Deviations []string `json:"deviations"` // frozen paths that the commit changed; all runs used main's version
	Image      string   `json:"image"`
	Fence      string   `json:"fence"`            // "podman/RUNTIME" ("podman" before there was a choice: runc), or "none"
	Shared     string   `json:"shared,omitempty"` // why the commands could reach each other; "" if they could not
	Trials     int      `json:"trials"`           // runs of all commands
	Agree      bool     `json:"agree"`            // all trials gave the same verdict and residual
	Rung       int      `json:"rung"`             // the rung that the verdict itself proves; 0 for NONE
	Time       string   `json:"time"`             // RFC 3339, UTC
	Caveat     string   `json:"caveat"`
}

// Caveat is part of every verdict.
const Caveat = "These commands, in this image, ended like this on this commit. Code can still cheat its own tests: read the change before you merge it."

// FenceNone marks a verdict whose commands ran outside any fence.
const FenceNone = "none"

// Judge makes the verdict from one or more trials of a declaration's commands. The caller fills in
// what does not follow from them, such as commit, image and time.
//
// EXACT: every criterion has a command and is met, and a declared residual is zero. CONVERGED: the
// residual is known and below R_p. The declaration must allow the type, and the suite and the
// validation, if there are any, must pass.
func Judge(p Declaration, trials []Trial) Verdict {
	v := Verdict{SchemaVersion: SchemaVersion, Unit: p.LoopID, DirectiveHash: p.DirectiveHash, Verdict: None, Lane: LaneC, Rp: p.Rp,
		Criteria: []Outcome{}, Deviations: []string{}, Trials: len(trials), Caveat: Caveat}
	if len(trials) == 0 {
		v.Reason = "nothing was run"
		return v
	}
	last := trials[len(trials)-1]
	v.Criteria = append(v.Criteria, last.Criteria...)
	v.ResidualRun, v.Suite, v.Validate = last.Residual, last.Suite, last.Validate
	v.Residual = p.residual(last)
	v.Verdict, v.Reason = p.judge(last)
	v.Agree = true
	for _, t := range trials {
		verdict, _ := p.judge(t)
		r := p.residual(t)
		if verdict != v.Verdict || r.IsNull() != v.Residual.IsNull() || !r.IsNull() && !r.Equal(v.Residual.Decimal) {
			v.Agree = false
		}
	}
	if !v.Agree {
		v.Residual = Residual{}
		v.Verdict, v.Reason = None, fmt.Sprintf("%d runs of the same commands on the same commit did not agree", len(trials))
	}
	v.Lane = laneOf(v.Verdict)
	if v.Verdict != None {
		if v.Rung = Rung641; len(trials) >= 2 {
			v.Rung = Rung274177
		}
	}
	return v
}

// residual returns a trial's distance to the goal: the residual command's value or, without such a
// command, the number of criteria that are not met.
func (p Declaration) residual(t Trial) Residual {
	if p.Residual != "" {
		if t.Residual == nil || !t.Residual.Met {
			return Residual{}
		}
		return t.Value
	}
	open := 0
	for _, c := range p.Commands {
		if !t.met(c) {
			open++
		}
	}
	return count(open)
}

func (t Trial) met(c Criterion) bool {
	for _, o := range t.Criteria {
		if o.Criterion == c.Text && o.Command == c.Command {
			return c.Command != "" && o.Passed()
		}
	}
	return false
}

// trouble returns, in brackets, why a criterion's command did not run to its end, or "".
func (t Trial) trouble(criterion string) string {
	for _, o := range t.Criteria {
		if o.Criterion == criterion && o.Trouble != "" {
			return " (" + o.Trouble + ")"
		}
	}
	return ""
}

// evaluated reports whether a criterion's command ran to its end, met or not. If one did not, no
// certificate is issued (003, section 12).
func (t Trial) evaluated(c Criterion) bool {
	return slices.ContainsFunc(t.Criteria, func(o Outcome) bool { return o.Criterion == c.Text && o.Command == c.Command && o.Trouble == "" })
}

func (p Declaration) judge(t Trial) (verdict, reason string) {
	if t.Suite.failed() {
		return None, "the suite did not pass"
	}
	if t.Validate.failed() {
		return None, "[bootstrap] validate did not pass"
	}
	open, barred, evaluated := "", "", true
	for _, c := range p.Commands {
		switch {
		case c.Command == "":
			barred = c.Text
			continue // the Skeptic decides it (COMMS-2)
		case !t.met(c) && open == "":
			open = c.Text
		}
		evaluated = evaluated && t.evaluated(c)
	}
	r := p.residual(t)
	if p.applies(Exact) && len(p.Commands) > 0 && open == "" && barred == "" && r.Zero() {
		return Exact, "every criterion is met"
	}
	if p.applies(Converged) && len(p.Commands) > 0 && evaluated && p.Residual != "" && r.Less(p.Rp.Decimal) {
		return Converged, "the residual " + r.Words() + " is below R_p " + p.Rp.Words()
	}
	switch {
	case len(p.Commands) == 0:
		return None, "there are no criteria"
	case open != "":
		return None, "not met: " + open + t.trouble(open)
	case barred != "" && p.applies(Exact):
		return None, "no command decides: " + barred
	case r.IsNull():
		return None, "the residual is not known"
	}
	return None, "the residual is " + r.Words()
}

// Tail returns the end of a command's output that a verdict keeps.
func Tail(output []byte) string {
	return strings.ToValidUTF8(string(output[max(0, len(output)-maxTail):]), "?")
}

// Line encodes the verdict as one line of its note: canonical JSON (RFC 8785), at most MaxVerdict
// bytes. A longer line could not be read again, and the claim would be judged for ever. So Line
// drops the criteria's outputs and the ends of lists, and returns an error if that is not enough.
func (v Verdict) Line() ([]byte, error) {
	v.Included, v.Deviations = listed(v.Included), listed(v.Deviations)
	v.Observed = v.Observed.listed()
	v = v.listing(maxLeft)
	if m := v.Mutants; m != nil {
		v.Mutants = &Mutants{m.Made, m.Killed, listed(m.Survived)}
	}
	if s := v.Surface; s != nil {
		v.Surface = &Surface{s.Before, s.After, listed(s.Gone), listed(s.New)}
	}
	line, err := canonical(v)
	if err != nil || len(line) <= MaxVerdict {
		return line, err
	}
	v.Criteria = slices.Clone(v.Criteria)
	for i := range v.Criteria {
		v.Criteria[i].Tail = ""
	}
	v = v.listing(maxListed)
	line, err = canonical(v)
	if err == nil && len(line) > MaxVerdict {
		return nil, fmt.Errorf("the verdict on %.12s has %d bytes without any output, more than %d", v.Commit, len(line), MaxVerdict)
	}
	return line, err
}

// canonical encodes v by RFC 8785 and makes invisible characters visible, because people read
// evidence and notes, which contain programs' output.
func canonical(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	value := jsontext.Value(diag.CleanJSON(data))
	return value, value.Canonicalize()
}

// ParseVerdicts parses a note of VerdictsRef: one verdict per line, oldest first. For a line that is
// no verdict it returns an error along with the verdicts of the other lines.
func ParseVerdicts(note []byte) (list []Verdict, err error) {
	n := 0
	for line := range bytes.Lines(note) {
		n++
		if len(bytes.TrimSpace(line)) == 0 {
			continue // git notes merge adds them
		}
		v, bad := parseVerdict(line)
		if bad != nil {
			err = errors.Join(err, fmt.Errorf("line %d of the note: %w", n, bad))
			continue
		}
		list = append(list, v)
	}
	return list, err
}

func parseVerdict(line []byte) (v Verdict, err error) {
	if len(line) > MaxVerdict {
		return v, fmt.Errorf("a verdict of more than %d bytes", MaxVerdict)
	}
	if err := json.Unmarshal(line, &v, json.RejectUnknownMembers(true)); err != nil {
		return Verdict{}, err
	}
	if v.Verdict != Exact && v.Verdict != Converged && v.Verdict != None {
		return Verdict{}, fmt.Errorf("%.40q is not a verdict", v.Verdict)
	}
	return v, nil
}

// Sound reports whether a verdict's result is consistent with its outcomes. EXACT needs every
// criterion met and a residual of zero, CONVERGED a residual below R_p; both need trials that agree
// and a suite and validation that did not fail.
func (v Verdict) Sound() bool {
	if v.Verdict == None {
		return true
	}
	unmet := slices.ContainsFunc(v.Criteria, func(o Outcome) bool { return !o.Passed() })
	if !v.Agree || v.Trials < 1 || v.Suite.failed() || v.Validate.failed() {
		return false
	}
	if v.Verdict == Exact {
		return len(v.Criteria) > 0 && !unmet && v.Residual.Zero()
	}
	return v.Residual.Less(v.Rp.Decimal)
}

// Unsaid lists what the PM must decide before the claim can pass.
func (v Verdict) Unsaid() []string {
	switch {
	case v.OnlyGuards && v.Unchanged:
		return []string{"a claim that changes nothing, for all holds already"}
	case v.OnlyGuards:
		return []string{"criteria that all held before the work"}
	}
	return v.LeftWords()
}

// WantsWord reports whether the claim passes only with the PM's word.
func (v Verdict) WantsWord() bool { return v.NotIncluded || v.OnlyGuards }

// Proves reports whether the verdict is EXACT or CONVERGED for this commit, unit and text of the
// directive. A verdict on another commit or loop that got into this note proves nothing.
func (v Verdict) Proves(commit, unit, directiveHash string) bool {
	return v.Commit == commit && (unit == "" || v.Unit == unit) && v.DirectiveHash == directiveHash &&
		(v.Verdict == Exact || v.Verdict == Converged) && v.Agree
}
