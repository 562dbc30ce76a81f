package loop

import (
	"fmt"
	"strings"
	"testing"
)

// TestWordsStay: what is compacted keeps its words: those of each iteration in a line,
// the PM's as they are, once, wherever they came in.
func TestWordsStay(t *testing.T) {
	file := StartLoop("", declared(t, Exact), "2026-11-21")
	file = TellPM(file, "D-1.1", []string{"use the second parser,\nas discussed", "not this one"})
	log := ""
	for i := range 12 {
		e := entry(t, i, 200)
		e.Tried = []string{fmt.Sprintf("attempt %d turned the knob", i), "and more"}
		e.Succeeded[1].Text = fmt.Sprintf("run %d is quicker", i)
		e.Failed[0].Text = fmt.Sprintf("way %d led nowhere", i)
		e.Open = []string{fmt.Sprintf("why does %d differ?", i)}
		var now string
		if file, now = Compact(AppendEntry(file, e)); now != "" {
			log = now
		}
		for k := range 100 {
			file = AddFailure(file, e.Loop, i, Learning{LaneC, fmt.Sprintf("filler %d of %d", k, i), nil})
		}
	}
	file = TellPM(file, "D-1.1", []string{"not this one", "the last word"})
	if len(file) > MaxLearnings || !strings.HasPrefix(log, "[COMPACTION] Distilled the iterations from ") || !strings.Contains(log, " witness lines. Original: ") {
		t.Errorf("%d bytes, %q", len(file), log)
	}
	for _, want := range []string{"tried: attempt 5 turned the knob and 1 more; supported: run 5 is quicker; guess: filler 99 of 5 and 100 more; open: why does 5 differ?",
		pmHeading + "\n- [PM] D-1.1: use the second parser, as discussed\n- [PM] D-1.1: not this one\n- [PM] D-1.1: the last word\n"} {
		if strings.Count(file, want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, file)
		}
	}
	if again := TellPM(file, "D-1.1", []string{"the last word"}); again != file {
		t.Error("the PM's words are doubled")
	}
	c := Capsule{Goal: "g", Criteria: []string{"c"}, Certificates: []string{Exact}, Learnings: file, SkillPack: SkillPack(nil), Role: CycleRole}
	if found := c.Check(); len(found) > 0 {
		t.Errorf("the PM's words keep a capsule from being made: %v", found)
	}
}
