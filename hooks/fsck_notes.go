package hooks

import (
	"strings"

	"git-ward/hooks/audit"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// expected is what the chain says about one object: lines of its note, each with
// the position of its record. A record of an older version may stand in full where
// today's note has an excerpt.
type expected struct {
	line, whole string
	id          int64
}

// index compares the notes with the chain, in both directions, and reports whether
// the notes lack something that the chain has. What a full note gave up it may lack.
func (f *fsck) index() (missing bool, err error) {
	want := map[string][]expected{}
	for _, l := range f.chain {
		if l.Verdict != audit.Accepted {
			continue
		}
		whole, err := l.Marshal()
		if err != nil {
			return false, err
		}
		lines, err := l.NoteLines()
		if err != nil {
			return false, err
		}
		for object, line := range lines {
			want[object] = append(want[object], expected{line, string(whole), l.ID})
		}
	}
	have, err := f.readNotes()
	if err != nil {
		return false, err
	}
	const hint = "git ward fsck --repair rebuilds the notes from the chain"
	for object, records := range want {
		lines := lineSet(have[object])
		for _, e := range records {
			if !lines[e.line] && !lines[e.whole] && e.id > have[object].Through {
				missing = true
				f.report(audit.NotesRef, "fsck/notes", hint, "the note on %s lacks its record", diag.Short(object))
			}
		}
	}
	for object, note := range have {
		good := map[string]bool{}
		for _, e := range want[object] {
			good[e.line], good[e.whole] = true, true
		}
		for _, line := range note.Lines {
			if f.notes++; good[line] {
				continue
			}
			if r, err := audit.ParseRecord([]byte(line)); err == nil && r.ID > int64(len(f.chain)) {
				// Not to be rebuilt: it may be all that is left of a cut end.
				f.report(audit.NotesRef, "fsck/tail", "restore refs/ward/audit from a clone that fetched it",
					"the note on %s holds record %d, and the chain ends at %d", diag.Short(object), r.ID, len(f.chain))
				continue
			}
			if aside := f.aside(); len(aside) > 0 {
				if r, err := audit.ParseRecord([]byte(line)); err == nil && aside[r.ID] {
					continue // the chain cannot say it any more
				}
			}
			missing = true
			f.report(audit.NotesRef, "fsck/notes", hint, "the note on %s holds a line that the chain does not", diag.Short(object))
		}
	}
	return missing, nil
}

func lineSet(note audit.NoteText) map[string]bool {
	set := make(map[string]bool, len(note.Lines))
	for _, line := range note.Lines {
		set[line] = true
	}
	return set
}

// readNotes reads all notes of the audit. One that cannot be read is a finding, and
// has no lines.
func (f *fsck) readNotes() (map[string]audit.NoteText, error) {
	tip, err := f.repo.Ref(f.ctx, audit.NotesRef)
	if err != nil || tip == git.Zero {
		return nil, err
	}
	notes := map[string]audit.NoteText{}
	out, err := f.repo.Output(f.ctx, "ls-tree", "-r", tip)
	if err != nil && f.ctx.Err() == nil {
		f.report(audit.NotesRef, "fsck/notes", "git ward fsck --repair rebuilds the notes from the chain", "git cannot read them: %v", err)
		return notes, nil
	}
	if err != nil {
		return nil, err
	}
	for entry := range strings.Lines(string(out)) {
		meta, path, _ := strings.Cut(strings.TrimSuffix(entry, "\n"), "\t")
		fields := strings.Fields(meta)
		object := strings.ReplaceAll(path, "/", "")
		if len(fields) != 3 || !git.IsID(object) {
			f.report(audit.NotesRef, "fsck/notes", "git ward fsck --repair rebuilds the notes from the chain", "%q is not a note", path)
			continue
		}
		_, data, err := f.batch.Read(fields[2], audit.MaxReadNote)
		if err != nil {
			if _, alive := f.batch.Info(tip); alive != nil { // git ends a child that meets a damaged object
				f.batch.Close()
				f.batch = f.repo.Batch(f.ctx)
			}
			if f.ctx.Err() != nil {
				return nil, f.ctx.Err()
			}
			data = nil // the chain's records are missing in it: index says so
		}
		notes[object] = audit.ParseNote(data)
	}
	return notes, nil
}

// rebuild writes the notes anew from the chain, on top of what is there, so that
// a clone can still follow.
func (f *fsck) rebuild() error {
	w, err := audit.NewWriter(f.ctx, f.repo, f.batch)
	if err != nil {
		return err
	}
	defer w.Close()
	records := make([]*audit.Record, len(f.chain))
	for i, l := range f.chain {
		records[i] = l.Record
	}
	if err := w.RebuildNotes(f.ctx, records); err != nil {
		return err
	}
	f.repaired = append(f.repaired, "rebuilt "+audit.NotesRef+" from the chain")
	kept := f.found[:0]
	for _, d := range f.found {
		if d.Rule != "fsck/notes" {
			kept = append(kept, d)
		}
	}
	f.found, f.notes = kept, 0
	_, err = f.index()
	return err
}
