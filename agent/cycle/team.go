package cycle

import (
	"context"

	"git-ward/agent/interaction"
	"git-ward/agent/store"
	"git-ward/protocols/loop"
)

// Team is the subagents of an iteration. They work one after the other, each with a fresh
// context, and know only the brief (LOOP-8).
type Team interface {
	// Solve does the iteration's work in the branch's working tree. The refusal is "" at
	// first, and later the reason why the push of the work was refused. The error is
	// stop.Unfinished, Spent or Blocked if it did not finish by itself.
	Solve(ctx context.Context, b Brief, refusal string) (interaction.Done, error)
	// Review is the Skeptic: it formulates what the iteration taught. Its result is checked
	// before anything is written.
	Review(ctx context.Context, b Brief, r Result) (review Review, calls int, err error)
}

// Brief is everything that a subagent is told.
type Brief struct {
	Iteration   int
	Capsule     []byte // canonical JSON
	CapsulePath string // on the record

	// What earlier runs have used of the iteration: tool calls, and seconds.
	Calls, Seconds int

	Left loop.Remaining // of the whole loop's budget; its iterations do not count here
}

// Result is an iteration's result, for its review.
type Result struct {
	Words   string // the Solver's last text: a guess until verified
	Changes []store.Change
	Verdict *loop.Verdict // nil when there is none
}

// Review is the Skeptic's review of an iteration.
type Review struct {
	Tried     []string        `json:"tried"`
	Succeeded []loop.Learning `json:"succeeded"`
	Failed    []loop.Learning `json:"failed"`
	Open      []string        `json:"open"`
	Diagnosis string          `json:"diagnosis"`
	// The inputs of the policy's branches (UOW-3); "" for none.
	Outcome    string `json:"outcome"`
	Confidence string `json:"confidence"` // decimal
}

// redacted is the review without secrets that a model put into it. Evidence is identified by
// its hash, so it is cleaned before it is written.
func (v Review) redacted(redact func(string) string) Review {
	each := func(list []string) (out []string) {
		for _, text := range list {
			out = append(out, redact(text))
		}
		return out
	}
	learnings := func(list []loop.Learning) (out []loop.Learning) {
		for _, l := range list {
			l.Text = redact(l.Text)
			out = append(out, l)
		}
		return out
	}
	v.Tried, v.Open, v.Diagnosis = each(v.Tried), each(v.Open), redact(v.Diagnosis)
	v.Succeeded, v.Failed = learnings(v.Succeeded), learnings(v.Failed)
	return v
}
