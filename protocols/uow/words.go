package uow

import (
	"slices"
	"strings"
)

// MaxWords bounds what Words returns, all of it together, in bytes: as much as one note
// may hold.
const MaxWords = MaxNote

// spoken are the PM's steps whose notes are for the worker: they let a unit continue or stay
// at work. The notes of steps that end a unit only say why.
var spoken = []Event{Clarify, Approve, Retry, Waive, Resume, Heartbeat}

// Words are the PM's notes to the worker of a unit, oldest first, each once (WORK-1). If all
// are longer than MaxWords together, the newest are kept; one alone always fits.
func Words(records []*Record) []string {
	var list []string
	size := 0
	for _, r := range slices.Backward(records) {
		words := strings.TrimSpace(r.Note)
		if r.Actor != PM || words == "" || !slices.Contains(spoken, r.Event) || slices.Contains(list, words) {
			continue
		}
		if size += len(words); size > MaxWords {
			break
		}
		list = append(list, words)
	}
	slices.Reverse(list)
	return list
}
