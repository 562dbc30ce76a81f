package fsck

import (
	"context"
	"slices"
	"strings"

	"git-ward/hooks/audit"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/state"
)

// notesProof verifies that the audit's notes agree with the chain. They are an index, so
// missing ones can be rebuilt.
type notesProof struct {
	repo    *git.Repo
	objects *objects
	report  *report
	chain   *chainProof

	tip   string // the notes' commit that was read, git.Zero for none
	lines int    // that were read
}

// prove compares the notes with the chain, and rebuilds them where they lack
// something and the run repairs.
func (n *notesProof) prove(ctx context.Context) error {
	missing, err := n.compare(ctx)
	if err != nil || !missing || !n.chain.repair {
		return err
	}
	if err := n.rebuild(ctx); err != nil {
		return err
	}
	n.report.findings = slices.DeleteFunc(n.report.findings, func(d diag.Diagnostic) bool { return d.Rule == "fsck/notes" })
	n.lines = 0
	_, err = n.compare(ctx)
	return err
}

// expected is what the chain says about one object: a line of its note. A record of
// an older version may stand in full where today's note has an excerpt.
type expected struct {
	line, whole string
	id          int64 // the record's position
}

// compare compares notes and chain in both directions, and reports whether notes lack
// something that the chain has. A full note may lack what it has dropped.
func (n *notesProof) compare(ctx context.Context) (missing bool, err error) {
	want, err := n.wanted()
	if err != nil {
		return false, err
	}
	have, err := n.read(ctx)
	if err != nil {
		return false, err
	}
	for object, records := range want {
		lines := lineSet(have[object])
		for _, e := range records {
			if !lines[e.line] && !lines[e.whole] && e.id > have[object].Through {
				missing = true
				n.report.add(state.AuditNotes, "fsck/notes", rebuildNotes, "the note on %s lacks its record", diag.Short(object))
			}
		}
	}
	for object, note := range have {
		if n.surplus(object, note, want[object]) {
			missing = true
		}
	}
	return missing, nil
}

// wanted is what the chain says must stand in the notes, by object.
func (n *notesProof) wanted() (map[string][]expected, error) {
	want := map[string][]expected{}
	for _, l := range n.chain.links {
		if l.Verdict != audit.Accepted {
			continue
		}
		whole, err := l.Marshal()
		if err != nil {
			return nil, err
		}
		lines, err := l.NoteLines()
		if err != nil {
			return nil, err
		}
		for object, line := range lines {
			want[object] = append(want[object], expected{line, string(whole), l.ID})
		}
	}
	return want, nil
}

// surplus reports lines of a note that the chain does not have, and whether a rebuilt
// note would be another one.
func (n *notesProof) surplus(object string, note audit.NoteText, want []expected) (rebuild bool) {
	good := map[string]bool{}
	for _, e := range want {
		good[e.line], good[e.whole] = true, true
	}
	aside := n.chain.aside()
	for _, line := range note.Lines {
		if n.lines++; good[line] {
			continue
		}
		r, err := audit.ParseRecord([]byte(line))
		switch {
		case err == nil && r.ID > int64(len(n.chain.links)):
			// Not to be rebuilt, because it may be all that is left of a cut end.
			n.report.add(state.AuditNotes, "fsck/tail", restoreChain, "the note on %s holds record %d, and the chain ends at %d", diag.Short(object), r.ID, len(n.chain.links))
		case err == nil && aside[r.ID]:
			// The chain cannot say it any more.
		default:
			rebuild = true
			n.report.add(state.AuditNotes, "fsck/notes", rebuildNotes, "the note on %s holds a line that the chain does not", diag.Short(object))
		}
	}
	return rebuild
}

func lineSet(note audit.NoteText) map[string]bool {
	set := make(map[string]bool, len(note.Lines))
	for _, line := range note.Lines {
		set[line] = true
	}
	return set
}

// read reads all notes of the audit, by the object that they are on. One that cannot
// be read has no lines: the comparison with the chain says so.
func (n *notesProof) read(ctx context.Context) (map[string]audit.NoteText, error) {
	tip, err := n.repo.Ref(ctx, state.AuditNotes)
	n.tip = tip
	if err != nil || tip == git.Zero {
		return nil, err
	}
	notes := map[string]audit.NoteText{}
	out, err := n.repo.Output(ctx, "ls-tree", "-r", tip)
	if err != nil && ctx.Err() == nil {
		n.report.add(state.AuditNotes, "fsck/notes", rebuildNotes, "git cannot read them: %v", err)
		return notes, nil
	}
	if err != nil {
		return nil, err
	}
	for entry := range strings.Lines(string(out)) {
		object, blob, path := noteEntry(entry)
		if object == "" {
			n.report.add(state.AuditNotes, "fsck/notes", rebuildNotes, "%q is not a note", path)
			continue
		}
		_, data, err := n.objects.batch.Read(blob, audit.MaxReadNote)
		if err != nil {
			n.objects.recover(ctx, tip)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			data = nil
		}
		notes[object] = audit.ParseNote(data)
	}
	return notes, nil
}

// noteEntry reads a line of `git ls-tree -r` of a notes tree: the object that is
// annotated ("" where the path is no note's), the note's blob, and the path.
func noteEntry(line string) (object, blob, path string) {
	meta, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
	fields := strings.Fields(meta)
	object = strings.ReplaceAll(path, "/", "")
	if len(fields) != 3 || !git.IsID(object) {
		return "", "", path
	}
	return object, fields[2], path
}

// rebuild writes the notes anew from the chain, on top of what is there, so that
// a clone can still follow.
func (n *notesProof) rebuild(ctx context.Context) error {
	w, err := audit.NewWriter(ctx, n.repo, n.objects.batch)
	if err != nil {
		return err
	}
	defer w.Close()
	records := make([]*audit.Record, len(n.chain.links))
	for i, l := range n.chain.links {
		records[i] = l.Record
	}
	if err := w.RebuildNotes(ctx, records); err != nil {
		return err
	}
	n.report.repair("rebuilt %s from the chain", state.AuditNotes)
	return nil
}
