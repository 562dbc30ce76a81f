package uow

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/diag"
)

// TestSentences prints every sentence about what waits, for a person to read, and holds each
// to what it must not have: a hash, a state's name, an escape, or two commands.
func TestSentences(t *testing.T) {
	var b strings.Builder
	for _, c := range slices.Sorted(maps.Keys(sentences)) {
		w := c.Waiting("D-1", "D-1.1", "not met: all tests pass (exit 1)")
		fmt.Fprintf(&b, "%s\n    %s\n", c, w)
		for what, bad := range badWords {
			if found := bad.FindString(w.Why); found != "" {
				t.Errorf("%s has %s: %q in %q", c, what, found, w.Why)
			}
		}
		if strings.HasSuffix(w.Why, ".") || w.Why == "" || strings.Contains(w.Why+w.Command, "{") || strings.Contains(w.Why, "; ") {
			t.Errorf("%s is not one clause: %q", c, w.Why)
		}
		if strings.Contains(w.Why, "git ") {
			t.Errorf("%s has a second command: %q", c, w.Why)
		}
		if waits := w.For == ForYou || w.For == ForCause; waits != (w.Command != "") || strings.ContainsAny(w.Command, "\n;") {
			t.Errorf("%s, for %q, has the command %q", c, w.For, w.Command)
		}
	}
	const golden = "testdata/sentences.txt"
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("%s is not what the table says:\n%s", golden, b.String())
	}
}

var badWords = map[string]*regexp.Regexp{
	"a hash":         regexp.MustCompile(`\b[0-9a-f]{12,}\b`),
	"an escape":      regexp.MustCompile(`\\[a-z0-9]`),
	"a state's name": regexp.MustCompile(`\b[A-Z]+_[A-Z_]+\b|\b[A-Z]{5,}\b`),
}

// Whatever a unit stands at, what it says is of the table, and complete: a reason without
// words, and an event that nobody thought of, leave no hole in it.
func TestSentencesOfUnits(t *testing.T) {
	reasons := map[Reason]bool{"": true}
	for _, e := range []Event{Block, RequestApproval, Pause, Condemn} {
		for _, r := range Reasons(e, Agent) {
			reasons[r] = true
		}
		for _, r := range Reasons(e, PM) {
			reasons[r] = true
		}
	}
	met := map[Cause]bool{}
	for _, state := range []State{Pending, Active, PendingApproval, Paused, ZombiedSoft, ZombiedDead, Completed, Failed, Breached, Refinement, Archived} {
		for reason := range reasons {
			for _, retries := range []int64{0, 99} {
				for _, edited := range []bool{false, true} {
					policy := DefaultPolicy()
					r := &Record{ID: "D-1.1", Directive: "D-1", State: state, ReasonCode: reason, Policy: policy, Retries: retries}
					w := r.Stand(edited, true).Waiting
					met[w.Cause] = true
					if w != r.says(w.Cause) || w.For == "" {
						t.Errorf("%s for %q: %+v is not of the table", state, reason, w)
					}
					for what, bad := range badWords {
						if found := bad.FindString(strings.ReplaceAll(w.Why, "scratch/STOP", "")); found != "" {
							t.Errorf("%s for %q has %s: %q", state, reason, what, w.Why)
						}
					}
					if diag.OneLine(w.Why) != w.Why || strings.HasSuffix(w.Why, ": ") {
						t.Errorf("%s for %q: %q", state, reason, w.Why)
					}
				}
			}
		}
	}
	if len(met) < 20 {
		t.Errorf("units come to %d causes only", len(met))
	}
}
