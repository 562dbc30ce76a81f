package loop

import (
	"fmt"
	"slices"
)

// Lane says how far a statement can be trusted (003, section 5.2). People read its Words; the
// letters stay in evidence files.
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

// Met says whether one criterion is met; nil means not evaluated, which never counts as met
// (003, section 12).
type Met struct {
	Criterion string `json:"criterion"`
	Met       *bool  `json:"met"`
	Evidence  string `json:"evidence_link"`
}

// HistoryWindow is how many residuals a certificate lists: enough for every decision, so that
// certificates do not grow. FullHistory has all of them.
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
	Commit        string     `json:"commit"`           // the claimed one, which has the verdict; "" for none
	Record        string     `json:"record,omitempty"` // the claim's commit on the unit's record
	Reason        string     `json:"reason"`
	Left          []string   `json:"left,omitempty"` // what is no work; the verdict's
}

// Findings is everything that decides a certificate.
type Findings struct {
	Declaration Declaration
	Limits      Limits
	Iteration   int        // the one that ends, from 0
	Spent       int        // iterations of the directive's text in all its units, this one included
	Used        Usage      // of the whole loop
	History     []Residual // of the iterations before; the newest of them will do
	Earlier     int        // how many residuals there are before History
	Verdict     *Verdict   // the host's, on this iteration's claim; nil when there is none
	Signals     []Signal
	Over        string // why a budget is spent that Limits do not count: tokens, money, the launch's time; "" for none
}

// exhausted names the budget that is spent, and says so in words.
func (f Findings) exhausted() (reason StopReason, words string, spent bool) {
	if reason, spent := f.Limits.Exhausted(f.Spent, f.Used); spent || f.Over == "" {
		return reason, "the budget is spent", spent
	}
	return MaxToolCalls, f.Over, true
}

// Certify decides an iteration's certificate in the order of 003, section 2.4:
// DIVERGED, then EXACT or CONVERGED, then TIMEOUT, then BACKPRESSURE. EXACT and
// CONVERGED come from the host's verdict and from nothing else.
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

// Ended is how many iterations of its unit have ended with this one.
func (c Certificate) Ended() int { return c.Earlier + len(c.History) }

// FullHistory is the residuals of all iterations of a unit up to a certificate's: each
// certificate lists some, and the one before these the ones before. at gives the
// certificate of an iteration, nil for none.
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
					met := o.Met && o.Trouble == ""
					m.Met, m.Evidence = &met, VerdictsRef+":"+c.Commit
				}
			}
		}
		c.Checklist = append(c.Checklist, m)
	}
}

// Problems says what is wrong with a certificate that claims success (003,
// sections 2.5 and 12): a forbidden state, and EXIT_BLOCKED.
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

// Decision is the machine's next event, with the reason if it leads to an exit. Only the
// machine says which exit it is.
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

// Decide is BUDGET_CHECK: one event, by the order of 003, section 2.4. That the
// certificate holds, and that the learnings are written, are Violations' to see.
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
