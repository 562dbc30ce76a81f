package judge

import (
	"bytes"
	"context"

	"git-ward/protocols/state"
)

// maxNote is where the oldest verdicts on a commit go, in bytes: far below what readers
// take, or a commit that is claimed again and again would have verdicts that nobody reads,
// and be judged for ever (GATE-6). The history of the ref keeps them.
const maxNote = state.MaxNote / 4

// add adds a line to a commit's note. Who calls it has noting: git notes writes the ref
// whatever it was when it was read.
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

// newest are the last whole lines of a note, so many bytes at most.
func newest(note []byte, most int) []byte {
	if len(note) <= most {
		return note
	}
	_, whole, _ := bytes.Cut(note[len(note)-most:], []byte("\n"))
	return bytes.Clone(whole)
}
