package sandbox

import (
	"fmt"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"git-ward/internal/config"
	"git-ward/protocols/comms"
	"git-ward/sandbox/verifier"
)

// Names of a claim's commands, by which a verdict reads their ends.
const (
	residualName = "residual"
	suiteName    = "suite"
)

// criterionName is that of a directive's criterion, counted from 0.
func criterionName(i int) string { return fmt.Sprintf("criterion %d", i+1) }

// claimOf is what the verifier runs for a directive: each criterion that has a
// command, the residual, and the suite. A directive without a command
// has nothing to run.
func claimOf(d *comms.Directive, settings *config.Config, commit, main string) verifier.Claim {
	c := verifier.Claim{Commit: commit, Main: main, Frozen: d.Options.Frozen, Pinned: settings.Verify.Pinned, Replays: 1}
	for i, criterion := range d.Criteria {
		if criterion.Command != "" {
			c.Commands = append(c.Commands, verifier.Command{Name: criterionName(i), Line: criterion.Command})
		}
	}
	if line := d.Options.Residual; line != "" {
		c.Commands = append(c.Commands, verifier.Command{Name: residualName, Line: line})
	}
	if line := suite(settings); line != "" && len(c.Commands) > 0 {
		c.Commands = append(c.Commands, verifier.Command{Name: suiteName, Line: line})
	}
	if d.Options.Rung >= replayRung {
		c.Replays = 2
	}
	return c
}

// suite is what every claim must pass beside its criteria, as one line for the
// shell: that of [verify] and, where the agent's program comes from the tree, what
// a tree must pass to become it (BOOT-3). "" is nothing.
func suite(settings *config.Config) string {
	var parts []string
	if line := settings.Verify.Suite; line != "" {
		parts = append(parts, "{ "+line+"\n}")
	}
	if b := settings.Bootstrap; len(b.Run) > 0 && len(b.Validate) > 0 {
		for _, words := range [][]string{b.Build, b.Validate} {
			if line := shellLine(words); line != "" {
				parts = append(parts, line)
			}
		}
	}
	return strings.Join(parts, " && ")
}

// shellLine is a command, word by word, as a line for the shell.
func shellLine(words []string) string {
	var quoted []string
	for _, w := range words {
		q, err := syntax.Quote(w, syntax.LangPOSIX)
		if err != nil { // a byte that sh cannot be given; this fails, and shows it
			q = strconv.Quote(w)
		}
		quoted = append(quoted, q)
	}
	return strings.Join(quoted, " ")
}

// replayRung is the rung from which a verification is made twice (003, section
// 11).
const replayRung = 274177
