package uow

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"git-ward/internal/diag"
)

// Summary is what the librarian keeps of a unit.
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

// Failure is one step of a journal that says that something went wrong.
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

// Proposal is a change that the librarian proposes; it becomes a lesson, which
// the PM merges or not (UOW-5).
type Proposal struct {
	Lesson string // what was seen
	Action string // what to change
}

// Analyze compares a unit with its policy and with the median of earlier units, those of
// all directives (001, section 4), and proposes changes. It judges efficiency, never the result.
func Analyze(s Summary, p Policy, earlier []Summary) []Proposal {
	var list []Proposal
	add := func(action, format string, args ...any) {
		list = append(list, Proposal{fmt.Sprintf(format, args...), action})
	}
	if s.Zombied > 0 && s.Longest >= p.MaxInteractions {
		add("say in the directive what the first step is, or split it; the limit did its work",
			"%s spun: %d interactions without progress, and the policy's max_interactions is %d", s.ID, s.Longest, p.MaxInteractions)
	}
	if s.Zombied == 0 && s.Longest*4 < p.MaxInteractions && len(earlier) >= 3 && median(earlier, longest)*4 < p.MaxInteractions {
		add(fmt.Sprintf("lower max_interactions in %s to %d", PolicyPath, max(8, 2*max(s.Longest, median(earlier, longest)))),
			"%s and the units before it never needed more than a quarter of max_interactions %d", s.ID, p.MaxInteractions)
	}
	if s.Retries >= p.MaxRetries && p.MaxRetries > 0 {
		add("look at the causes in the journal's notes before raising max_retries", "%s spent all %d retries", s.ID, p.MaxRetries)
	}
	if m := median(earlier, iterations); len(earlier) >= 3 && m > 0 && s.Iterations > 2*m {
		add("compare this unit's learnings with those of the units before it", "%s took %d iterations, the median before it is %d", s.ID, s.Iterations, m)
	}
	if m := median(earlier, interactions); len(earlier) >= 3 && m > 0 && s.Interactions > 2*m {
		add("look for repeated reads in the log; a lesson may name the files that matter", "%s took %d interactions, the median before it is %d", s.ID, s.Interactions, m)
	}
	for reason, n := range repeated(s.Failures) {
		add("look at what the journal notes of it, and say in the directive, or in the settings, how it is avoided",
			"%s was stopped %d times by %s", s.ID, n, reason)
	}
	if n := alike(s, earlier); n >= 3 && len(s.Failures) > 0 {
		last := s.Failures[len(s.Failures)-1]
		add("look for what these units have in common: the host, the image, the policy or the way directives are written",
			"%s ended by %s, as %d of the %d units before it", s.ID, last.Reason, n, len(earlier))
	}
	if s.Claims > 2*max(1, s.Iterations) {
		add("claim once an iteration, after running the criteria", "%s claimed %d times in %d iterations", s.ID, s.Claims, s.Iterations)
	}
	return list
}

// repeated are reasons that stopped a unit more than once.
func repeated(list []Failure) iter.Seq2[Reason, int] {
	return func(yield func(Reason, int) bool) {
		seen := map[Reason]int{}
		for _, f := range list {
			seen[f.Reason]++
		}
		for _, reason := range slices.Sorted(maps.Keys(seen)) {
			if n := seen[reason]; n > 1 && !reason.Free() && !yield(reason, n) {
				return
			}
		}
	}
}

// alike counts the earlier units that ended by the same reason as this one.
func alike(s Summary, earlier []Summary) (n int64) {
	if len(s.Failures) == 0 || s.State == Completed {
		return 0
	}
	for _, e := range earlier {
		n += one(e.State != Completed && len(e.Failures) > 0 && e.Failures[len(e.Failures)-1].Reason == s.Failures[len(s.Failures)-1].Reason)
	}
	return n
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
