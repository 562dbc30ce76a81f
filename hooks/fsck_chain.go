package hooks

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"git-ward/hooks/audit"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// pending looks for pushes that moved refs and were never recorded. In a clone
// there is nothing to look at.
func (f *fsck) pending(repair bool) error {
	all, unread, err := audit.LoadPending(f.repo)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	left := len(unread)
	for _, p := range all {
		if p.Over(f.repo, f.batch) {
			left++
		}
	}
	if left > 0 && repair {
		n, err := audit.Reconcile(f.ctx, f.repo, f.batch)
		f.repaired = append(f.repaired, fmt.Sprintf("recorded %d unfinished pushes", n))
		for _, name := range unread {
			f.repaired = append(f.repaired, fmt.Sprintf("set ward/pending/%s aside, which cannot be read", name))
		}
		if err != nil {
			f.report(audit.ChainRef, "fsck/pending", "look at the file in ward/pending; once its refs are checked, it can be deleted", "%v", err)
		}
	} else if left > 0 {
		f.report(audit.ChainRef, "fsck/pending", "git ward fsck --repair records it now, the next push does, too",
			"%d pushes ended without their record", left)
	}
	aside, err := audit.Aside(f.repo)
	for _, name := range aside {
		f.warn("", "fsck/aside", "compare its refs with git ward log, then delete the file", "ward/aside/%s is the trace of a push that could not be read", name)
	}
	return err
}

// links checks that each record is the next of the one before it.
func (f *fsck) links() {
	aside := f.aside()
	numbered := true
	for i, l := range f.chain {
		switch {
		case l.Err != nil && aside[l.ID]:
			f.warn(audit.ChainRef, "fsck/chain", "compare with a clone's chain", "record %d cannot be read, and was set aside", l.ID)
		case l.Err != nil:
			f.report(audit.ChainRef, "fsck/chain", "compare with a clone's chain; git ward fsck --repair sets it aside", "record %d cannot be read (commit %s): %v", l.ID, diag.Short(l.Commit), l.Err)
		case !l.Canonical:
			f.report(audit.ChainRef, "fsck/chain", "somebody wrote it by hand; compare with a clone's chain", "record %d is not in canonical form", l.ID)
		}
		if numbered && l.ID != int64(i+1) {
			numbered = false // all that follow are shifted
			f.report(audit.ChainRef, "fsck/chain", "compare with a clone's chain: git fetch refuses a rewritten one",
				"commit %s holds record %d where %d belongs", diag.Short(l.Commit), l.ID, i+1)
		}
	}
	for ref, b := range balances(f.chain) {
		if _, ok := b.tip(); !ok && !f.foreign(ref) {
			f.report(diag.Clean(ref), "fsck/gap", "somebody moved the ref on the host, past the hooks",
				"the recorded moves of the ref do not link up")
		}
	}
}

// aside are the positions that records set aside.
func (f *fsck) aside() map[int64]bool {
	aside := map[int64]bool{}
	for _, l := range f.chain {
		for _, id := range l.Aside {
			aside[id] = true
		}
	}
	return aside
}

// setAside records which records cannot be read, so that a proof has an end. What the
// notes know of them stands in the new record.
func (f *fsck) setAside() error {
	known := f.aside()
	var lost []int64
	for _, l := range f.chain {
		if l.Err != nil && !known[l.ID] {
			lost = append(lost, l.ID)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	have, err := f.readNotes()
	if err != nil {
		return err
	}
	r := &audit.Record{Time: time.Now().UTC().Truncate(time.Millisecond), Principal: "host", Verdict: audit.Accepted,
		Rules: []string{"fsck/aside"}, Reconciled: true, Aside: lost}
	r.Push = "repair-" + r.Time.Format("20060102T150405.000Z")
	for _, old := range noted(have, lost) {
		r.Refs = append(r.Refs, old.Refs...)
	}
	w, err := audit.NewWriter(f.ctx, f.repo, f.batch)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.Append(f.ctx, audit.Entry{Record: r}); err != nil {
		return err
	}
	f.repaired = append(f.repaired, fmt.Sprintf("set %s of the chain aside", diag.Count(len(lost), "record")))
	return f.read()
}

// noted are the records at some positions as the notes have them.
func noted(notes map[string]audit.NoteText, positions []int64) []*audit.Record {
	var all []*audit.Record
	for _, note := range notes {
		for _, line := range note.Lines {
			r, err := audit.ParseRecord([]byte(line))
			if err != nil || r.Omitted != nil || !slices.Contains(positions, r.ID) ||
				slices.ContainsFunc(all, func(o *audit.Record) bool { return o.ID == r.ID }) {
				continue
			}
			all = append(all, r)
		}
	}
	return all
}

// foreign reports whether a forge moves a ref by itself, by the settings of today or
// of any time that the chain keeps.
func (f *fsck) foreign(ref string) bool {
	return slices.ContainsFunc(f.configs, func(c *config.Config) bool { return c.Foreign(ref) })
}

// settings proves that the settings of their time stand beside the records that
// name them (AUD-2).
func (f *fsck) settings() {
	hash := ""
	for _, l := range f.chain {
		if l.Settings != "" {
			_, text, err := f.batch.Read(l.Settings, audit.MaxConfig)
			sum := sha256.Sum256(text)
			hash = hex.EncodeToString(sum[:])
			c, parseErr := config.Parse(text, "config.toml")
			if err == nil {
				err = parseErr
			}
			if err != nil {
				f.report(audit.ChainRef, "fsck/config", "somebody wrote it by hand; compare with a clone's chain", "the settings beside record %d cannot be read: %v", l.ID, err)
			} else {
				f.configs = append(f.configs, c)
			}
		}
		if l.Config != "" && l.Config != hash {
			f.report(audit.ChainRef, "fsck/config", "somebody wrote it by hand; compare with a clone's chain",
				"record %d was judged by settings that the chain does not hold", l.ID)
		}
	}
}

// tail compares the chain's end with its reflog: a chain that somebody set back to
// an older record is whole, and says less than it did.
func (f *fsck) tail(repair bool) error {
	in := make(map[string]bool, len(f.chain))
	for _, l := range f.chain {
		in[l.Commit] = true
	}
	tip, last, lost := f.chain[len(f.chain)-1].Commit, "", ""
	ok, err := audit.Reflog(f.repo, audit.ChainRef, 0, func(m audit.Move) {
		if last = m.New; !in[m.New] && m.New != git.Zero {
			lost = m.New
		}
	})
	if err != nil {
		return err
	}
	switch {
	case !ok || last == "":
		f.warn(audit.ChainRef, "fsck/tail", "compare with a clone's chain: git fetch refuses one that was cut", "it has no reflog, so a record gone from its end would not show here")
	case lost != "":
		return f.restore(tip, lost, repair)
	case last != tip:
		f.report(audit.ChainRef, "fsck/tail", "compare with a clone's chain: git fetch refuses one that was cut",
			"it is at %s, but its reflog ends at %s", diag.Short(tip), diag.Short(last))
	}
	return nil
}

// restore puts a cut end of the chain back, where nothing was recorded since.
func (f *fsck) restore(tip, lost string, repair bool) error {
	r, err := audit.Read(f.batch, lost)
	if err != nil {
		f.report(audit.ChainRef, "fsck/tail", "restore refs/ward/audit from a clone that fetched it",
			"records are gone from its end: the reflog knows %s, which is not stored any more", diag.Short(lost))
		return nil
	}
	ahead, err := f.repo.Exits(f.ctx, "merge-base", "--is-ancestor", tip, lost)
	if err != nil {
		return err
	}
	switch {
	case ahead && repair:
		if err := f.repo.UpdateRefs(f.ctx, "ward: fsck --repair", git.RefUpdate{Ref: audit.ChainRef, Old: tip, New: lost}); err != nil {
			return err
		}
		f.repaired = append(f.repaired, fmt.Sprintf("put back the end of the chain, up to record %d", r.ID))
		return f.read()
	case ahead:
		f.report(audit.ChainRef, "fsck/tail", "git ward fsck --repair puts it back", "its end was cut: the reflog knows record %d (%s)", r.ID, diag.Short(lost))
	default:
		f.report(audit.ChainRef, "fsck/tail", "compare both: git log "+diag.Short(lost), "its end was cut and others were recorded since: the reflog knows record %d (%s)", r.ID, diag.Short(lost))
	}
	return nil
}

// tips compares every ref with where the chain left it. In a clone, other
// branches are expected, so only the server's own repository is compared.
func (f *fsck) tips() error {
	alive, _, err := audit.LoadPending(f.repo)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	busy := map[string]bool{}
	for _, p := range alive {
		for _, ref := range p.Record.Refs {
			busy[ref.Ref] = true
		}
	}
	r, err := unrecorded(f.ctx, f.repo, f.chain)
	if err != nil {
		return err
	}
	for _, ref := range r.Refs {
		if !busy[ref.Ref] {
			f.report(diag.Clean(ref.Ref), "fsck/unrecorded", "somebody moved it on the host, past the hooks; git ward init --bare DIR records it as it is",
				"is at %s, but the audit has it at %s", short(ref.New), short(ref.Old))
		}
	}
	return nil
}
