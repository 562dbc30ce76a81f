package sandbox

import (
	"fmt"

	"git-ward/internal/config"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
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
// command, the residual, and the suite of [verify]; all of it twice where the rung
// wants two runs that agree (003, section 11). A directive without a command has
// nothing to run.
func claimOf(d *comms.Directive, settings *config.Config, commit, main string, rung int) verifier.Claim {
	c := verifier.Claim{Commit: commit, Main: main, Frozen: d.Options.Frozen, Pinned: settings.Verify.Pinned, Replays: 1}
	if rung >= loop.Rung274177 {
		c.Replays = 2
	}
	for i, criterion := range d.Criteria {
		if criterion.Command != "" {
			c.Commands = append(c.Commands, verifier.Command{Name: criterionName(i), Line: criterion.Command})
		}
	}
	if line := d.Options.Residual; line != "" {
		c.Commands = append(c.Commands, verifier.Command{Name: residualName, Line: line})
	}
	if line := settings.Verify.Suite; line != "" && len(c.Commands) > 0 {
		c.Commands = append(c.Commands, verifier.Command{Name: suiteName, Line: line})
	}
	return c
}
