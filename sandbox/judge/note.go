package judge

import (
	"bytes"
	"context"

	"git-ward/protocols/state"
)

// maxNote is the size in bytes beyond which a commit's oldest verdicts are dropped. It is far
// below what readers accept; otherwise a commit that is claimed again and again would have
// unreadable verdicts and be judged for ever (GATE-6). The ref's history keeps the old ones.
const maxNote = state.MaxNote / 4

// add adds a line to a commit's note. The caller holds noting, because git notes overwrites
// concurrent changes.
func (j *Judge) add(ctx context.Context, ref, commit string, line []byte) error {
	note, err := j.Repo.Note(ctx, ref, commit)
	if err != nil {
		return err
	}
	if len(note)+len(line) < maxNote {
		return j.Repo.AppendNote(ctx, ref, commit, line)
	}
	return j.Repo.ReplaceNote(ctx, ref, commit, append(newest(note, maxNote/2), line...))
}

// newest are a note's last whole lines, at most so many bytes.
func newest(note []byte, most int) []byte {
	if len(note) <= most {
		return note
	}
	_, whole, _ := bytes.Cut(note[len(note)-most:], []byte("\n"))
	return bytes.Clone(whole)
}
