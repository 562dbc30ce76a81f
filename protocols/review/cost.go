package review

import (
	"fmt"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/comms"
)

// Cost is what the work used. A number that nobody counted is null, never 0.
type Cost struct {
	Iterations int64   `json:"iterations"` // of all units of the text, as the host admitted them
	Allowed    int64   `json:"iterations_allowed"`
	Claims     int64   `json:"claims"`
	ToolCalls  *int64  `json:"tool_calls"` // of the unit, by the agent's own count
	Seconds    *int64  `json:"seconds"`
	Tokens     *int64  `json:"tokens"` // of the directive, as CountedBy counted them
	CountedBy  string  `json:"counted_by"`
	Money      *string `json:"money"` // dollars, a decimal
	Estimated  int64   `json:"estimated_calls"`
	Prices     string  `json:"prices"` // day of the price table; "" if unknown
	Limits
}

// Limits are the directive's own limits for the models' use, nil for none.
type Limits struct {
	MaxTokens *int64  `json:"max_tokens"`
	MaxMoney  *string `json:"max_cost"` // dollars, a decimal
}

// Bound sets the limits from the directive's options.
func (l *Limits) Bound(o comms.Options) {
	if tokens := int64(o.MaxTokens); tokens > 0 {
		l.MaxTokens = &tokens
	}
	if o.MaxCost != "" {
		l.MaxMoney = &o.MaxCost
	}
}

// Who counted the tokens. Every call passes the gateway, and budgets are enforced by its count. If
// there is no such count, or it cannot be read, the agent's own is shown.
const (
	ByGateway = "gateway"
	ByAgent   = "agent"
)

// unknown replaces a number that has a limit but that nobody counted. It is never 0.
const unknown = "unknown"

// A CostLine is one kind of cost, with its name.
type CostLine struct{ Name, Words string }

// Lines describes the cost for people, one line for each kind that was counted or has a limit.
func (c Cost) Lines() (list []CostLine) {
	add := func(name, format string, args ...any) {
		list = append(list, CostLine{name, fmt.Sprintf(format, args...)})
	}
	switch {
	case c.Allowed > 0:
		add("Iterations", "%d of %s", c.Iterations, diag.Count(c.Allowed, "iteration"))
	case c.Iterations > 0:
		add("Iterations", "%s", diag.Count(c.Iterations, "iteration"))
	}
	if c.Claims > 0 {
		add("Claims", "%s", diag.Count(c.Claims, "claim"))
	}
	if c.ToolCalls != nil {
		add("Tool calls", "%s", diag.Count(*c.ToolCalls, "tool call"))
	}
	if c.Seconds != nil {
		add("Time", "%d s", *c.Seconds)
	}
	if c.Tokens != nil || c.MaxTokens != nil {
		words := unknown
		if c.Tokens != nil {
			words = diag.Number(*c.Tokens)
		}
		if c.MaxTokens != nil {
			words += " of " + diag.Number(*c.MaxTokens)
		}
		words += " tokens"
		if c.CountedBy == ByAgent {
			words += " by the agent's own count"
		}
		if c.Estimated > 0 {
			words += fmt.Sprintf(" (%s of them estimated)", diag.Count(c.Estimated, "call"))
		}
		add("Tokens", "%s", words)
	}
	if c.Money != nil || c.MaxMoney != nil {
		words := unknown
		if c.Money != nil {
			words = "$" + diag.Clean(*c.Money)
		}
		if c.MaxMoney != nil {
			words += " of $" + *c.MaxMoney
		}
		if c.Prices != "" {
			words += " (prices of " + diag.Clean(c.Prices) + ")"
		}
		add("Money", "%s", words)
	}
	return list
}

// Words describes the cost on one line.
func (c Cost) Words() string {
	var words []string
	for _, line := range c.Lines() {
		words = append(words, line.Words)
	}
	if len(words) == 0 {
		return "nothing begun"
	}
	if c.Tokens == nil && c.MaxTokens == nil {
		words = append(words, "tokens not counted")
	}
	return strings.Join(words, ", ")
}

// Count sets the tokens to the agent's own count if there is no other.
func (c *Cost) Count(tokens int64) {
	if c.Tokens == nil && tokens > 0 {
		c.Tokens, c.CountedBy = &tokens, ByAgent
	}
}
