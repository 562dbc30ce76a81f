package loop

import (
	"fmt"
	"slices"
)

// Lane says how far a statement can be trusted (003, section 5.2). Evidence files have the letters;
// people read Words.
type Lane string

// The lanes.
const (
	LaneA Lane = "A"
	LaneB Lane = "B"
	LaneC Lane = "C"
)

// Words is the lane for people (docs/glossary.md).
func (l Lane) Words() string {
	switch l {
	case LaneA:
		return "verified"
	case LaneB:
		return "supported"
	}
	return "guess"
}

// laneOf is the lane of a certificate type (003, section 3.1).
func laneOf(certificate string) Lane {
	switch certificate {
	case Exact, BackpressureType, Diverged:
		return LaneA
	case Converged:
		return LaneB
	}
	return LaneC
}

// Met is one line of the checklist. Met.Met is nil if the criterion was not evaluated, which never
// counts as met (003, section 12).
type Met struct {
	Criterion string `json:"criterion"`
	Met       *bool  `json:"met"`
	Evidence  string `json:"evidence_link"`
}

// HistoryWindow is how many residuals a certificate lists at most. A certificate does not grow with
// the loop, and no decision needs more; FullHistory reads all.
const HistoryWindow = 32

// Certificate is certificate.json of an iteration.
type Certificate struct {
	SchemaVersion string     `json:"schema_version"`
	LoopID        string     `json:"loop_id"`
	Iteration     int        `json:"iteration"`
	Type          string     `json:"type"` // NONE or one of 003's five
	Lane          Lane       `json:"lane"`
	Residual      Residual   `json:"residual_decimal_string"`
	Rp            Residual   `json:"R_p_decimal_string"`
	History       []Residual `json:"residual_history_decimal_strings"`  // the newest, this iteration's last
	Earlier       int        `json:"residual_history_earlier,omitzero"` // how many there are before these
	Checklist     []Met      `json:"acceptance_criteria_checklist"`
	Direction     Direction  `json:"direction"`
	Commit        string     `json:"commit"`           // the claimed commit that the verdict judges; "" for none
	Record        string     `json:"record,omitempty"` // the commit of the unit's record that the claim names
	Reason        string     `json:"reason"`
	Left          []string   `json:"left,omitempty"` // the changes that the verdict left out of the work
}

// Findings is the input of Certify.
type Findings struct {
	Declaration Declaration
	Limits      Limits
	Iteration   int        // the one that ends, from 0
	Spent       int        // iterations of the directive's text in all its units, this one included
	Used        Usage      // of the whole loop
	History     []Residual // of the iterations before, or the last HistoryWindow of them
	Earlier     int        // the number of residuals before History
	Verdict     *Verdict   // the host's verdict on this iteration's claim; nil for none
	Signals     []Signal
	Over        string // why a budget outside Limits is spent (tokens, money, the launch's time); "" if none is
}

// exhausted returns the stop reason of a spent budget and a description for people.
func (f Findings) exhausted() (reason StopReason, words string, spent bool) {
	if reason, spent := f.Limits.Exhausted(f.Spent, f.Used); spent || f.Over == "" {
		return reason, "the budget is spent", spent
	}
	return MaxToolCalls, f.Over, true
}

// Certify makes an iteration's certificate. It tries the types in the order of 003, section 2.4:
// DIVERGED, then EXACT or CONVERGED, then TIMEOUT, then BACKPRESSURE. Only the host's verdict can
// make it EXACT or CONVERGED.
func Certify(f Findings) Certificate {
	c := Certificate{SchemaVersion: LinearVersion, LoopID: f.Declaration.LoopID, Iteration: f.Iteration, Type: None, Rp: f.Declaration.Rp,
		Checklist: []Met{}}
	if v := f.Verdict; v != nil && v.Unit == f.Declaration.LoopID && v.DirectiveHash == f.Declaration.DirectiveHash {
		c.Residual, c.Commit, c.Record, c.Reason, c.Left = v.Residual, v.Commit, v.Record, v.Reason, listed(v.LeftWords())
	}
	cut := max(0, len(f.History)+1-HistoryWindow)
	c.History = append(append([]Residual{}, f.History[cut:]...), c.Residual)
	c.Earlier = f.Earlier + cut
	c.Direction = DirectionOf(c.History)
	c.checklist(f)
	proved := c.Commit != "" && f.Verdict.Proves(c.Commit, f.Declaration.LoopID, f.Declaration.DirectiveHash) && f.Declaration.applies(f.Verdict.Verdict)
	_, words, spent := f.exhausted()
	switch {
	case Diverges(c.History):
		c.Type, c.Reason = Diverged, "the residual grew in three iterations one after the other"
	case proved:
		c.Type = f.Verdict.Verdict
	case spent:
		c.Type, c.Reason = Timeout, words
	case len(f.Signals) > 0:
		c.Type, c.Reason = BackpressureType, f.Signals[0].Words()
	}
	c.Lane = laneOf(c.Type)
	return c
}

// Ended returns the number of the unit's ended iterations, this one included.
func (c Certificate) Ended() int { return c.Earlier + len(c.History) }

// FullHistory returns the residuals of all iterations of a unit, up to the last certificate's. A
// certificate lists at most HistoryWindow of them, so it also reads earlier certificates: at
// returns the certificate of an iteration, nil for none.
func FullHistory(last Certificate, at func(iteration int) (*Certificate, error)) ([]Residual, error) {
	windows := [][]Residual{last.History}
	for c := &last; c.Earlier > 0; {
		n := c.Iteration - len(c.History)
		before, err := at(n)
		if err != nil {
			return nil, err
		}
		if before == nil || before.LoopID != last.LoopID || len(before.History) == 0 || before.Ended() != c.Earlier {
			return nil, fmt.Errorf("the certificate of iteration %d of %s does not go on with the residuals", n, last.LoopID)
		}
		windows, c = append(windows, before.History), before
	}
	slices.Reverse(windows)
	return slices.Concat(windows...), nil
}

func (c *Certificate) checklist(f Findings) {
	for _, k := range f.Declaration.Commands {
		m := Met{Criterion: k.Text}
		if c.Commit != "" {
			for _, o := range f.Verdict.Criteria {
				if o.Criterion == k.Text && o.Command == k.Command {
					met := o.Passed()
					m.Met, m.Evidence = &met, VerdictsRef+":"+c.Commit
				}
			}
		}
		c.Checklist = append(c.Checklist, m)
	}
}

// Problems lists what is wrong with a certificate that claims success (003, sections 2.5 and 12).
// Such a certificate is a forbidden state and leads to EXIT_BLOCKED.
func (c Certificate) Problems() []string {
	var list []string
	if c.Type == Exact || c.Type == Converged {
		if c.Commit == "" {
			list = append(list, "it names no commit with a verdict")
		}
		if c.Residual.IsNull() {
			list = append(list, "its residual is not known")
		}
		if len(c.Checklist) == 0 {
			list = append(list, "it checks no criterion")
		}
	}
	if c.Type == Exact {
		for _, m := range c.Checklist {
			if m.Met == nil || !*m.Met {
				list = append(list, "not met: "+m.Criterion)
			}
		}
		if !c.Residual.Zero() {
			list = append(list, "its residual is not zero")
		}
	}
	if c.Type == Converged && !c.Residual.Less(c.Rp.Decimal) {
		list = append(list, fmt.Sprintf("the residual %s is not below R_p %s", c.Residual.Words(), c.Rp.Words()))
	}
	if c.Type == Diverged && !Diverges(c.History) {
		list = append(list, "the residuals did not grow three times")
	}
	if c.Lane != laneOf(c.Type) {
		list = append(list, fmt.Sprintf("%s is of lane %s, not %s", c.Type, laneOf(c.Type), c.Lane))
	}
	return list
}

// Decision is the machine's next event, with the stop reason if the event leads to an exit. The
// machine alone decides which exit.
type Decision struct {
	Event  Event
	Reason StopReason
	Words  string
}

// Budget is the decision for a spent budget.
func (f Findings) Budget() (d Decision, spent bool) {
	reason, words, spent := f.exhausted()
	return Decision{BudgetExhausted, reason, words}, spent
}

// Decide returns the event of BUDGET_CHECK, in the order of 003, section 2.4. Violations checks
// that the certificate holds and that the learnings are written.
func Decide(f Findings, c Certificate) Decision {
	switch c.Type {
	case Diverged:
		return Decision{Diverged3, SilentDivergence, c.Reason}
	case Exact:
		return Decision{ExactOrConverged, ExactCertificate, c.Reason}
	case Converged:
		return Decision{ExactOrConverged, ConvergedCertificate, c.Reason}
	}
	if d, spent := f.Budget(); spent {
		return d
	}
	if len(f.Signals) > 0 {
		return Decision{Backpressure, BackpressureSignal, f.Signals[0].Words()}
	}
	return Decision{Event: ContinueLoop}
}
