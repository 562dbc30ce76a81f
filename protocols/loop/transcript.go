package loop

import (
	"fmt"
	"strings"
)

// TranscriptFile records, for people, what was said and done in an iteration. The agent writes it,
// so it proves nothing. If an iteration was interrupted and resumed, its earlier parts are in files
// of their own (TranscriptPart).
const TranscriptFile = "transcript.txt"

// MaxTranscript bounds one transcript and MaxTranscripts all of a unit's, in bytes.
const (
	MaxTranscript  = 48 << 10
	MaxTranscripts = 8 << 20
)

// TranscriptPart returns the file name of the n-th part, from 1, of an interrupted iteration.
func TranscriptPart(n int) string { return fmt.Sprintf("transcript-%d.txt", n) }

// KeepsTranscript reports whether the transcript of a unit's n-th iteration, from 1, is kept: n
// transcripts of full length fit into MaxTranscripts.
func KeepsTranscript(n int) bool { return n <= MaxTranscripts/MaxTranscript }

// CutTranscript shortens a transcript to MaxTranscript bytes. It keeps the beginning, which has the
// request, and the end, which has the result.
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
