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

// VerdictsRef is where the host's verdicts are: notes on claimed commits.
const VerdictsRef = "refs/notes/certificates"

// MaxVerdict bounds one verdict, in bytes; it is one line of a note.
const MaxVerdict = 256 << 10

// maxTail bounds the output that a verdict keeps of one command.
const maxTail = 2 << 10

// Outcome is what one command of a criterion, the residual, the suite or the
// validation did on the claimed commit, in its own fresh container.
type Outcome struct {
	Criterion    string `json:"criterion"` // "" for what is none
	Command      string `json:"command"`
	ExitCode     int    `json:"exit_code"`
	Met          bool   `json:"met"` // the command ran to its end and exited 0
	OutputSHA256 string `json:"output_sha256"`
	Tail         string `json:"tail"`    // of its output
	Trouble      string `json:"trouble"` // why it did not run to its end, or proves nothing; "" when it did
	// Control is what came of it with every test broken (PROOF-3), "" where that was not tried.
	Control string `json:"control,omitempty"`
	Before  bool   `json:"before,omitzero"` // it was met before the work, too
	// Process is SeparateProcess where no test of the command's shares a process with the work;
	// "" where that is not known.
	Process string `json:"process,omitempty"`
}

// failed is false for what did not have to run.
func (o *Outcome) failed() bool { return o != nil && (!o.Met || o.ExitCode != 0) }

// Trial is one run of all commands. Rung 274177 wants two that agree.
type Trial struct {
	Criteria []Outcome // of the criteria with a command, in the directive's order
	Residual *Outcome  // nil when the directive names no residual command
	Value    Residual  // what Residual printed; null when it could not be read
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
	// Left are paths that the commit has otherwise than main and that are no work: the
	// commands ran without them, which decides, and with them (PROOF-1). A verdict with
	// such carries no merge by the agent. LeftMore is how many there are beyond the list.
	Left     []Left   `json:"left,omitempty"`
	LeftMore int      `json:"left_more,omitzero"`
	Included []string `json:"included,omitempty"` // paths that are work by the PM's word
	// NotIncluded says that the commands pass with what was left out, and only so: the
	// PM's word is waited for.
	NotIncluded bool `json:"not_included,omitzero"`
	// OnlyGuards says that all holds, and held before the work, so that nothing proves the
	// work: the PM's word is waited for (PROOF-3).
	OnlyGuards bool `json:"only_guards,omitzero"`
	// Unchanged says that the commit changes nothing of the project, so that what is met held
	// before.
	Unchanged bool `json:"unchanged,omitzero"`
	// Additions, Accepted and Needs are of verdicts of earlier versions: paths that they
	// left out, paths that a directive accepted, and the line that it lacked.
	Additions []string `json:"additions,omitempty"`
	Accepted  []string `json:"accepted,omitempty"`
	Needs     string   `json:"needs,omitempty"`
	Observed
	// Process is SameProcess where the work can run in its tests' process, and so speak
	// for them, SeparateProcess where it can for none; "" where it is no program.
	Process string `json:"process,omitempty"`
	// MissingTool is a program that the commands want and that is not where they run:
	// the loop ends, for no work would help.
	MissingTool *MissingTool `json:"missing_tool,omitempty"`
	// Untried says that all else is met, and that the program has passed no probation: the
	// claim is judged again when it has (BOOT-3).
	Untried bool `json:"untried,omitzero"`
	// Runs are the runs of all commands, in order, with what each was for (LOOP-11).
	Runs []RunEnd `json:"runs,omitempty"`
	// Mutants is how the commands took changes of the claim's own lines; nil where none
	// were made.
	Mutants *Mutants `json:"mutants,omitempty"`
	Surface *Surface `json:"surface,omitempty"` // nil where none was asked for
	Gate    string   `json:"gate,omitempty"`    // commit of refs/notes/audit that has the gate's record of the push
	// NotDone are the parts of a declared rung that were not done, with why.
	NotDone []string `json:"not_done,omitempty"`
	// Cache is what the commands got of the host's cache of dependencies, and of which
	// commit of main (LOOP-12); "" for nothing.
	Cache   string `json:"cache,omitempty"`
	Main    string `json:"main,omitempty"`    // tip of the project's branch when it was judged
	Base    string `json:"base,omitempty"`    // the commit of it that the work was put on
	Takes   string `json:"takes,omitempty"`   // the claimed commit, where Commit is the merge by which the project would take it (PROOF-7)
	Control string `json:"control,omitempty"` // commit of the control branch that said directive and policy, where that is another branch
	Record  string `json:"record,omitempty"`  // the record's commit that the claim names (REC-4)
	// Assisted are the programs and models that worked on the directive, as the gateway saw
	// them: "PROGRAM:MODEL".
	Assisted   []string `json:"assisted,omitempty"`
	Deviations []string `json:"deviations"` // frozen paths that the commit changed, and main's version in every run
	Image      string   `json:"image"`
	Fence      string   `json:"fence"`            // "podman/RUNTIME" ("podman" before there was a choice: runc), or "none"
	Shared     string   `json:"shared,omitempty"` // why the commands could reach each other; "" where they could not
	Trials     int      `json:"trials"`           // runs of all commands
	Agree      bool     `json:"agree"`            // all trials gave the same verdict and residual
	Rung       int      `json:"rung"`             // achieved by the verdict itself; 0 for NONE
	Time       string   `json:"time"`             // RFC 3339, UTC
	Caveat     string   `json:"caveat"`
}

// Caveat is part of every verdict.
const Caveat = "These commands, in this image, ended like this on this commit. Code can still cheat its own tests: read the change before you merge it."

// FenceNone marks a verdict whose commands ran outside any fence.
const FenceNone = "none"

// Judge makes the verdict from one or more trials of a declaration's commands. It fills in
// what follows from them; the caller adds place and time.
//
// EXACT: every criterion has a command and is met, and a declared residual is
// zero. CONVERGED: the residual is known and below R_p. Either must be declared,
// and the suite and the validation, where there are such, must pass.
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

// residual is a trial's distance to the goal: what the residual command printed,
// or how many criteria are not met.
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
			return c.Command != "" && o.Met && o.ExitCode == 0 && o.Trouble == ""
		}
	}
	return false
}

// trouble is why a criterion's command did not come to its own end, in brackets.
func (t Trial) trouble(criterion string) string {
	for _, o := range t.Criteria {
		if o.Criterion == criterion && o.Trouble != "" {
			return " (" + o.Trouble + ")"
		}
	}
	return ""
}

// evaluated reports whether a criterion's command came to an end of its own, met or not
// (003, section 12: what is not evaluated lets no certificate be issued).
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
			continue // what the Skeptic finds decides (COMMS-2)
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

// Tail cuts a command's output to the end that a verdict keeps.
func Tail(output []byte) string {
	return strings.ToValidUTF8(string(output[max(0, len(output)-maxTail):]), "?")
}

// Line is the verdict as one line of its note, canonical JSON (RFC 8785), of at most
// MaxVerdict bytes: a longer one could never be read again, and the claim would be
// judged for ever. What people want least goes first: outputs, then the ends of lists.
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

// canonical is RFC 8785, with what nobody can see shown: what programs print gets
// into evidence and notes, which people read.
func canonical(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	value := jsontext.Value(diag.CleanJSON(data))
	return value, value.Canonicalize()
}

// ParseVerdicts reads a note of VerdictsRef: one verdict a line, oldest first. A
// line that is not one is an error, and the verdicts around it still count.
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

// Sound reports whether the result of a verdict can follow from its outcomes: EXACT has every
// criterion met and a residual of zero, CONVERGED one below R_p, and both have runs that agree
// and nothing that failed.
func (v Verdict) Sound() bool {
	if v.Verdict == None {
		return true
	}
	unmet := slices.ContainsFunc(v.Criteria, func(o Outcome) bool { return o.failed() || o.Trouble != "" })
	if !v.Agree || v.Trials < 1 || v.Suite.failed() || v.Validate.failed() {
		return false
	}
	if v.Verdict == Exact {
		return len(v.Criteria) > 0 && !unmet && v.Residual.Zero()
	}
	return v.Residual.Less(v.Rp.Decimal)
}

// Unsaid lists what a claim needs the PM's word on.
func (v Verdict) Unsaid() []string {
	switch {
	case v.OnlyGuards && v.Unchanged:
		return []string{"a claim that changes nothing, for all holds already"}
	case v.OnlyGuards:
		return []string{"criteria that all held before the work"}
	}
	return v.LeftWords()
}

// WantsWord reports whether the claim would pass with the PM's word, and does not without it.
func (v Verdict) WantsWord() bool { return v.NotIncluded || v.OnlyGuards }

// Proves reports whether the verdict is EXACT or CONVERGED for this commit, unit
// and text of the directive: a verdict of another commit or another loop, noted
// here by whatever way, proves nothing.
func (v Verdict) Proves(commit, unit, directiveHash string) bool {
	return v.Commit == commit && (unit == "" || v.Unit == unit) && v.DirectiveHash == directiveHash &&
		(v.Verdict == Exact || v.Verdict == Converged) && v.Agree
}
