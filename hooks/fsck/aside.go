package fsck

import (
	"context"
	"slices"
	"time"

	"git-ward/hooks/audit"
	"git-ward/internal/diag"
)

// aside are the positions of records that later ones set aside.
func (c *chainProof) aside() map[int64]bool {
	aside := map[int64]bool{}
	for _, l := range c.links {
		for _, id := range l.Aside {
			aside[id] = true
		}
	}
	return aside
}

// setAside records which records are unreadable, so that verification can end. The new record
// has what the notes know about them.
func (c *chainProof) setAside(ctx context.Context, notes *notesProof) error {
	known := c.aside()
	var lost []int64
	for _, l := range c.links {
		if l.Err != nil && !known[l.ID] {
			lost = append(lost, l.ID)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	have, err := notes.read(ctx)
	if err != nil {
		return err
	}
	r := &audit.Record{Time: time.Now().UTC().Truncate(time.Millisecond), Principal: "host", Verdict: audit.Accepted,
		Rules: []string{"fsck/aside"}, Reconciled: true, Aside: lost}
	r.Push = "repair-" + r.Time.Format("20060102T150405.000Z")
	for _, old := range noted(have, lost) {
		r.Refs = append(r.Refs, old.Refs...)
	}
	w, err := audit.NewWriter(ctx, c.repo, c.objects.batch)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.Append(ctx, audit.Entry{Record: r}); err != nil {
		return err
	}
	c.report.repair("set %s of the chain aside", diag.Count(len(lost), "record"))
	return c.read(ctx)
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
