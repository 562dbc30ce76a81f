package uow

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/diag"
)

// Summary is the librarian's summary of a unit.
type Summary struct {
	ID           string `json:"id"`
	State        State  `json:"state"` // before refinement
	Interactions int64  `json:"interactions"`
	Longest      int64  `json:"longest"` // most interactions without progress
	Iterations   int64  `json:"iterations"`
	Claims       int64  `json:"claims"`
	Retries      int64  `json:"retries"`
	Zombied      int64  `json:"zombied"` // times in ZOMBIED_SOFT
	Approvals    int64  `json:"approvals"`
	Cost         string `json:"cost"` // money, tokens, time in words; "" when nobody counted
	// Failures are why the unit was blocked, condemned or ended without success, in the
	// journal's order: the reason codes with what was noted.
	Failures []Failure `json:"failures,omitempty"`
}

// Failure is one step of a journal that records a failure.
type Failure struct {
	State  State  `json:"state"` // that it led to
	Reason Reason `json:"reason"`
	Note   string `json:"note"`
}

// maxFailures bounds what is told of one unit.
const maxFailures = 10

// Summarize reads a unit's journal.
func Summarize(records []*Record, cost string) Summary {
	s := Summary{Cost: cost}
	var before int64
	for i, r := range records {
		s.ID, s.Claims = r.ID, s.Claims+one(r.Event == MakeClaim)
		s.Iterations, s.Retries = r.Iteration, max(s.Retries, r.Retries)
		s.Zombied += one(r.Event == Block)
		s.Approvals += one(r.Event == RequestApproval)
		if failed := r.Event == Block || r.Event == Condemn || r.Event == Fail || r.Event == Exhaust || r.Event == Breach; failed && len(s.Failures) < maxFailures {
			first, _, _ := strings.Cut(strings.TrimSpace(r.Note), "\n")
			s.Failures = append(s.Failures, Failure{r.State, r.ReasonCode, diag.Cut(first, 200)})
		}
		if r.Event != Refine && r.Event != Archive {
			s.State = r.State
		}
		if i > 0 {
			n := r.Interactions - before
			s.Interactions += max(0, n)
			s.Longest = max(s.Longest, records[i-1].Calls+max(0, n))
		}
		before = r.Interactions
	}
	return s
}

func one(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

func longest(s Summary) int64      { return s.Longest }
func iterations(s Summary) int64   { return s.Iterations }
func interactions(s Summary) int64 { return s.Interactions }

func median(list []Summary, of func(Summary) int64) int64 {
	if len(list) == 0 {
		return 0
	}
	values := make([]int64, len(list))
	for i, s := range list {
		values[i] = of(s)
	}
	slices.Sort(values)
	return values[(len(values)-1)/2]
}

// RefinementText is the librarian's report, with the proposals in the form that
// `git ward lesson extract` reads from a post-mortem. Earlier are the units that this one
// is compared with.
func RefinementText(s Summary, proposals []Proposal, earlier []Summary) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Unit %s ended %s after %s, %s, %s and %s.\n", s.ID, s.State, diag.Count(s.Iterations, "iteration"), diag.Count(s.Claims, "claim"),
		diag.Count(s.Interactions, "interaction"), count(s.Retries, "retry", "retries"))
	if s.Cost != "" {
		fmt.Fprintf(&b, "It took %s.\n", s.Cost)
	} else {
		b.WriteString("What it cost nobody counted.\n")
	}
	if len(earlier) > 0 {
		fmt.Fprintf(&b, "The median of the %s before it, of all directives: %s, %s, %s.\n", diag.Count(len(earlier), "unit"),
			diag.Count(median(earlier, iterations), "iteration"), diag.Count(median(earlier, claims), "claim"), diag.Count(median(earlier, interactions), "interaction"))
	}
	if len(s.Failures) > 0 {
		b.WriteString("\n## What failed\n\n")
		for _, f := range s.Failures {
			fmt.Fprintf(&b, "- %s, %s", f.State, f.Reason)
			if f.Note != "" {
				fmt.Fprintf(&b, ": %s", f.Note)
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("\n## Corrective Actions & Lessons Learned\n")
	if len(proposals) == 0 {
		b.WriteString("\nNothing to change: the unit kept well within its policy.\n")
	}
	for i, p := range proposals {
		fmt.Fprintf(&b, "\n%d. **Lesson:** %s.\n   **Action:** %s.\n", i+1, p.Lesson, p.Action)
	}
	return b.String()
}

// count is diag.Count for a word with a plural of its own.
func count(n int64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func claims(s Summary) int64 { return s.Claims }
