package judge

import (
	"bytes"
	"context"

	"git-ward/protocols/loop"
	"git-ward/protocols/state"
)

// maxNote is where the oldest verdicts on a commit go, in bytes: far below what readers
// take, or a commit that is claimed again and again would have verdicts that nobody reads,
// and be judged for ever (GATE-6). The history of the ref keeps them.
const maxNote = state.MaxNote / 4

// add adds a verdict to those on a commit, one after the other: git notes writes the ref
// whatever it was when it was read.
func (j *Judge) add(ctx context.Context, commit string, line []byte) error {
	j.noting.Lock()
	defer j.noting.Unlock()
	note, err := j.Repo.Note(ctx, loop.VerdictsRef, commit)
	if err != nil {
		return err
	}
	if len(note)+len(line) < maxNote {
		return j.Repo.AppendNote(ctx, loop.VerdictsRef, commit, line)
	}
	return j.Repo.ReplaceNote(ctx, loop.VerdictsRef, commit, append(newest(note, maxNote/2), line...))
}

// newest are the last whole lines of a note, so many bytes at most.
func newest(note []byte, most int) []byte {
	if len(note) <= most {
		return note
	}
	_, whole, _ := bytes.Cut(note[len(note)-most:], []byte("\n"))
	return bytes.Clone(whole)
}
