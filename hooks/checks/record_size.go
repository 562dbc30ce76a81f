package checks

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json"

	"git-ward/hooks/walk"
	"git-ward/internal/git"
	"git-ward/protocols/state"
)

// recordSize is a record's uncompressed size at its new tip. The audit's note on the old tip
// has the size there, so that a push costs what it adds (HOOK-1); without a note everything is
// counted.
func recordSize(pass *Pass, t *walk.Tip, most int64) (int64, error) {
	before, known, err := sizeBefore(pass, t)
	if err != nil {
		return 0, err
	}
	if known {
		if grown, err := pass.Repo.Grown(t.Changes); err != nil || before+grown <= most {
			return before + grown, err
		}
	}
	return pass.Repo.Size(t.Commit.Tree, most)
}

// sizeBefore is the size of a record's old tip by the audit, which only the host writes.
func sizeBefore(pass *Pass, t *walk.Tip) (size int64, known bool, err error) {
	if t.Old == git.Zero {
		return 0, true, nil
	}
	note, err := pass.Repo.Note(state.AuditNotes, t.Old, state.MaxAuditNote)
	if _, ok := errors.AsType[*git.TooLarge](err); ok {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	for line := range bytes.Lines(note) {
		var record struct {
			Refs []struct {
				Ref  string `json:"ref"`
				New  string `json:"new"`
				Size int64  `json:"size"`
			} `json:"refs"`
		}
		if json.Unmarshal(line, &record) != nil {
			continue // what it is, fsck says
		}
		for _, ref := range record.Refs {
			if ref.Ref == t.Ref && ref.New == t.Old && ref.Size > 0 {
				size, known = ref.Size, true
			}
		}
	}
	return size, known, nil
}
