package uow

import (
	"errors"
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"

	"git-ward/internal/diag"
	"git-ward/protocols/decimal"
)

// PolicyPath is the policy's path on main (UOW-3).
const PolicyPath = "protocols/uow/policy.toml"

// MaxPolicy bounds the policy's file, in bytes.
const MaxPolicy = 16 << 10

// Policy is the PM's interaction policy. It is read from main and copied into the record, so that a unit
// keeps the policy with which it became ACTIVE.
type Policy struct {
	Sequence        []string         `toml:"sequence" json:"sequence"`                 // stages: tool names with blanks between
	Branches        map[string]State `toml:"branches" json:"branches"`                 // outcome of an interaction -> state
	MinConfidence   string           `toml:"min_confidence" json:"min_confidence"`     // decimal; "" asks for none
	PilotPulse      int64            `toml:"pilot_pulse" json:"pilot_pulse"`           // interactions between two acknowledgements by the PM; 0: none is required
	MaxInteractions int64            `toml:"max_interactions" json:"max_interactions"` // calls without progress before the ambiguity lock
	MaxRetries      int64            `toml:"max_retries" json:"max_retries"`
}

// DefaultPolicy returns the policy if main has none. Its limits are those of the template.
func DefaultPolicy() Policy {
	return Policy{Sequence: []string{}, Branches: map[string]State{}, PilotPulse: 600, MaxInteractions: 200, MaxRetries: 3}
}

// branchEvents maps the states to which a policy may branch to the events that lead there from ACTIVE.
var branchEvents = map[State]Event{PendingApproval: RequestApproval, ZombiedSoft: Block, ZombiedDead: Condemn, Failed: Fail}

// ParsePolicy parses policy.toml; missing keys have their defaults. Findings have line and column.
func ParsePolicy(data []byte) (Policy, []diag.Diagnostic) {
	p := DefaultPolicy()
	bad := func(line, col int, hint, format string, args ...any) (Policy, []diag.Diagnostic) {
		return p, []diag.Diagnostic{{Pos: diag.Pos{Path: PolicyPath, Line: line, Col: col}, Rule: "uow/policy",
			Message: fmt.Sprintf(format, args...), Hint: hint}}
	}
	if len(data) > MaxPolicy {
		return bad(0, 0, "shorten it", "the policy has %d bytes, more than %d", len(data), MaxPolicy)
	}
	meta, err := toml.Decode(string(data), &p)
	if syntax, ok := errors.AsType[toml.ParseError](err); ok {
		return bad(syntax.Position.Line, syntax.Position.Col, "write it as TOML; the template's policy shows every key", "%s", syntax.Message)
	}
	if err != nil {
		return bad(0, 0, "write the kind of value that the template's policy shows", "%v", err)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		keys := []string{"sequence", "branches", "min_confidence", "pilot_pulse", "max_interactions", "max_retries"}
		hint := "the keys are " + strings.Join(keys, ", ")
		if near := diag.Nearest(unknown[0].String(), keys); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return bad(0, 0, hint, "unknown key %q", unknown[0].String())
	}
	if err := p.check(); err != nil {
		return bad(0, 0, "see the comments of the template's policy", "%v", err)
	}
	return p, nil
}

// maxEntries bounds the stages, the tools of a stage and the branches.
const maxEntries = 64

func (p Policy) check() error {
	if p.PilotPulse < 0 || p.PilotPulse > maxCount || p.MaxRetries < 0 || p.MaxRetries > maxCount {
		return errors.New("pilot_pulse and max_retries are counts of at least 0")
	}
	if p.MaxInteractions < 1 || p.MaxInteractions > maxCount {
		return errors.New("max_interactions is a count of at least 1: without it a spinning agent is never stopped")
	}
	if len(p.Sequence) > maxEntries || len(p.Branches) > maxEntries {
		return fmt.Errorf("more than %d stages or branches", maxEntries)
	}
	for _, stage := range p.Sequence {
		if len(stage) > 1024 || diag.Clean(stage) != stage || stage == "" || strings.Join(strings.Fields(stage), " ") != stage {
			return fmt.Errorf("the stage %.60q is not tool names with one blank between them", stage)
		}
	}
	for outcome, to := range p.Branches {
		if outcome == "" || len(outcome) > 100 || diag.Clean(outcome) != outcome {
			return fmt.Errorf("the outcome %.60q is not a word", outcome)
		}
		if _, ok := branchEvents[to]; !ok {
			return fmt.Errorf("a branch leads to %s, %s, %s or %s, not to %.40q", PendingApproval, ZombiedSoft, ZombiedDead, Failed, to)
		}
	}
	if p.MinConfidence != "" {
		if _, err := decimal.Parse(p.MinConfidence); err != nil {
			return fmt.Errorf("min_confidence: %w", err)
		}
	}
	return nil
}

// Branch returns the machine's event for the outcome of an interaction (001, section 2.1) and true, or
// false if the unit continues. A confidence that is below MinConfidence or malformed asks the PM,
// whatever the branches say.
func (p Policy) Branch(outcome, confidence string) (Event, bool) {
	if p.MinConfidence != "" && confidence != "" {
		least, _ := decimal.Parse(p.MinConfidence)
		if have, err := decimal.Parse(confidence); err != nil || have.Less(least) {
			return RequestApproval, true
		}
	}
	e, ok := branchEvents[p.Branches[outcome]]
	return e, ok
}
