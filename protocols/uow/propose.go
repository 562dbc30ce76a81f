package uow

import (
	"fmt"
	"iter"
	"maps"
	"slices"
)

// Proposal is a change that the librarian proposes; it becomes a lesson, which
// the PM merges or not (UOW-5).
type Proposal struct {
	Lesson string // what was seen
	Action string // what to change: who does what, and where
}

// narrower is the beginning of a proposal to change the policy, with the new and the present number. It
// is short, because a lesson keeps 80 bytes of an action that no program understands.
const narrower = "the PM writes `max_interactions = %d` for %d in"

// Once returns a key for a proposed change of the policy, independent of the proposed number, so that the
// change is proposed only once until the policy changes. It is "" for an action about one unit.
func Once(action string) string {
	var most, now int64
	if _, err := fmt.Sscanf(action, narrower, &most, &now); err != nil {
		return ""
	}
	return fmt.Sprintf("max_interactions %d", now)
}

// Analyze compares a unit with its policy and with the median of earlier units, those of
// all directives (001, section 4), and proposes changes. It judges efficiency, never the result.
func Analyze(s Summary, p Policy, earlier []Summary) []Proposal {
	var list []Proposal
	add := func(action, format string, args ...any) {
		list = append(list, Proposal{fmt.Sprintf(format, args...), action})
	}
	if s.Zombied > 0 && s.Longest >= p.MaxInteractions {
		add("the PM says in the directive what the first step is, or splits it; the limit did its work",
			"%s spun: %d interactions without progress, and the policy's max_interactions is %d", s.ID, s.Longest, p.MaxInteractions)
	}
	if s.Zombied == 0 && s.Longest*4 < p.MaxInteractions && len(earlier) >= 3 && median(earlier, longest)*4 < p.MaxInteractions {
		most := max(8, 2*max(s.Longest, median(earlier, longest)))
		add(fmt.Sprintf(narrower+" %s of the control branch; it holds for units that are opened then", most, p.MaxInteractions, PolicyPath),
			"%s and the units before it never needed more than a quarter of max_interactions %d", s.ID, p.MaxInteractions)
	}
	if s.Retries >= p.MaxRetries && p.MaxRetries > 0 {
		add(fmt.Sprintf("the PM looks at the causes that `git ward uow show %s` prints; only where they pass by themselves, a larger `max_retries` in %s helps (it is %d)", s.ID, PolicyPath, p.MaxRetries),
			"%s spent all %d retries", s.ID, p.MaxRetries)
	}
	if m := median(earlier, iterations); len(earlier) >= 3 && m > 0 && s.Iterations > 2*m {
		add("compare this unit's learnings with those of the units before it", "%s took %d iterations, the median before it is %d", s.ID, s.Iterations, m)
	}
	if m := median(earlier, interactions); len(earlier) >= 3 && m > 0 && s.Interactions > 2*m {
		add("look for repeated reads in the log; a lesson may name the files that matter", "%s took %d interactions, the median before it is %d", s.ID, s.Interactions, m)
	}
	for reason, n := range repeated(s.Failures) {
		add(reason.Mend(s.ID), "%s was stopped %d times by %s", s.ID, n, reason)
	}
	if n := alike(s, earlier); n >= 3 && len(s.Failures) > 0 {
		last := s.Failures[len(s.Failures)-1]
		add("look for what these units have in common: the host, the image, the policy or the way directives are written",
			"%s ended by %s, as %d of the %d units before it", s.ID, last.Reason, n, len(earlier))
	}
	if s.Claims > 2*max(1, s.Iterations) {
		add("who works runs the criteria before a claim, and claims once an iteration", "%s claimed %d times in %d iterations", s.ID, s.Claims, s.Iterations)
	}
	return list
}

// repeated yields the reasons that stopped a unit more than once, with their counts.
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
