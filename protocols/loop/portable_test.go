package loop

import (
	"strings"
	"testing"
)

// TestPortable: whatever a criterion, a verdict, a tool or a model says, the learnings
// that hold it make a capsule, and so do learnings that others wrote. What the PM says
// stays as it is.
func TestPortable(t *testing.T) {
	for words, want := range map[string]string{
		"sh: /tmp/ward-1/run.sh: not found":             "sh: [host]/ward-1/run.sh: not found",
		"x/tmp/ /tmp/a and '/home/p/.cache' (/var/log)": "x/tmp/ [host]/a and '[host]/p/.cache' ([host]/log)",
		`PATH=/root/bin:/mnt/c C:\Users`:                `PATH=[host]/bin:[host]/c [host]/Users`,
		"As we discussed, remember that: As I said":     "[...], [...]: [...]",
		"ȺȺȺ as I said":                                 "[...]",
		"ȺȺ as I said \u212a":                           "[...]", // what grew and what shrank cancel out
		"as I said ȺȺ":                                  "[...] ȺȺ",
		"/tmp//tmp//tmp/":                               "[host]//tmp//tmp/",
		"paths such as internal/tmp/x stay":             "paths such as internal/tmp/x stay",
		"[PM] take /tmp/x":                              "take [host]/x",
	} {
		if got := statement(words); got != want {
			t.Errorf("%q is written %q, want %q", words, got, want)
		}
		p := declared(t, Exact)
		p.Goal, p.ResidualMetric = words, words
		e := Entry{Loop: "D-1.1", Metric: words, Certificate: None, Tried: []string{words}, Open: []string{words},
			Failed: []Learning{{LaneA, "not met: " + words, &Link{"evidence/x", strings.Repeat("a", 64), "proof"}}, {LaneC, words, nil}}}
		const said = "- [PM] D-1.1: remember that it is in /home/pat"
		file := TellPM(AppendEntry(StartLoop("# Foreign\n"+words+"\n", p, "2026-11-21"), e), "D-1.1", []string{"remember that it is in /home/pat"})
		for name, text := range map[string]string{"new": file, "of another Ward": file + words + "\n- " + words + "\n"} {
			s := sources(t)
			s.Learnings = text
			capsule, _, found := Build(s)
			if len(found) > 0 || !strings.Contains(string(capsule), said) {
				t.Errorf("%s learnings with %q: %v", name, words, found)
			}
		}
	}
}
