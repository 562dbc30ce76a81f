package loop

import (
	"slices"
	"strconv"

	"git-ward/protocols/comms"
	"git-ward/protocols/decimal"
)

// The certificate types (003, section 3.1).
const (
	None             = "NONE"
	Exact            = "EXACT"
	Converged        = "CONVERGED"
	Timeout          = "TIMEOUT"
	BackpressureType = "BACKPRESSURE"
	Diverged         = "DIVERGED"
)

// The schema versions of evidence files. LinearVersion is for files that continue the previous
// iteration's: manifests, budget logs and certificates.
const (
	SchemaVersion = "1.0"
	LinearVersion = "2.0"
)

// CriteriaOpen is the default residual metric: the number of acceptance criteria that are not met.
const CriteriaOpen = "acceptance criteria that are not met"

// Criterion is one acceptance criterion. Without a command, the Skeptic's evidence decides it, and
// the verdict cannot be EXACT (COMMS-2).
type Criterion struct {
	Text    string `json:"text"`
	Command string `json:"command"`
}

// Declaration is plan.json: what DREAM_GOAL must say before the first iteration
// (003, section 3.2), and what the loop will not do.
type Declaration struct {
	SchemaVersion  string      `json:"schema_version"`
	LoopID         string      `json:"loop_id"` // the unit, "D-1.1"
	DirectiveHash  string      `json:"directive_hash"`
	Goal           string      `json:"goal"` // in full
	Criteria       []string    `json:"acceptance_criteria"`
	Commands       []Criterion `json:"criteria"`
	Certificates   []string    `json:"halting_certificates_applicable"`
	Rp             Residual    `json:"R_p"`
	MaxIterations  int         `json:"max_iterations"`
	ResidualMetric string      `json:"residual_metric"`
	Residual       string      `json:"residual_command"` // "" for CriteriaOpen
	Metrics        []string    `json:"success_metrics"`
	NonGoals       []string    `json:"non_goals"`
	StopRules      []string    `json:"stop_rules"`
	Frozen         []string    `json:"frozen"`
	Profile        Profile     `json:"profile"`
	RungTarget     int         `json:"verification_rung_target"`
	SkillPack      []string    `json:"skill_pack,omitempty"` // from the control branch, when the loop began or resumed
}

// Declare returns a directive's declaration, its limits, and the names of the fields that it lacks.
// If it lacks any, the loop ends in EXIT_NEED_INFO before the first iteration (003, section 3.2;
// LOOP-1).
func Declare(unit string, d comms.Directive, base Base) (Declaration, Limits, []string) {
	o := d.Options
	limits := LimitsOf(o, base)
	p := Declaration{
		SchemaVersion: SchemaVersion, LoopID: unit, DirectiveHash: d.Hash(), Goal: goal(d),
		Criteria: []string{}, Commands: []Criterion{}, Certificates: []string{}, Frozen: append([]string{}, o.Frozen...),
		MaxIterations: limits.MaxIterations, Residual: o.Residual, ResidualMetric: CriteriaOpen,
		Profile: limits.Profile, RungTarget: RungTarget(o),
		NonGoals:  []string{"changing what the directive does not name", "changing tests or frozen paths so that a criterion is met"},
		StopRules: []string{"a verdict EXACT or CONVERGED of the host", "residuals that grow three times in a row", "a spent budget", "a backpressure signal", "an iteration without artifacts"},
	}
	if o.Residual != "" {
		p.ResidualMetric = o.Residual
	}
	for _, c := range d.Criteria {
		p.Criteria = append(p.Criteria, c.Text)
		p.Commands = append(p.Commands, Criterion{c.Text, c.Command})
		p.Metrics = append(p.Metrics, "met: "+c.Text)
	}
	p.Metrics = append(p.Metrics, "residual goes down: "+p.ResidualMetric)
	for _, c := range d.Applicable() {
		p.Certificates = append(p.Certificates, string(c))
	}
	rp := base.Rp
	if o.Rp != "" {
		rp = o.Rp
	}
	p.Rp, _ = ParseResidual(rp)
	return p, limits, p.Missing()
}

// goal joins the directive's title and text.
func goal(d comms.Directive) string {
	if d.Goal == "" {
		return d.Title.Raw()
	}
	if d.Title == "" {
		return d.Goal
	}
	return d.Title.Raw() + "\n\n" + d.Goal
}

// Missing lists the required fields that are empty (003, section 14: null_detected). An empty list
// of criteria does not mean that all criteria are met.
func (p Declaration) Missing() []string {
	var missing []string
	if p.Goal == "" {
		missing = append(missing, "goal")
	}
	if len(p.Criteria) == 0 {
		missing = append(missing, "acceptance_criteria")
	}
	if !p.applies(Exact) && !p.applies(Converged) {
		missing = append(missing, "halting_certificates_applicable")
	}
	if p.applies(Converged) && (p.Rp.IsNull() || p.Rp.Zero()) {
		missing = append(missing, "R_p")
	}
	if p.applies(Converged) && p.Residual == "" {
		missing = append(missing, "residual")
	}
	return missing
}

// NeedReason returns the stop reason for missing fields.
func NeedReason(missing []string) StopReason {
	if slices.Contains(missing, "goal") || slices.Contains(missing, "acceptance_criteria") {
		return NullInput
	}
	return HaltingMissing
}

func (p Declaration) applies(certificate string) bool {
	return slices.Contains(p.Certificates, certificate)
}

// RungTarget is 003's default where the directive names none: every loop has a
// convergence criterion, so its verdict is replayed. The PM may ask for less.
func RungTarget(o comms.Options) int {
	if o.Rung != 0 {
		return o.Rung
	}
	return Rung274177
}

// count is a whole number as a residual.
func count(n int) Residual {
	d, _ := decimal.Parse(strconv.Itoa(n))
	return Residual{d}
}
