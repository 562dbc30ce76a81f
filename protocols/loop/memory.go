package loop

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/uow"
)

// memory is LEARNINGS.md, read for its compaction.
type memory struct {
	foreign    []string // what stands before any loop, and what the loop did not write
	log        string   // the [COMPACTION] line that stands there, "" for none
	pm         []string // what the PM said, oldest first
	earlier    forgotten
	loops      []*remembered // in their order
	iterations []*told       // of all loops, in their order
}

// remembered is what the file says of one loop beside its iterations in full.
type remembered struct {
	id     string   // the unit
	header []string // the lines below its heading; nil where it has none
	sum    sum
	// Of iterations that are summed up, oldest first: each in a line of its own words, as
	// far as there is room.
	witnesses []witness
	facts     []fact // of lane A, of iterations that are summed up; oldest first, each once
}

// told is one iteration's block.
type told struct {
	loop  string
	n     int
	lines []string
	gone  bool
}

// The headings and lines that compaction writes, and reads again.
const (
	loopMark     = "## Loop "
	entryMark    = "## Iteration "
	earlierMark  = "## Earlier iterations of "
	earlierLoops = "## Earlier loops"
	laneAMark    = "- [A] "
	witnessMark  = "- witness: "
)

// loop is a loop's part of the memory, made when it is not there.
func (m *memory) loop(id string) *remembered {
	for _, l := range m.loops {
		if l.id == id {
			return l
		}
	}
	l := &remembered{id: id}
	m.loops = append(m.loops, l)
	return l
}

// remember reads the file.
func remember(file string) *memory {
	m := &memory{}
	take := func(line string) { m.foreign = append(m.foreign, line) }
	for line := range strings.SplitSeq(strings.TrimRight(file, "\n"), "\n") {
		if strings.HasPrefix(line, "[COMPACTION]") {
			m.log = line // a compaction says it anew
			continue
		}
		if strings.HasPrefix(line, "## ") {
			take = m.section(line)
		} else {
			take(line)
		}
	}
	return m
}

func isUnit(id string) bool {
	_, err := uow.ParseID(id)
	return err == nil
}

// section begins a part of the file and returns what takes its lines.
func (m *memory) section(heading string) (take func(line string)) {
	if id, ok := strings.CutPrefix(heading, loopMark); ok && isUnit(id) {
		l := m.loop(id)
		l.header = []string{}
		return func(line string) {
			if line != "" {
				l.header = append(l.header, line)
			}
		}
	}
	if id, ok := strings.CutPrefix(heading, earlierMark); ok && isUnit(id) {
		return m.loop(id).read
	}
	if heading == earlierLoops {
		return m.earlier.read
	}
	if heading == pmHeading {
		return func(line string) {
			if strings.HasPrefix(line, pmMark) {
				m.pm = append(m.pm, line)
			}
		}
	}
	var it told
	if n, _ := fmt.Sscanf(heading, entryMark+"%d of %s", &it.n, &it.loop); n == 2 && isUnit(it.loop) && it.n >= 0 {
		it.lines = []string{heading}
		m.loop(it.loop)
		m.iterations = append(m.iterations, &it)
		return func(line string) { it.lines = append(it.lines, line) }
	}
	m.foreign = append(m.foreign, heading)
	return func(line string) { m.foreign = append(m.foreign, line) }
}

// text writes the file, with the log line of its compaction.
func (m *memory) text(log string) string {
	var b strings.Builder
	part := func(lines ...string) {
		if text := strings.TrimSpace(strings.Join(lines, "\n")); text != "" {
			b.WriteString(text + "\n\n")
		}
	}
	part(bounded(m.foreign, maxForeign)...)
	part(log)
	if pm := newest(m.pm, maxPM); len(pm) > 0 {
		part(append([]string{pmHeading}, pm...)...)
	}
	part(m.earlier.lines()...)
	for _, l := range m.loops {
		if l.header != nil {
			part(append([]string{loopMark + l.id}, bounded(l.header, maxHeader)...)...)
		}
		part(l.lines()...)
		for _, it := range m.iterations {
			if it.loop == l.id {
				part(it.lines...)
			}
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// bounded is the beginning of some lines, and how many there are more.
func bounded(lines []string, size int) []string {
	for i, line := range lines {
		if size -= len(line) + 1; size < 0 {
			return append(slices.Clone(lines[:i]), fmt.Sprintf("- and %s that this file has no room for", diag.Count(len(lines)-i, "line")))
		}
	}
	return lines
}
