package loop

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/uow"
)

// memory is the parsed LEARNINGS.md.
type memory struct {
	foreign    []string // lines before the first loop, and others that no loop wrote
	log        string   // the [COMPACTION] line, "" for none
	pm         []string // the PM's lines, oldest first
	earlier    forgotten
	loops      []*remembered // in the file's order
	iterations []*told       // of all loops, in the file's order
}

// remembered is what the file has of one loop, apart from the iterations in full.
type remembered struct {
	id     string   // the unit
	header []string // the lines below its heading; nil if there is no heading
	sum    sum
	// One line for each iteration that was summed up, oldest first, as far as there is room.
	witnesses []witness
	facts     []fact // statements of lane A of those iterations; oldest first, each once
}

// told is one iteration's block.
type told struct {
	loop  string
	n     int
	lines []string
	gone  bool
}

// The beginnings of headings and lines that compaction writes and parses.
const (
	loopMark     = "## Loop "
	entryMark    = "## Iteration "
	earlierMark  = "## Earlier iterations of "
	earlierLoops = "## Earlier loops"
	laneAMark    = "- [A] "
	witnessMark  = "- witness: "
)

// loop returns the loop with this id, and adds it if necessary.
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

// remember parses LEARNINGS.md.
func remember(file string) *memory {
	m := &memory{}
	take := func(line string) { m.foreign = append(m.foreign, line) }
	for line := range strings.SplitSeq(strings.TrimRight(file, "\n"), "\n") {
		if strings.HasPrefix(line, "[COMPACTION]") {
			m.log = line // the next compaction replaces it
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

// section parses a heading and returns the function that takes the lines below it.
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

// text returns the file's content, with a compaction's log line.
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

// bounded cuts lines to size bytes and appends a line that counts the rest.
func bounded(lines []string, size int) []string {
	for i, line := range lines {
		if size -= len(line) + 1; size < 0 {
			return append(slices.Clone(lines[:i]), fmt.Sprintf("- and %s that this file has no room for", diag.Count(len(lines)-i, "line")))
		}
	}
	return lines
}
