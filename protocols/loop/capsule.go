package loop

import (
	"fmt"
	"slices"
	"strings"
)

// Role is a receiver of capsules (LOOP-8). The roles take turns, each with a fresh context.
type Role string

// The roles of an iteration (003, section 7).
const (
	Scout   Role = "Scout"
	Solver  Role = "Solver"
	Skeptic Role = "Skeptic"
)

// CycleRole is the capsule's subagent_role: the capsule of an iteration is the
// same for its three roles.
const CycleRole = "Scout, Solver, Skeptic mini-cycle"

// StateSummary is the loop's progress, read from artifacts only.
type StateSummary struct {
	Iteration int      `json:"iteration_number"`
	Residual  Residual `json:"residual_current"`
	Met       []string `json:"criteria_met_so_far"`
	Open      []string `json:"criteria_still_open"`
}

// Capsule is everything that a new subagent is told (003, section 4: the context normal form).
type Capsule struct {
	Goal         string       `json:"goal_statement"`
	Criteria     []string     `json:"acceptance_criteria"`
	Certificates []string     `json:"halting_certificates_applicable"`
	State        StateSummary `json:"current_state_summary"`
	Learnings    string       `json:"accumulated_learnings"`
	Remaining    Remaining    `json:"remaining_budget"`
	Links        []Link       `json:"artifact_links"`
	SkillPack    []string     `json:"skill_pack"`
	Role         string       `json:"subagent_role"`
}

// Sources is the input of Build. All of it comes from commits, notes and the journal, none from a
// process's memory.
type Sources struct {
	Declaration Declaration
	Limits      Limits
	Iteration   int // from 0
	Spent       int // iterations before this one, over all units of the directive's text
	Used        Usage
	Last        *Certificate // of the iteration before; nil before the first
	Learnings   string       // LEARNINGS.md as the record has it
	Manifest    Artifacts    // of the iteration before
	Newest      *Link        // to that manifest, which links the ones before it; nil before the first
}

// Build returns an iteration's capsule in canonical JSON (RFC 8785) and the [COMPACTION] log line,
// "" if the learnings were not compacted. The same sources give the same bytes on every machine.
// If found is not empty, it says what a capsule may not contain, and capsule is nil.
func Build(s Sources) (capsule []byte, log string, found []string) {
	learnings, log := Compact(normalize(portable(s.Learnings)))
	manifest := s.Manifest
	manifest.Previous = s.Newest
	c := Capsule{
		Goal: s.Declaration.Goal, Criteria: slices.Sorted(slices.Values(s.Declaration.Criteria)), Certificates: s.Declaration.Certificates,
		State:     StateSummary{Iteration: s.Iteration, Met: []string{}, Open: []string{}},
		Learnings: learnings, Remaining: s.Limits.Remaining(s.Spent, s.Used), Links: manifest.Links(),
		SkillPack: s.Declaration.skills(), Role: CycleRole,
	}
	met := map[string]bool{}
	if s.Last != nil {
		c.State.Residual = s.Last.Residual
		for _, m := range s.Last.Checklist {
			met[m.Criterion] = m.Met != nil && *m.Met
		}
	}
	for _, text := range c.Criteria {
		if met[text] {
			c.State.Met = append(c.State.Met, text)
		} else {
			c.State.Open = append(c.State.Open, text)
		}
	}
	if found = c.Check(); len(found) > 0 {
		return nil, log, found
	}
	capsule, err := canonical(c)
	if err != nil {
		return nil, log, []string{err.Error()}
	}
	return capsule, log, nil
}

// normalize removes what differs between runs and systems: the dates on which loops started, and
// CRLF line ends.
func normalize(learnings string) string {
	var kept []string
	for line := range strings.SplitSeq(strings.ReplaceAll(learnings, "\r\n", "\n"), "\n") {
		if !strings.HasPrefix(line, "- started: ") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// Check lists the violations of 003, section 4.1: a reference to a conversation without an artifact,
// a path of one machine, a broken link, an empty required field, a required skill that is missing.
// The PM's words (goal, criteria, marked lines of the learnings) may refer to anything.
func (c Capsule) Check() []string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for field, empty := range map[string]bool{"goal_statement": c.Goal == "", "acceptance_criteria": len(c.Criteria) == 0,
		"halting_certificates_applicable": len(c.Certificates) == 0, "subagent_role": c.Role == ""} {
		if empty {
			add("%s is empty", field)
		}
	}
	for _, name := range leastSkills {
		if !slices.Contains(c.SkillPack, name) {
			add("skill_pack lacks %s", name)
		}
	}
	n := 0
	for line := range strings.SplitSeq(c.Learnings, "\n") {
		n++
		if strings.HasPrefix(line, pmMark) {
			continue
		}
		if word := bleeds(line); word != "" && !strings.Contains(line, "#") {
			add("%s line %d: %q refers to a talk without an artifact", LearningsPath, n, word)
		}
		if root := hostPath(line); root != "" {
			add("%s line %d: %s... is a path of one machine", LearningsPath, n, root)
		}
	}
	for _, l := range c.Links {
		if p := l.check(); p != "" {
			add("artifact_links: %s", p)
		}
	}
	slices.Sort(list)
	return list
}
