package fsck

import (
	"context"
	"errors"
	"maps"
	"slices"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// messages proves what a record says for COMMS.md (MANY-2): each message can be read, is of
// its own directive, and none is missing.
func (w *workProof) messages(ref string, id uow.ID) error {
	entries, err := w.reader.Entries(ref, record.Messages)
	if err != nil {
		return err
	}
	for i, e := range entries {
		path := record.Messages + "/" + e.Name
		if want := record.MessagePath(i + 1); path != want { // entries are sorted, and numbers have four digits
			w.report.add(ref, "fsck/record", restoreRecord, "%s is missing: the next of its messages is %s", want, diag.Clean(path))
			return nil
		}
		data, err := w.reader.File(ref, path, comms.MaxMessageBytes)
		if errors.Is(err, git.ErrMissing) || err != nil && w.tooLarge(err, ref, path) {
			continue // git's own fsck says so
		}
		if err != nil {
			return err
		}
		m, why := comms.ParseMessage(data)
		if why == nil && m.Directive != id.Directive {
			why = errors.New("it is for " + diag.Clean(m.Directive))
		}
		if why != nil && !w.tombstones.covers(w.objects, ref+":"+path) {
			w.report.add(ref, "fsck/record", restoreRecord, "%s is no message of %s: %v", path, id.Directive, why)
		}
	}
	return nil
}

// folded proves the host's marks of how far records are folded: each can be read, and none
// is ahead of its record.
func (w *workProof) folded(ctx context.Context) error {
	if bare, err := w.repo.Bare(ctx); err != nil || !bare {
		return err
	}
	refs, err := w.reader.Refs(record.FoldedPrefix)
	if err != nil {
		return err
	}
	for _, ref := range slices.Sorted(maps.Keys(refs)) {
		drop := drop + " " + diag.Clean(ref) + "; what COMMS.md has is not folded again"
		id, why := record.ParseFoldedRef(ref)
		if why != nil {
			w.report.add(diag.Clean(ref), "fsck/folded", drop, "%v", why)
			continue
		}
		data, err := w.reader.Blob(refs[ref], 4<<10)
		if err != nil {
			w.report.add(ref, "fsck/folded", drop, "it cannot be read: %v", err)
			continue
		}
		number, why := record.ParseFolded(id, data)
		if why != nil {
			w.report.add(ref, "fsck/folded", drop, "%s", diag.Clean(why.Error()))
			continue
		}
		tip, err := w.reader.Tip(record.Ref(id))
		if err != nil || tip == "" { // the PM may have dropped the record
			continue
		}
		entries, err := w.reader.Entries(tip, record.Messages)
		if err != nil {
			return err
		}
		if number > len(entries) {
			w.report.add(ref, "fsck/folded", drop, "it says that %d messages of %s are folded, and the record has %d", number, id, len(entries))
		}
	}
	return nil
}
