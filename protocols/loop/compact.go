package loop

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/diag"
)

// MaxLearnings is the size of LEARNINGS.md beyond which it is compacted, and which it
// never has after that: 8,000 tokens of four bytes (003, section 5.3; LOOP-3).
const MaxLearnings = 8000 * 4

// What compaction leaves, in bytes where nothing else is said.
const (
	keepInFull  = 3                    // iterations, the newest
	maxEntry    = 6000                 // of one iteration in full
	maxForeign  = 2000                 // what the loop did not write
	maxHeader   = 500                  // a loop's own lines
	maxLoops    = 4                    // each for itself; what is older is one line for all
	minFacts    = 4000                 // statements of lane A
	compactedTo = MaxLearnings * 3 / 4 // so that not every iteration compacts
)

// Compact shortens LEARNINGS.md when it is over MaxLearnings. The newest three
// iterations stay in full, and what the PM said; older ones become a witness line each, in
// their own words, and where those have no room one line for each loop that counts them; a
// [COMPACTION] line says so.
//
// Statements of lane A are kept, each once with its newest artifact. If they are too many for
// the file, a line counts the oldest ones and says where they are: in their iterations' entry
// files, which no one can change.
//
// It returns the log line, "" when nothing was done; compacting twice changes nothing.
func Compact(file string) (compacted, log string) {
	if len(file) <= MaxLearnings {
		return file, ""
	}
	m := remember(file)
	first, last := m.distill()
	m.forgetLoops()
	text := m.text("[COMPACTION]")
	rest, witnesses := len(text)+maxLine, 0 // the log line's
	for _, l := range m.loops {
		rest -= size(l.facts) + size(l.witnesses)
		witnesses += size(l.witnesses)
	}
	// A line for the sum of older ones in each loop comes when some have no room.
	rest += maxLine * len(m.loops)
	words := min(witnesses, minWitnesses, max(0, MaxLearnings-rest-minFacts))
	m.sumUp(max(compactedTo-rest-words, min(minFacts, MaxLearnings-rest-words)))
	for _, l := range m.loops {
		rest += size(l.facts)
	}
	m.keepWitnesses(max(words, compactedTo-rest))
	text = m.text("[COMPACTION]")
	log = fmt.Sprintf("[COMPACTION] Distilled %s. Original: %d lines -> %d lines.", distilledWords(first, last, strings.Count(text, "\n"+witnessMark)),
		strings.Count(file, "\n"), strings.Count(text, "\n"))
	return m.text(log), log
}

func distilledWords(first, last string, lines int) string {
	if first == "" {
		return "no iteration, but what is older than the newest loops"
	}
	return fmt.Sprintf("the iterations from %q to %q to %s", first, last, diag.Count(lines, "witness line"))
}

// distill takes all iterations but the newest into their loops' sums. It returns the
// headings of the first and the last that went.
func (m *memory) distill() (first, last string) {
	room, kept := keepInFull*maxEntry, 0
	for _, it := range slices.Backward(m.iterations) {
		if size := len(strings.Join(it.lines, "\n")) + 2; kept < keepInFull && size <= room {
			kept++
			room -= size
			continue
		}
		kept = keepInFull // no older one stays when a newer one goes
		it.gone = true
	}
	for _, it := range m.iterations { // oldest first, so that the newest statement counts
		if !it.gone {
			continue
		}
		if first == "" {
			first = strings.TrimPrefix(it.lines[0], "## ")
		}
		last = strings.TrimPrefix(it.lines[0], "## ")
		m.loop(it.loop).distill(it)
	}
	m.iterations = slices.DeleteFunc(m.iterations, func(it *told) bool { return it.gone })
	for _, it := range m.iterations { // what stands in full need not stand twice
		for _, line := range it.lines {
			if strings.HasPrefix(line, laneAMark) {
				m.loop(it.loop).drop(line)
			}
		}
	}
	return first, last
}

// forgetLoops makes one line of the oldest loops, where there are many.
func (m *memory) forgetLoops() {
	for i := 0; len(m.loops) > maxLoops && i < len(m.loops)-1; {
		l := m.loops[i]
		if slices.ContainsFunc(m.iterations, func(it *told) bool { return it.loop == l.id }) {
			i++
			continue
		}
		m.earlier.take(l)
		m.loops = slices.Delete(m.loops, i, i+1)
	}
}

// keptLine is a line that a compaction keeps or counts.
type keptLine interface{ text() string }

func (f fact) text() string    { return f.line }
func (w witness) text() string { return w.line }

// size is what lines take, each with its line's end.
func size[T keptLine](list []T) (bytes int) {
	for _, s := range list {
		bytes += len(s.text()) + 1
	}
	return bytes
}

// fitting is from which line on they have room, and what of it is left: none where
// one has to go, because an older one that is shorter would stand without what came
// after it.
func fitting[T keptLine](list []T, room int) (from, left int) {
	from = len(list)
	for from > 0 && size(list[from-1:from]) <= room {
		from--
		room -= size(list[from : from+1])
	}
	if from > 0 {
		room = 0
	}
	return from, room
}

// sumUp keeps the newest statements of lane A that have room, the newest loop's first,
// and counts the others.
func (m *memory) sumUp(room int) {
	for _, l := range slices.Backward(m.loops) {
		var keep int
		keep, room = fitting(l.facts, room)
		for _, f := range l.facts[:keep] {
			l.sum.count(f)
		}
		l.facts = l.facts[keep:]
	}
}
