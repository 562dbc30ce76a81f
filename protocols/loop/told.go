package loop

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/diag"
)

// witness is one iteration that is summed up in a line, in its own words: what was tried,
// what is supported, what was guessed and what stayed open (003, section 5.3).
type witness struct {
	n    int // iteration
	line string
}

// The room of witness lines, in bytes: of all of a file where verified statements leave
// little, and of one quoted statement.
const (
	minWitnesses = 3000
	maxQuote     = 90
)

const witnessForm = witnessMark + "iteration %d (%d tried, %d supported, %d guesses; residual "

// witnessOf sums up an iteration's block.
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

// readWitness takes back such a line; ok is false for any other.
func readWitness(line string) (w witness, ok bool) {
	var tried, supported, guesses int
	n, _ := fmt.Sscanf(line, witnessForm, &w.n, &tried, &supported, &guesses)
	w.line = line
	return w, n == 4
}

// counts is what a witness line says in numbers, for the sum of those that have no room.
func (w witness) counts() string {
	_, text, _ := strings.Cut(w.line, " (")
	text, _, _ = strings.Cut(text, ")")
	return text
}

// keepWitnesses leaves the newest lines of each loop that have room, the newest loop's
// first; the others are counted.
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
	maxPM     = 6000 // bytes of all of them, the newest
	maxPMLine = 2000 // of one; the journal has it in full
)

// TellPM adds what the PM said about a unit below its own heading, each text once. Compaction
// keeps it, and the next unit starts with it (WORK-1).
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

// newest is the end of some lines that has room, oldest first.
func newest(lines []string, room int) []string {
	i := len(lines)
	for i > 0 && room >= len(lines[i-1])+1 {
		i--
		room -= len(lines[i]) + 1
	}
	return lines[i:]
}
