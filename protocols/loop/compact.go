package loop

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/diag"
)

// MaxLearnings bounds LEARNINGS.md in bytes: 8,000 tokens of four bytes (003, section 5.3; LOOP-3).
// A longer file is compacted until it fits.
const MaxLearnings = 8000 * 4

// What compaction keeps, in bytes unless a comment gives another unit.
const (
	keepInFull  = 3                    // iterations, the newest
	maxEntry    = 6000                 // one iteration in full
	maxForeign  = 2000                 // text that the loop did not write
	maxHeader   = 500                  // the lines below a loop's heading
	maxLoops    = 4                    // loops with a section of their own; one line counts the older ones
	minFacts    = 4000                 // at least, for statements of lane A
	compactedTo = MaxLearnings * 3 / 4 // the target size, so that not every iteration compacts
)

// Compact shortens LEARNINGS.md if it is over MaxLearnings. The newest three iterations and the
// PM's lines stay in full. Each older iteration becomes one witness line that quotes it; witness
// lines without room become one line per loop that counts them.
//
// Statements of lane A are kept, each once, with its newest artifact. If the file has no room for
// all, a line counts the oldest and names the entry files that have them; those never change.
//
// log is the [COMPACTION] line, "" if nothing was done. Compacting twice changes nothing.
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
	// Reserve one line per loop that counts the statements and witnesses without room.
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

// distill moves all iterations but the newest into their loops' sums. It returns the headings of
// the first and the last iteration that it moved.
func (m *memory) distill() (first, last string) {
	room, kept := keepInFull*maxEntry, 0
	for _, it := range slices.Backward(m.iterations) {
		if size := len(strings.Join(it.lines, "\n")) + 2; kept < keepInFull && size <= room {
			kept++
			room -= size
			continue
		}
		kept = keepInFull // an older iteration never stays after a newer one was moved
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
	for _, it := range m.iterations { // do not repeat a statement of an iteration kept in full
		for _, line := range it.lines {
			if strings.HasPrefix(line, laneAMark) {
				m.loop(it.loop).drop(line)
			}
		}
	}
	return first, last
}

// forgetLoops merges the oldest loops into one line if there are more than maxLoops.
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

// size returns the lines' size in bytes, newlines included.
func size[T keptLine](list []T) (bytes int) {
	for _, s := range list {
		bytes += len(s.text()) + 1
	}
	return bytes
}

// fitting returns the index of the first line of the longest suffix that fits in room, and the room
// left. If not all lines fit, left is 0: otherwise an older loop's lines could stay although a
// newer line had to go.
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

// sumUp keeps the newest statements of lane A that fit in room, the newest loop's first, and counts
// the others.
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
