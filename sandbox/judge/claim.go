package judge

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/held"
	"git-ward/protocols/boot"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/sandbox/lastgood"
	"git-ward/sandbox/verifier"
)

// Names of a claim's commands, under which a verdict finds their results.
const (
	residualName = "residual"
	suiteName    = "suite"
	validateName = "validate"
)

// criterionName is a criterion's name, counted from 0.
func criterionName(i int) string { return fmt.Sprintf("criterion %d", i+1) }

// heldOut is the name of the n-th held out criterion, from 0, in a verdict.
func heldOut(d *comms.Directive, n int) loop.Criterion {
	c := verifier.Command{Held: true}
	return loop.Criterion{Text: fmt.Sprintf("held out, %d of %d", n+1, d.Options.Held.Count), Command: c.Shown()}
}

// holdOut adds the directive's held out criteria and files to a claim.
func holdOut(bare string, d *comms.Directive, claim *verifier.Claim) error {
	if d.Options.Held.Count == 0 {
		return nil
	}
	book, err := held.Read(bare, d.Name(), d.Options.Held.SHA256)
	if err != nil {
		return err
	}
	if len(book.Criteria) != d.Options.Held.Count {
		return fmt.Errorf("%s names %d held-out criteria, and the host has %d", d.Name(), d.Options.Held.Count, len(book.Criteria))
	}
	for n, c := range book.Criteria {
		claim.Commands = append(claim.Commands, verifier.Command{Name: heldOut(d, n).Text, Line: c.Command, Held: true})
	}
	for _, f := range book.Files {
		claim.Held = append(claim.Held, verifier.File(f))
	}
	return nil
}

// sayHeld stores the controls' results for held out criteria, on the host only.
func sayHeld(bare string, d *comms.Directive, commit string, f *verifier.Facts) error {
	if d.Options.Held.Count == 0 {
		return nil
	}
	word := held.Word{Commit: commit, Says: make([]string, d.Options.Held.Count)}
	for n := range word.Says {
		for _, c := range f.Controls {
			if c.Name == heldOut(d, n).Text {
				word.Says[n] = c.Says
			}
		}
	}
	return word.Write(bare, d.Name(), d.Options.Held.SHA256)
}

// ClaimOf lists what the verifier runs for a directive: each criterion that has a command, the residual,
// the suite of [verify], and the validation; twice if the rung requires two runs that agree (003,
// section 11). A directive without a command has nothing to run.
func ClaimOf(d *comms.Directive, settings *config.Config, commit, main string) verifier.Claim {
	c := verifier.Claim{Commit: commit, Main: main, Frozen: d.Options.Frozen, Pinned: settings.Verify.Pinned, Work: d.Options.Work,
		Replays: 1, Bounds: Bounds(settings), Controls: settings.Verify.Controls, Breaks: d.Options.Breaks, Alone: d.Options.Alone != ""}
	if len(c.Work) == 0 {
		c.Work = settings.Verify.Work
	}
	for _, i := range d.Options.Included {
		c.Included = append(c.Included, verifier.Entry(i))
	}
	if loop.Reaches(loop.RungTarget(d.Options), loop.Rung274177) {
		c.Replays = 2
	}
	if d.Options.Rung == loop.Rung65537 {
		c.Against = &verifier.Against{Time: settings.Verify.Timeout.Duration}
	}
	for i, criterion := range d.Criteria {
		if criterion.Command != "" {
			c.Commands = append(c.Commands, verifier.Command{Name: criterionName(i), Line: criterion.Command})
		}
	}
	if line := d.Options.Residual; line != "" {
		c.Commands = append(c.Commands, verifier.Command{Name: residualName, Line: line, Residual: true, Below: acceptedResidual(d, settings)})
	}
	if line := settings.Verify.Suite; line != "" && len(c.Commands) > 0 {
		c.Commands = append(c.Commands, verifier.Command{Name: suiteName, Line: line, Must: true})
	}
	if line := validation(settings); line != "" && len(c.Commands) > 0 {
		c.Commands = append(c.Commands, verifier.Command{Name: validateName, Line: line, Own: true, Must: true})
	}
	return c
}

// acceptedResidual returns R_p, below which a residual is accepted, "" if only zero is.
func acceptedResidual(d *comms.Directive, settings *config.Config) string {
	p, _, _ := loop.Declare("", *d, loop.Base(settings.Loop))
	if !slices.Contains(p.Certificates, loop.Converged) || p.Rp.IsNull() {
		return ""
	}
	return p.Rp.String()
}

// Bounds returns the limits of a claim's checkout.
func Bounds(settings *config.Config) verifier.Bounds {
	v := settings.Verify
	return verifier.Bounds{Entries: v.CheckoutEntries, Depth: v.CheckoutDepth, Bytes: v.CheckoutSize}
}

// validation returns the shell line that a tree must pass to become the agent's program (BOOT-3); "" if
// the program does not come from the tree.
func validation(settings *config.Config) string {
	b := settings.Bootstrap
	if len(b.Run) == 0 || len(b.Validate) == 0 {
		return ""
	}
	line := shellLine(b.Validate)
	if len(b.Build) > 0 {
		line = shellLine(b.Build) + " && " + line
	}
	return line
}

// untried says why a commit's program has not yet passed a required validation, "" if it has. A claim by
// a program that reports SUCCESS but cannot work does not count (BOOT-3).
func (j *Judge) untried(ctx context.Context, commit string) (why string, err error) {
	c, err := boot.Commands(j.Settings.Commands()).OrWard(func() (bool, error) {
		return j.Repo.Has(ctx, j.Settings.Control.ProjectRef(), boot.WardFiles...)
	})
	if err != nil || !j.Settings.Bootstrap.Probation || len(c.Run) == 0 || len(c.Validate) == 0 {
		return "", err
	}
	book := lastgood.Book{Bare: j.Repo.Dir, Control: j.Settings.Control}
	if passed, err := book.Tried(ctx, commit); passed || err != nil {
		return "", err
	}
	return "the program of " + diag.Short(commit) + " has passed no probation: the tool bootstrap starts it from its branch, which begins with one; " +
		"logs/bootstrap.log says why one that was tried failed", nil
}

// shellLine quotes a command's words as one shell line.
func shellLine(words []string) string {
	var quoted []string
	for _, w := range words {
		q, err := syntax.Quote(w, syntax.LangPOSIX)
		if err != nil { // a NUL byte: sh fails, and shows it
			q = strconv.Quote(w)
		}
		quoted = append(quoted, q)
	}
	return strings.Join(quoted, " ")
}
