package loop

import (
	"cmp"
	"fmt"

	"git-ward/internal/diag"
	"git-ward/protocols/comms"
	"git-ward/protocols/uow"
)

// Profile scales budgets (003, section 6.2).
type Profile string

// The profiles.
const (
	Strict         Profile = "strict"
	Fast           Profile = "fast"
	BenchmarkAdapt Profile = "benchmark_adapt"
)

// scales has each profile's factors in percent: sweep for iterations and seconds, calls for tool calls.
var scales = map[Profile]struct{ sweep, calls int }{
	Strict:         {100, 100},
	Fast:           {50, 50},
	BenchmarkAdapt: {70, 80},
}

// The clamps of 003, section 6.2: scaling never goes below them.
const (
	clampIterations = 3
	clampCalls      = 40  // per iteration
	clampSeconds    = 600 // per iteration
)

// Base has config.toml's defaults for options that a directive leaves out. It has the fields of
// config.Loop.
type Base struct {
	Profile                  string
	Rp                       string // decimal
	MaxIterations            int
	MaxToolCallsPerIteration int
	MaxSecondsPerIteration   int
	MaxTotalSeconds          int
	MaxTotalToolCalls        int
	DependsOn                []string // host:port that must answer
}

// Main reads what main says about a directive's units. d is nil if main no longer has the
// directive; policy is the content of the policy's file, nil if there is none.
func Main(d *comms.Directive, base Base, policy []byte) (*uow.Main, []diag.Diagnostic) {
	m := &uow.Main{}
	if d != nil {
		m.DirectiveHash = d.Hash()
		m.Total = uow.Totals(int64(LimitsOf(d.Options, base).MaxIterations))
	}
	var found []diag.Diagnostic
	m.Policy, found = uow.ParsePolicy(policy)
	return m, found
}

// Limits is a loop's budget. The host counts iterations in the journal, and the launcher's clock
// counts seconds; only the agent's own process enforces the limit of tool calls (LOOP-4).
type Limits struct {
	Profile                  Profile  `json:"profile"`
	MaxIterations            int      `json:"max_iterations"`
	MaxToolCallsPerIteration int      `json:"max_tool_calls_per_iteration"`
	MaxSecondsPerIteration   int      `json:"max_seconds_per_iteration"`
	MaxTotalSeconds          int      `json:"max_total_seconds"`
	MaxTotalToolCalls        int      `json:"max_total_tool_calls"`
	Reductions               []string `json:"reductions"` // what the profile took, for budget_reduction.log
}

// LimitsOf keeps the numbers that a directive states, and scales and clamps the others by its
// profile (LOOP-4). A clamp never raises a number above the one in config.toml.
func LimitsOf(o comms.Options, base Base) Limits {
	l := Limits{Profile: Profile(o.Profile), Reductions: []string{}}
	if l.Profile == "" {
		l.Profile = Profile(base.Profile)
	}
	scale, known := scales[l.Profile]
	if !known {
		l.Profile, scale = Strict, scales[Strict]
	}
	set := func(to *int, name string, own, config, percent, clamp int) {
		if *to = own; own > 0 {
			return
		}
		scaled := (config*percent + 99) / 100
		*to = max(scaled, min(clamp, config))
		if *to < config {
			l.Reductions = append(l.Reductions, fmt.Sprintf("%s: %d -> %d (profile %s)", name, config, *to, l.Profile))
		}
	}
	set(&l.MaxIterations, "max_iterations", o.MaxIterations, base.MaxIterations, scale.sweep, clampIterations)
	set(&l.MaxToolCallsPerIteration, "max_tool_calls_per_iteration", o.MaxToolCallsPerIteration, base.MaxToolCallsPerIteration, scale.calls, clampCalls)
	set(&l.MaxSecondsPerIteration, "max_seconds_per_iteration", o.MaxSecondsPerIteration, base.MaxSecondsPerIteration, scale.sweep, clampSeconds)
	set(&l.MaxTotalSeconds, "max_total_seconds", o.MaxTotalSeconds, base.MaxTotalSeconds, scale.sweep, clampSeconds)
	set(&l.MaxTotalToolCalls, "max_total_tool_calls", o.MaxTotalToolCalls, base.MaxTotalToolCalls, scale.calls, clampCalls)
	return l
}

// Usage is one iteration's line in budget_log.json.
type Usage struct {
	Iteration int `json:"iteration"`
	ToolCalls int `json:"tool_calls"`
	Seconds   int `json:"seconds"`
	// Model is the worker's own count of what its model used; nil if it did not count.
	Model *ModelUsage `json:"model,omitempty"`
}

// ModelUsage is a worker's own count of turns and tokens, for people. Budgets are enforced by the
// gateway's count.
type ModelUsage struct {
	Turns  int64 `json:"turns"`
	Input  int64 `json:"input_tokens"`
	Cached int64 `json:"cached_tokens"`
	Output int64 `json:"output_tokens"`
}

// plus returns the sum; nil is not counted.
func (m *ModelUsage) plus(n *ModelUsage) *ModelUsage {
	if m == nil || n == nil {
		return cmp.Or(m, n)
	}
	return &ModelUsage{m.Turns + n.Turns, m.Input + n.Input, m.Cached + n.Cached, m.Output + n.Output}
}

// BudgetLog is budget_log.json: what an iteration used, and what all iterations used so far. A
// restarted loop reads it, so that a restart does not refill the budget.
type BudgetLog struct {
	SchemaVersion string  `json:"schema_version"`
	LoopID        string  `json:"loop_id"`
	Limits        Limits  `json:"limits"`
	Total         *Usage  `json:"total,omitempty"` // Iteration is their number; nil before the first
	Iterations    []Usage `json:"iterations"`      // only this iteration's
}

// Next returns the log after one more iteration, which used u.
func (b BudgetLog) Next(u Usage) BudgetLog {
	total := b.Used()
	total.Iteration++
	total.ToolCalls += u.ToolCalls
	total.Seconds += u.Seconds
	total.Model = total.Model.plus(u.Model)
	b.SchemaVersion, b.Total, b.Iterations = LinearVersion, &total, []Usage{u}
	return b
}

// Used returns what all iterations used.
func (b BudgetLog) Used() Usage {
	if b.Total != nil {
		return *b.Total
	}
	return Usage{}
}

// Exhausted returns the first limit that is reached (003, section 14). iterations is the journal's
// count over all units of the directive's text.
func (l Limits) Exhausted(iterations int, u Usage) (StopReason, bool) {
	switch {
	case iterations >= l.MaxIterations:
		return MaxIters, true
	case u.Seconds >= l.MaxTotalSeconds, u.ToolCalls >= l.MaxTotalToolCalls:
		return MaxToolCalls, true
	}
	return "", false
}

// Remaining is the capsule's remaining_budget.
type Remaining struct {
	Iterations int `json:"iterations_remaining"`
	ToolCalls  int `json:"tool_calls_remaining"`
	Seconds    int `json:"seconds_remaining"`
}

// Remaining returns the budget left after iterations and usage, never below zero.
func (l Limits) Remaining(iterations int, u Usage) Remaining {
	return Remaining{max(0, l.MaxIterations-iterations), max(0, l.MaxTotalToolCalls-u.ToolCalls), max(0, l.MaxTotalSeconds-u.Seconds)}
}
