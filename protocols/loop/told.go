package loop

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/diag"
)

// witness is the line that sums up one iteration by quotations: what was tried, what is supported,
// what was guessed, and which questions are open (003, section 5.3).
type witness struct {
	n    int // iteration
	line string
}

// The room for witness lines, in bytes: at least, for all of a file's, and at most, for one quotation.
const (
	minWitnesses = 3000
	maxQuote     = 90
)

const witnessForm = witnessMark + "iteration %d (%d tried, %d supported, %d guesses; residual "

// witnessOf makes the witness line of an iteration.
func witnessOf(it *told, s sum, quotes map[string][]string) witness {
	var said []string
	for _, kind := range []string{"tried", "supported", "guess", "open"} {
		if list := quotes[kind]; len(list) > 0 {
			text := kind + ": " + diag.Cut(list[0], maxQuote)
			if more := len(list) - 1; more > 0 {
				text += fmt.Sprintf(" and %d more", more)
			}
			said = append(said, text)
		}
	}
	line := fmt.Sprintf(witnessForm+"%s, %s, certificate %s)", it.n, s.tried, s.supported, s.guesses, s.value, s.direction, s.verified)
	if len(said) > 0 {
		line += ": " + strings.Join(said, "; ")
	}
	return witness{it.n, diag.Clean(diag.Cut(line, 2*maxLine))}
}

// readWitness parses a witness line; ok is false for any other line.
func readWitness(line string) (w witness, ok bool) {
	var tried, supported, guesses int
	n, _ := fmt.Sscanf(line, witnessForm, &w.n, &tried, &supported, &guesses)
	w.line = line
	return w, n == 4
}

// counts returns the numbers of a witness line, to be added to a sum if the line has no room.
func (w witness) counts() string {
	_, text, _ := strings.Cut(w.line, " (")
	text, _, _ = strings.Cut(text, ")")
	return text
}

// keepWitnesses keeps the newest witness lines that fit in room, the newest loop's first, and counts
// the others.
func (m *memory) keepWitnesses(room int) {
	for _, l := range slices.Backward(m.loops) {
		var keep int
		keep, room = fitting(l.witnesses, room)
		for _, w := range l.witnesses[:keep] {
			l.sum.reach(w.n, w.n)
			l.sum.read(w.counts())
		}
		l.witnesses = l.witnesses[keep:]
	}
}

// The PM's words in LEARNINGS.md.
const (
	pmHeading = "## What the PM says"
	pmMark    = "- [PM] "
	maxPM     = 6000 // bytes of all lines; the oldest are dropped
	maxPMLine = 2000 // bytes of one line; the journal has it in full
)

// TellPM adds the PM's words about a unit below pmHeading, each text once. Compaction keeps them, and
// the next unit starts with them (WORK-1).
func TellPM(file, unit string, words []string) string {
	m := (*memory)(nil)
	for _, text := range words {
		line := pmMark + unit + ": " + diag.Cut(oneLine(text), maxPMLine)
		if strings.Contains("\n"+file+"\n", "\n"+line+"\n") {
			continue
		}
		if m == nil {
			m = remember(file)
		}
		m.pm = append(m.pm, line)
		file = m.text(m.log)
	}
	return file
}

// newest returns the longest suffix of lines that fits in room bytes.
func newest(lines []string, room int) []string {
	i := len(lines)
	for i > 0 && room >= len(lines[i-1])+1 {
		i--
		room -= len(lines[i]) + 1
	}
	return lines[i:]
}
