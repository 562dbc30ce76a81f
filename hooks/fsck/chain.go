package fsck

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"slices"

	"git-ward/hooks/audit"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/state"
)

// chainProof proves the chain of records.
type chainProof struct {
	repo     *git.Repo
	objects  *objects
	report   *report
	repair   bool
	settings *config.Config // today's

	links []audit.Link
	past  []*config.Config // the settings that the chain keeps
}

// maxLooks is how often a chain with findings is verified again because pushes moved it.
const maxLooks = 10

// prove verifies the chain and the notes made from it. Pushes continue meanwhile: one that is
// recorded between two reads looks like a ref moved past the hooks, or like a cut chain.
// Findings made while a push was recorded are checked again; a repair applies to what was
// read.
func (c *chainProof) prove(ctx context.Context, notes *notesProof) error {
	look := 0
	return git.Update(ctx, git.Race{What: state.AuditRef, Tries: maxLooks}, func() (bool, error) {
		look++
		c.links, c.past, notes.tip, notes.lines, c.report.findings = nil, nil, "", 0, nil
		if err := c.proveOnce(ctx, notes); err != nil || c.repair || len(c.report.findings) == 0 || look == maxLooks {
			return true, err
		}
		moved, err := c.moved(ctx, notes.tip)
		return !moved, err
	})
}

// moved reports whether a push was recorded since the chain was read, or the notes moved since they
// were, or one is running, so that its notes may still be missing. Git moves one ref of a push's end
// after the other.
func (c *chainProof) moved(ctx context.Context, notes string) (bool, error) {
	underWay, _, err := audit.LoadPending(c.repo)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if slices.ContainsFunc(underWay, func(p *audit.Pending) bool { return !p.Over(c.repo, c.objects.batch) }) {
		return true, nil
	}
	if len(c.links) == 0 {
		return false, nil
	}
	tip, err := c.repo.Ref(ctx, state.AuditRef)
	if err != nil || tip != c.links[len(c.links)-1].Commit {
		return true, err
	}
	if notes == "" { // they were not looked at
		return false, nil
	}
	tip, err = c.repo.Ref(ctx, state.AuditNotes)
	return tip != notes, err
}

// proveOnce verifies the chain and, between reading its end and comparing the refs, the notes.
func (c *chainProof) proveOnce(ctx context.Context, notes *notesProof) error {
	if err := c.pending(ctx); err != nil {
		return err
	}
	bare, err := c.repo.Bare(ctx)
	if err != nil {
		return err
	}
	if err := c.read(ctx); err != nil || len(c.links) == 0 || c.newer() {
		return err
	}
	if bare {
		if err := c.tail(ctx); err != nil {
			return err
		}
	}
	if c.repair {
		if err := c.setAside(ctx, notes); err != nil || len(c.links) == 0 {
			return err
		}
	}
	c.kept()
	c.order()
	if err := notes.prove(ctx); err != nil || !bare {
		return err
	}
	return c.tips(ctx)
}

// pending looks for pushes that moved refs without a record. A clone has none.
func (c *chainProof) pending(ctx context.Context) error {
	all, unread, err := audit.LoadPending(c.repo)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	left := len(unread)
	for _, p := range all {
		if p.Left(c.repo, c.objects.batch) {
			left++
		}
	}
	if left > 0 && c.repair {
		n, err := audit.Reconcile(ctx, c.repo, c.objects.batch)
		c.report.repair("recorded %s", diag.Count(n, "unfinished push"))
		for _, name := range unread {
			c.report.repair("set ward/pending/%s aside, which cannot be read", name)
		}
		if err != nil {
			c.report.add(state.AuditRef, "fsck/pending", "look at the file in ward/pending; once its refs are checked, it can be deleted", "%v", err)
		}
	} else if left > 0 {
		c.report.add(state.AuditRef, "fsck/pending", "git ward fsck --repair records it now, the next push does, too",
			"%s ended without a record", diag.Count(left, "push"))
	}
	aside, err := audit.Aside(c.repo)
	for _, name := range aside {
		c.report.warn("", "fsck/aside", "compare its refs with git ward log, then delete the file", "ward/aside/%s is the trace of a push that could not be read", name)
	}
	return err
}

// read reads the chain. If git cannot walk it, verification of the audit ends.
func (c *chainProof) read(ctx context.Context) (err error) {
	c.links, err = audit.ReadChain(ctx, c.repo, c.objects.batch)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		c.links = nil
		c.report.add(state.AuditRef, "fsck/chain", restoreChain, "git cannot walk it: %v", err)
	} else if len(c.links) == 0 {
		c.report.add(state.AuditRef, "fsck/chain", "git ward init --bare DIR starts it", "there is no audit chain")
	}
	return nil
}

// newer reports whether the chain has a record of a newer Ward. Then the audit is neither
// verified nor repaired: unknown content is no damage.
func (c *chainProof) newer() bool {
	for _, l := range c.links {
		if newer, ok := errors.AsType[*audit.NewerRecord](l.Err); ok {
			c.report.add(state.AuditRef, "fsck/newer", "ask the Ward that wrote it; `git ward version` says which one this is",
				"record %d: %v: the audit is neither proved nor repaired here", l.ID, newer)
			return true
		}
	}
	return false
}

// order checks that each record is the next of the one before it, and that the moves
// of each ref link up.
func (c *chainProof) order() {
	aside := c.aside()
	numbered := true
	for i, l := range c.links {
		switch {
		case l.Err != nil && aside[l.ID]:
			c.report.warn(state.AuditRef, "fsck/chain", "compare with a clone's chain", "record %d cannot be read, and was set aside", l.ID)
		case l.Err != nil:
			c.report.add(state.AuditRef, "fsck/chain", "compare with a clone's chain; git ward fsck --repair sets it aside", "record %d cannot be read (commit %s): %v", l.ID, diag.Short(l.Commit), l.Err)
		case !l.Canonical:
			c.report.add(state.AuditRef, "fsck/chain", byHand, "record %d is not in canonical form", l.ID)
		}
		if numbered && l.ID != int64(i+1) {
			numbered = false // all that follow are shifted
			c.report.add(state.AuditRef, "fsck/chain", compareClone, "commit %s holds record %d where %d belongs", diag.Short(l.Commit), l.ID, i+1)
		}
	}
	for _, ref := range audit.Gaps(c.links) {
		if !c.foreign(ref) {
			c.report.add(diag.Clean(ref), "fsck/gap", "somebody moved the ref on the host, past the hooks", "the recorded moves of the ref do not link up")
		}
	}
}

// foreign reports whether a forge moves a ref by itself, by the present settings or any stored
// in the chain.
func (c *chainProof) foreign(ref string) bool {
	return c.settings.Foreign(ref) || slices.ContainsFunc(c.past, func(s *config.Config) bool { return s.Foreign(ref) })
}

// kept verifies that settings are stored with the records that name them (AUD-2).
func (c *chainProof) kept() {
	hash := ""
	for _, l := range c.links {
		if l.Settings != "" {
			_, text, err := c.objects.batch.Read(l.Settings, audit.MaxConfig)
			sum := sha256.Sum256(text)
			hash = hex.EncodeToString(sum[:])
			settings, parseErr := config.Parse(text, "config.toml")
			if err == nil {
				err = parseErr
			}
			if err != nil {
				c.report.add(state.AuditRef, "fsck/config", byHand, "the settings beside record %d cannot be read: %v", l.ID, err)
			} else {
				c.past = append(c.past, settings)
			}
		}
		if l.Config != "" && l.Config != hash {
			c.report.add(state.AuditRef, "fsck/config", byHand, "record %d was judged by settings that the chain does not hold", l.ID)
		}
	}
}

// tips compares every ref with the chain. A clone has other branches, so this is only done in
// the server's repository.
func (c *chainProof) tips(ctx context.Context) error {
	r, err := audit.Unrecorded(ctx, c.repo, c.settings, c.links)
	if err != nil {
		return err
	}
	// After the refs: a push that moved one is among these, or its record is on the chain by
	// now, which prove sees.
	underWay, _, err := audit.LoadPending(c.repo)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	moving := map[string]bool{}
	for _, p := range underWay {
		for _, ref := range p.Record.Refs {
			moving[ref.Ref] = true
		}
	}
	for _, ref := range r.Refs {
		if !moving[ref.Ref] {
			c.report.add(diag.Clean(ref.Ref), "fsck/unrecorded", "somebody moved it on the host, past the hooks; git ward init --bare DIR records it as it is",
				"is at %s, but the audit has it at %s", short(ref.New), short(ref.Old))
		}
	}
	return nil
}

func short(id string) string {
	if id == git.Zero {
		return "-"
	}
	return diag.Short(id)
}
