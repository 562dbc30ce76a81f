package command

import (
	"strings"
	"testing"

	"git-ward/internal/cli"
	"git-ward/internal/export"
	"git-ward/sandbox/verifier"
)

// TestWriteFacts: what other programs read says the same as the exit: nothing passes there
// that is 1 here.
func TestWriteFacts(t *testing.T) {
	run := func(end string, exit int) verifier.Run {
		return verifier.Run{Command: verifier.Command{Name: "criterion 1", Line: "make check"}, Outcome: verifier.Outcome{End: end, Exit: exit, Tail: "said\n"}}
	}
	for name, c := range map[string]struct {
		facts  verifier.Facts
		junit  string
		passes bool
	}{
		"met":      {verifier.Facts{Replays: [][]verifier.Run{{run(verifier.Exited, 0)}}}, `classname="git-ward.run 1" name="criterion 1: make check"`, true},
		"unmet":    {verifier.Facts{Replays: [][]verifier.Run{{run(verifier.Exited, 2)}}}, `<failure message="exit 2"`, false},
		"timeout":  {verifier.Facts{Replays: [][]verifier.Run{{run(verifier.TimedOut, 137)}}}, `<error message="timeout 137"`, false},
		"with":     {verifier.Facts{With: []verifier.Run{run(verifier.Exited, 1)}}, `classname="git-ward.all of the claim"`, false},
		"against":  {verifier.Facts{Against: []verifier.AgainstRun{{Kind: "shuffled", Runs: []verifier.Run{run(verifier.Exited, 1)}}}}, `classname="git-ward.shuffled"`, false},
		"put back": {verifier.Facts{Deviations: []verifier.Deviation{{Path: "Makefile", Kind: "changed"}}}, `name="Makefile"`, false},
		"unfit":    {verifier.Facts{Commit: "c0ffee", Unfit: "too large"}, `<error message="too large"`, false},
	} {
		var junit, sarif strings.Builder
		if err := writeFacts(&junit, &c.facts, export.JUnit); err != nil {
			t.Fatal(err)
		}
		if err := writeFacts(&sarif, &c.facts, export.SARIF); err != nil {
			t.Fatal(err)
		}
		passes := strings.Contains(junit.String(), `failures="0" errors="0"`)
		if !strings.Contains(sarif.String(), `"fullName":"git ward verify","version":"`+cli.Version+`"`) {
			t.Errorf("%s: no version: %s", name, sarif.String())
		}
		if clean := strings.Contains(sarif.String(), `"results":[]`) || strings.Contains(sarif.String(), `"results": []`); passes != c.passes || clean != c.passes || !strings.Contains(junit.String(), c.junit) {
			t.Errorf("%s: passes %v, no results %v:\n%s", name, passes, clean, junit.String())
		}
	}
}
