// Package fsck proves that a repository holds only what the hooks admitted: that the audit,
// the units of work, the verdicts and the evidence are whole (GIT-3). It reads the repository
// and returns findings; with Options.Repair it also mends what can be mended without rewriting
// the chain.
package fsck

import (
	"context"
	"errors"
	"fmt"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/state"
)

// Options say what a run does besides checking.
type Options struct {
	// Repair finishes half-recorded pushes, rebuilds the notes, which are only an
	// index, puts back a cut end of the chain that is still stored, and sets broken
	// records and files aside.
	Repair bool
}

// Result has what a run read and found.
type Result struct {
	Findings    []diag.Diagnostic `json:"findings"`
	Notes       int               `json:"notes"`   // lines in notes of the audit
	Records     int               `json:"records"` // of the chain
	Repaired    []string          `json:"repaired"`
	UnitRecords int               `json:"unit_records"`
	Verdicts    int               `json:"verdicts"`
}

// Run walks the audit chain again and proves that each record follows the one before,
// that none is gone from its end, that the notes say the same, that every ref is where
// the chain left it and that no push is half recorded; then the units of work, the
// verdicts and the evidence, and that git can read every ref. What is broken is a finding, and
// what comes after it is proved all the same. An error is trouble with reading, not with what was read.
func Run(ctx context.Context, repo *git.Repo, o Options) (*Result, error) {
	objects := &objects{repo: repo, batch: repo.Batch(ctx)}
	defer func() { objects.batch.Close() }() // restart replaces it
	report := &report{}
	chain := &chainProof{repo: repo, objects: objects, report: report, repair: o.Repair, settings: settingsOf(repo)}
	notes := &notesProof{repo: repo, objects: objects, report: report, chain: chain}
	reader := repo.Reader(ctx)
	defer reader.Close()
	work := &workProof{repo: repo, reader: reader, objects: objects, report: report, settings: settingsOf(repo)}
	err := chain.prove(ctx, notes)
	if err == nil && len(chain.links) > 0 { // the journals' repository has a chain
		work.tombstones = chain.bury()
		err = work.prove(ctx)
	}
	if sound, wrong := objects.refs(ctx, report, chain.settings.Control); wrong != nil {
		err = errors.Join(err, wrong)
	} else if err != nil && !sound && ctx.Err() == nil {
		report.add("", "fsck/ref", "mend the refs first, and run it again", "what comes after them cannot be read: %s", diag.Clean(err.Error()))
		err = nil
	}
	if err != nil {
		return nil, err
	}
	return &Result{Findings: diag.Normalize(report.findings), Notes: notes.lines, Records: len(chain.links), Repaired: report.repaired,
		UnitRecords: work.steps, Verdicts: work.verdicts}, nil
}

// objects reads objects and continues after a damaged one, at which cat-file exits.
type objects struct {
	repo  *git.Repo
	batch *git.Batch
}

// recover starts a new child after an exit; alive is an existing object to test it with.
func (o *objects) recover(ctx context.Context, alive string) {
	if _, err := o.batch.Info(alive); err != nil {
		o.batch.Close()
		o.batch = o.repo.Batch(ctx)
	}
}

// report collects findings, and what was repaired, in words.
type report struct {
	findings []diag.Diagnostic
	repaired []string
}

// add reports an error about a ref; the hint says what the host's admin does about it.
func (r *report) add(ref, rule, hint, format string, args ...any) {
	r.findings = append(r.findings, diag.Diagnostic{Ref: ref, Rule: rule, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// warn is add for what is named and needs no hurry.
func (r *report) warn(ref, rule, hint, format string, args ...any) {
	r.add(ref, rule, hint, format, args...)
	r.findings[len(r.findings)-1].Severity = diag.Warning
}

func (r *report) repair(format string, args ...any) {
	r.repaired = append(r.repaired, fmt.Sprintf(format, args...))
}

// settingsOf are a bare repository's settings; the defaults where there are none to
// read, as in a clone.
func settingsOf(repo *git.Repo) *config.Config {
	if c, err := config.Load(repo.Dir); err == nil {
		return c
	}
	return config.Default()
}

const (
	// compareClone is the remedy where the chain was rewritten: git keeps a clone's.
	compareClone = "compare with a clone's chain: git fetch refuses a rewritten one"
	compareTail  = "compare with a clone's chain: git fetch refuses one that was cut"
	byHand       = "somebody wrote it by hand; compare with a clone's chain"
	restoreChain = "restore " + state.AuditRef + " from a clone that fetched it"
	rebuildNotes = "git ward fsck --repair rebuilds the notes from the chain"
)
