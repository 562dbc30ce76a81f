package comms

import (
	"fmt"

	"git-ward/internal/diag"
)

// MaxAnswers bounds Reports and Questions together, in bytes (COMMS-5). The rest of MaxBytes is the PM's,
// so that no agent can keep directives out. The watcher may exceed MaxAnswers up to MaxWatched; it has
// a limit because an agent causes its reports.
const (
	MaxAnswers = 192 << 10
	MaxWatched = 224 << 10
)

const (
	ruleAgentRoom = "comms/agent-room"
	ruleRoom      = "comms/room"
)

// answers returns the bytes of Reports and Questions, headings included.
func (doc *Document) answers() int {
	size := 0
	for _, p := range []part{reports, questions} {
		if s := doc.layout.parts[p]; s.line > 0 {
			size += s.end - s.start
		}
	}
	return size
}

// CheckRoom refuses a change by an agent or the watcher that exceeds most, which is MaxAnswers
// or MaxWatched. A document that already exceeded it may shrink step by step. CheckAgentChange
// refuses a document with missing, repeated or misplaced sections.
func CheckRoom(old, new []byte, most int) []diag.Diagnostic {
	before, errOld := parseSound(old)
	after, err := parseSound(new)
	if err != nil || after.answers() <= most || errOld == nil && after.answers() <= before.answers() {
		return nil
	}
	f := &findings{}
	f.add(after.layout.parts[reports].line, 0, ruleAgentRoom,
		fmt.Sprintf("leave out the oldest reports, a worker with a lease those on its own directive, and end the commit message with a trailer such as %s: R-1..R-40", PruneTrailer),
		"Reports and Questions would take %d bytes; they may take %d", after.answers(), most)
	return *f
}

// CheckSpare warns a person whose directives leave less room for reports than their ends need, in a
// change that takes room from reports or adds directives. A report has minEntry bytes at least.
func CheckSpare(old, new []byte) []diag.Diagnostic {
	before, errOld := parseSound(old)
	after, err := parseSound(new)
	if err != nil || errOld == nil && after.room() >= before.room() && len(after.Directives) <= len(before.Directives) {
		return nil
	}
	listed, fit := len(after.Directives), after.room()/minEntry
	if listed <= fit {
		return nil
	}
	f := &findings{}
	f.warn(after.layout.parts[reports].line, ruleRoom,
		"take directives that are taken or dropped out of the file, with their reports; "+
			"what finds no room waits on the records, and its directive goes on when there is some",
		"the %d directives leave room for %d reports", listed, fit)
	return *f
}

// fitAnswers is ErrFull for a document in which Reports and Questions take more than most.
func fitAnswers(data []byte, most int) error {
	if doc, err := parseSound(data); err == nil && doc.answers() > most {
		return fmt.Errorf("its Reports and Questions would take more than %d KiB: %w", most>>10, ErrFull)
	}
	return nil
}
