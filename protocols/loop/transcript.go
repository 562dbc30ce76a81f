package loop

import (
	"fmt"
	"strings"
)

// TranscriptFile is what was said and done in an iteration, for people: the
// agent's word, bounded, and evidence of nothing. Of an iteration that was left and gone
// on with, the earlier parts are in files of their own.
const TranscriptFile = "transcript.txt"

// MaxTranscript bounds one transcript, and MaxTranscripts those of a unit, in bytes.
const (
	MaxTranscript  = 48 << 10
	MaxTranscripts = 8 << 20
)

// TranscriptPart is the name of the n-th part, from 1, of an iteration that was left.
func TranscriptPart(n int) string { return fmt.Sprintf("transcript-%d.txt", n) }

// KeepsTranscript reports whether the transcript of a unit's n-th iteration, from 1, is
// kept: those before it have no more than MaxTranscripts together, then.
func KeepsTranscript(n int) bool { return n <= MaxTranscripts/MaxTranscript }

// CutTranscript is a transcript of at most MaxTranscript bytes: of a longer one the
// beginning and the end, which say what was asked and what came of it.
func CutTranscript(text string) string {
	const note = 100 // bytes for the line between
	if len(text) <= MaxTranscript {
		return text
	}
	half := (MaxTranscript - note) / 2
	head, tail := text[:half], text[len(text)-half:]
	if i := strings.LastIndexByte(head, '\n'); i > half/2 {
		head = head[:i]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < half/2 {
		tail = tail[i+1:]
	}
	left := len(text) - len(head) - len(tail)
	return strings.ToValidUTF8(head, "") + fmt.Sprintf("\n[... %d bytes are left out here ...]\n", left) + strings.ToValidUTF8(tail, "")
}
