package loop

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/diag"
)

// HaltingCertificate is the certificate inside the halting report (003, section
// 10.2).
type HaltingCertificate struct {
	Type      string     `json:"type"`
	Lane      Lane       `json:"lane"`
	Final     Residual   `json:"final_residual_decimal_string"`
	Rp        Residual   `json:"R_p_decimal_string"`
	History   []Residual `json:"residual_history_decimal_strings"`
	Checklist []Met      `json:"acceptance_criteria_checklist"`
}

// BestResult is the best iteration of a loop whose budget is spent.
type BestResult struct {
	Path        string   `json:"artifact_path"`
	Residual    Residual `json:"residual"`
	CriteriaMet []string `json:"criteria_met"`
}

// Report is halting_report.json: the members of 003, section 10.2, and those that section 16
// requires for its status.
type Report struct {
	SchemaVersion string              `json:"schema_version"`
	LoopID        string              `json:"loop_id"`
	Goal          string              `json:"goal"`
	Status        Status              `json:"status"`
	StopReason    StopReason          `json:"stop_reason"`
	Certificate   *HaltingCertificate `json:"halting_certificate"` // null before the first iteration
	Iterations    int                 `json:"iterations_completed"`
	Seconds       int                 `json:"total_seconds_elapsed"`
	RungTarget    int                 `json:"verification_rung_target"`
	RungAchieved  int                 `json:"verification_rung_achieved"`
	Profile       Profile             `json:"profile"`
	History       []Residual          `json:"residual_history_decimal_strings"`
	Cause         Cause               `json:"cause,omitempty"` // "" in reports of earlier versions
	About         string              `json:"about,omitempty"` // the detail of the cause; "" for none
	NextActions   []string            `json:"recommended_next_actions,omitempty"`
	Left          []string            `json:"left,omitempty"`   // the changes that the last verdict left out of the work
	Commit        string              `json:"commit,omitempty"` // the commit that the last verdict judges
	Record        string              `json:"record,omitempty"` // the commit of the unit's record that the last claim names

	LearningsFinalPath string      `json:"AGENTS_md_final_path,omitempty"`
	LearningsPath      string      `json:"AGENTS_md_path,omitempty"` // BLOCKED: where the next run reads and writes the learnings
	Model              *ModelUsage `json:"model_usage,omitempty"`    // the worker's own count; absent if it did not count
	ManifestPath       string      `json:"loop_manifest_path,omitempty"`
	BestArtifacts      []Link      `json:"best_artifacts,omitempty"`       // CONVERGED
	Lessons            string      `json:"lessons_for_next_run,omitempty"` // CONVERGED, optional

	DivergenceStart *int   `json:"divergence_start_iteration,omitempty"` // DIVERGED
	LastGood        *int   `json:"last_known_good_iteration,omitempty"`
	Diagnosis       string `json:"diagnosis_attempt,omitempty"`

	Best           *BestResult `json:"best_result_achieved,omitempty"` // BUDGET_EXCEEDED
	Final          *Residual   `json:"final_residual_decimal_string,omitzero"`
	NotConverged   string      `json:"reason_for_non_convergence,omitempty"`
	Count          *int        `json:"iteration_count,omitempty"`
	Elapsed        *int        `json:"elapsed_seconds,omitempty"`
	Summary        string      `json:"AGENTS_md_summary,omitempty"` // see Summary
	Recommendation string      `json:"recommendation,omitempty"`

	LastState  State    `json:"last_known_state,omitempty"` // BLOCKED
	Failed     string   `json:"what_ran_and_failed,omitempty"`
	Signal     string   `json:"signal_detected,omitempty"`
	DetectedAt *int     `json:"iteration_at_detection,omitempty"`
	Partial    string   `json:"partial_results_path,omitempty"`
	Evidence   []Link   `json:"evidence_pointers,omitempty"`
	Next       []string `json:"next_actions,omitempty"`

	Missing []string `json:"missing_fields,omitempty"` // NEED_INFO
	Safe    string   `json:"safe_partials,omitempty"`
}

// Outcomes is the input of NewReport.
type Outcomes struct {
	Declaration Declaration
	Limits      Limits
	Status      Status
	Decision    Decision
	State       State        // in which the loop ended
	Last        *Certificate // of the last iteration, nil before the first
	Verdict     *Verdict     // the host's verdict on the last claim; nil for none
	History     []Residual   // of all iterations
	Best        *Certificate // of the iteration with the best residual, if the status needs it; nil for none
	Used        Usage
	Manifest    Artifacts // of the last iteration
	Rung        int       // achieved, from Rung
	Missing     []string
	Signals     []Signal
	Diagnosis   string // of the Skeptic, on divergence
	Failed      string // what ran and failed, if blocked or if the budget was spent during an iteration
	Over        string // see Findings
	Refused     string // what became of work that the remote refused; "" if it refused none
	Limit       string // the directive's key or the setting that sets the limit in Over; "" if unknown
	Lessons     string
	Learnings   string // LEARNINGS.md at the loop's end
}

// NewReport makes an exit's halting report with all members that its status requires. Check holds
// reports that others wrote to the same contract.
func NewReport(o Outcomes) Report {
	d := o.Declaration
	directive, _, _ := strings.Cut(d.LoopID, ".")
	r := Report{SchemaVersion: SchemaVersion, Model: o.Used.Model, LoopID: d.LoopID, Goal: d.Goal, Status: o.Status, StopReason: o.Decision.Reason,
		Iterations: len(o.History), Seconds: o.Used.Seconds, RungTarget: d.RungTarget, RungAchieved: o.Rung, Profile: d.Profile, History: append([]Residual{}, o.History...),
		Cause: o.cause(), About: o.about(), LearningsFinalPath: Dir(directive) + "/" + LearningsFinal, ManifestPath: Dir(directive) + "/" + ManifestFile}
	r.NextActions = r.Advice(o.next())
	if c := o.Last; c != nil {
		r.Left, r.Commit, r.Record = c.Left, c.Commit, c.Record
		r.Certificate = &HaltingCertificate{c.Type, c.Lane, c.Residual, c.Rp, r.History, c.Checklist}
	}
	if v := o.Verdict; v != nil && (o.Decision.Reason == ToolMissing || o.Decision.Reason == NotIncluded) { // of an iteration that did not end
		r.Commit, r.Record, r.Left = v.Commit, v.Record, listed(v.LeftWords())
	}
	switch r.Status {
	case ExitConverged:
		r.BestArtifacts, r.Lessons = o.Manifest.Links(), o.Lessons
	case ExitDiverged:
		r.diverged(o)
	case ExitBudgetExceeded:
		r.exceeded(o)
	case ExitBlocked, ExitCancelled:
		r.blocked(o, directive)
	case ExitNeedInfo:
		r.Missing = append([]string{}, o.Missing...)
		r.Safe = "Nothing was changed. The directive can be read, and questions about it stand in COMMS.md."
		if r.StopReason == NotIncluded {
			r.Safe = "The work is on its branch, with the evidence in " + Dir(directive) + " of its record; nothing of it is merged. A question about it stands in COMMS.md."
		}
	}
	return r
}

func (r *Report) diverged(o Outcomes) {
	start := max(0, len(r.History)-DivergenceWindow)
	good := max(0, Best(r.History[:start+1]))
	r.DivergenceStart, r.LastGood = &start, &good
	r.Diagnosis = cmp.Or(o.Diagnosis, fmt.Sprintf("the residual grew from %s over %d iterations", r.History[start].Words(), DivergenceWindow))
}

func (r *Report) exceeded(o Outcomes) {
	b := &BestResult{Path: r.ManifestPath, CriteriaMet: []string{}}
	if best := Best(r.History); best >= 0 {
		b.Residual = r.History[best]
	}
	if o.Best != nil {
		for _, m := range o.Best.Checklist {
			if m.Met != nil && *m.Met {
				b.CriteriaMet = append(b.CriteriaMet, m.Criterion)
			}
		}
	}
	final := Residual{}
	if n := len(r.History); n > 0 {
		final = r.History[n-1]
	}
	r.Best, r.Final = b, &final
	r.NotConverged = "the budget was spent while the residual was " + final.Words()
	r.Recommendation = r.Cause.recommendation()
	count, seconds := len(r.History), o.Used.Seconds
	r.Count, r.Elapsed, r.Summary = &count, &seconds, Summary(o.Learnings, r.LoopID)
	if o.Over != "" { // no higher number in the directive would have helped
		r.NotConverged += " (" + o.Over + ")"
		if o.Failed != "" {
			r.NotConverged += "; " + o.Failed
		}
	}
}

func (r *Report) blocked(o Outcomes, directive string) {
	r.LastState = o.State
	r.Failed = cmp.Or(o.Failed, o.Decision.Words)
	r.Evidence = o.Manifest.Links()
	r.LearningsPath, r.Next = LearningsPath, r.NextActions
	if len(o.Signals) > 0 {
		at := max(0, len(o.History)-1)
		r.Signal, r.DetectedAt, r.Partial = o.Signals[0].Words(), &at, Dir(directive)
	}
}

// Check lists violations of the output contract of the report's status (003, section 16).
func (r Report) Check() []string {
	list := version(r.SchemaVersion, SchemaVersion)
	need := func(ok bool, member string) {
		if !ok {
			list = append(list, fmt.Sprintf("%s needs %q", r.Status, member))
		}
	}
	need(r.Status == ExitCancelled || slices.Contains(Statuses(), r.Status), "status")
	need(r.StopReason != "", "stop_reason")
	need(r.Goal != "" || r.Status == ExitNeedInfo, "goal")
	need(r.LearningsFinalPath != "", "AGENTS_md_final_path")
	switch r.Status {
	case ExitConverged:
		c := r.Certificate
		need(c != nil && (c.Type == Exact || c.Type == Converged), "halting_certificate")
		if c != nil {
			list = append(list, Certificate{Type: c.Type, Lane: c.Lane, Residual: c.Final, Rp: c.Rp, History: c.History, Checklist: c.Checklist, Commit: "x"}.Problems()...)
		}
		need(r.ManifestPath != "", "loop_manifest_path")
		need(len(r.BestArtifacts) > 0, "best_artifacts")
		need(len(r.History) > 0, "residual_history_decimal_strings")
		need(r.RungTarget > 0, "verification_rung_target")
	case ExitDiverged:
		need(r.StopReason == SilentDivergence, "stop_reason "+string(SilentDivergence))
		need(r.DivergenceStart != nil, "divergence_start_iteration")
		need(r.LastGood != nil, "last_known_good_iteration")
		need(r.Diagnosis != "", "diagnosis_attempt")
		need(Diverges(r.History), "residual_history_decimal_strings that diverge")
	case ExitBudgetExceeded:
		need(r.StopReason == MaxIters || r.StopReason == MaxToolCalls, "stop_reason MAX_ITERS or MAX_TOOL_CALLS")
		need(r.Best != nil, "best_result_achieved")
		// A null in JSON is nil here, like an absent member; the schema requires the member.
		need(r.Final != nil || len(r.History) == 0 || r.History[len(r.History)-1].IsNull(), "final_residual_decimal_string")
	case ExitBlocked, ExitCancelled:
		need(r.LastState != "", "last_known_state")
		need(r.Failed != "", "what_ran_and_failed")
		need(len(r.NextActions) > 0, "next_actions")
	case ExitNeedInfo:
		need(r.StopReason == NullInput || r.StopReason == HaltingMissing || r.StopReason == NotIncluded, "stop_reason NULL_INPUT, HALTING_CRITERIA_MISSING or NOT_INCLUDED")
		need(len(r.Missing) > 0, "missing_fields")
	}
	return list
}

// Outcome says in one sentence how the loop ended. It is what a PM reads first.
func (r Report) Outcome() string {
	after := diag.Count(r.Iterations, "iteration")
	switch r.Status {
	case ExitConverged:
		what := "the residual is below its tolerance"
		if r.Certificate != nil && r.Certificate.Type == Exact {
			what = "every criterion is met"
		}
		if r.Cause == AlreadyTrue {
			return fmt.Sprintf("Already true: %s on the project as it is, and nothing was changed (%s, %s).", what, r.lane(), RungWords(r.RungAchieved))
		}
		return fmt.Sprintf("Done: %s after %s (%s, %s).", what, after, r.lane(), RungWords(r.RungAchieved))
	case ExitNeedInfo:
		if r.StopReason == NotIncluded {
			return "Nobody but you can say whether this is done: its claim needs your word on " + some(r.Missing) + "."
		}
		return fmt.Sprintf("Not begun: the directive does not say how I can tell that it is done (%s). The question below `## Questions` says what to write.", strings.Join(r.Missing, ", "))
	case ExitCancelled:
		return fmt.Sprintf("Cancelled after %s: %s.", after, r.Failed)
	}
	if words, known := stopped[r.Cause]; known { // the verdict gives the cause; the exit follows from it
		if r.Iterations == 0 { // the first iteration did not end
			return fmt.Sprintf("Stopped: %s.", words)
		}
		return fmt.Sprintf("Stopped after %s: %s.", after, words)
	}
	switch r.Status {
	case ExitDiverged:
		return fmt.Sprintf("Stopped: the residual grew over three iterations, from iteration %d on. %s", deref(r.DivergenceStart), r.Diagnosis)
	case ExitBudgetExceeded:
		return fmt.Sprintf("Stopped: the budget is spent after %s: %s.", after, r.NotConverged)
	}
	return fmt.Sprintf("Blocked: %s.", strings.TrimSuffix(r.Failed, "."))
}

// stopped describes the causes that explain an end better than its exit does.
var stopped = map[Cause]string{
	Tampered: "the claim changed what the directive froze, and without that it does not pass",
	NoTool:   "what decides could not be run, for a program is missing there; whether the work is right nobody knows",
}

func (r Report) lane() string {
	if r.Certificate == nil {
		return LaneC.Words()
	}
	return r.Certificate.Lane.Words()
}

func deref(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}
