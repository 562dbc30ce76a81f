package loop

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/diag"
)

// fact is one statement of lane A.
type fact struct {
	line      string
	iteration int
}

// key identifies a statement: its text and its directive, without the artifact.
func (f fact) key() string {
	text, link, _ := cutLink(f.line)
	_, path, _ := strings.Cut(link, "evidence/")
	directive, _, _ := strings.Cut(path, "/")
	return directive + " " + text
}

// cutLink splits off the artifact, "(path#hash)", at the end of a statement; ok is false if there is
// none.
func cutLink(line string) (text, link string, ok bool) {
	i := strings.LastIndex(line, " (")
	if i < 0 || !strings.HasSuffix(line, ")") || !strings.Contains(line[i:], "#") {
		return line, "", false
	}
	return line[:i], line[i+1:], true
}

// sum counts the iterations of a loop that no longer have lines of their own.
type sum struct {
	any                        bool
	first, last                int // iterations
	tried, supported, guesses  int
	value, direction, verified string // residual, direction and certificate of the last iteration
	older                      older
}

// older counts statements of lane A for which there is no room.
type older struct {
	count       int
	first, last int // iterations
	link        string
}

func (s *sum) count(f fact) {
	o := &s.older
	if o.count++; o.count == 1 {
		o.first = f.iteration
	}
	o.first, o.last = min(o.first, f.iteration), max(o.last, f.iteration)
	if _, link, ok := cutLink(f.line); ok && len(link) <= maxLine {
		o.link = link
	}
}

// reach extends the range of iterations.
func (s *sum) reach(first, last int) {
	if !s.any {
		s.any, s.first, s.last = true, first, last
	}
	s.first, s.last = min(s.first, first), max(s.last, last)
}

// distill adds an iteration's statements of lane A to the loop's facts and sums up the rest.
func (l *remembered) distill(it *told) {
	var s sum
	quotes := map[string][]string{}
	say := func(kind, text string, count *int) {
		quotes[kind] = append(quotes[kind], text)
		if count != nil {
			*count++
		}
	}
	section := byte(0)
	for _, line := range it.lines[1:] {
		if strings.HasPrefix(line, "### ") {
			if _, after, ok := strings.Cut(line, "."); ok && after != "" {
				section = after[0]
			}
			continue
		}
		switch {
		case strings.HasPrefix(line, laneAMark):
			l.add(fact{line, it.n})
		case strings.HasPrefix(line, "- [B] "):
			say("supported", line[len("- [B] "):], &s.supported)
		case strings.HasPrefix(line, "- [C] "):
			say("guess", line[len("- [C] "):], &s.guesses)
		case section == '4':
			take(line, "- value: ", &s.value)
			take(line, "- direction: ", &s.direction)
			take(line, "- certificate: ", &s.verified)
		case section == '1' && strings.HasPrefix(line, "- ") && line != "- none":
			say("tried", line[len("- "):], &s.tried)
		case section == '5' && strings.HasPrefix(line, "- ") && line != "- none":
			say("open", line[len("- "):], nil)
		}
	}
	l.witnesses = append(l.witnesses, witnessOf(it, s, quotes))
}

func take(line, prefix string, to *string) {
	if rest, ok := strings.CutPrefix(line, prefix); ok {
		*to = rest
	}
}

// add appends a statement and removes an earlier one with the same key.
func (l *remembered) add(f fact) {
	l.drop(f.line)
	l.facts = append(l.facts, f)
}

func (l *remembered) drop(line string) {
	key := fact{line: line}.key()
	l.facts = slices.DeleteFunc(l.facts, func(f fact) bool { return f.key() == key })
}

// The lines of a loop's earlier iterations.
const (
	rangeForm  = "iterations %d to %d: "
	countsForm = "%d tried, %d supported, %d guesses; residual "
	olderForm  = laneAMark + "%d older verified statements, of iterations %d to %d, stand in "
)

// lines returns the loop's block of summed-up iterations.
func (l *remembered) lines() []string {
	var lines []string
	if s := l.sum; s.any {
		lines = append(lines, diag.Cut(witnessMark+fmt.Sprintf(rangeForm+countsForm+"%s, %s, certificate %s", s.first, s.last, s.tried, s.supported, s.guesses, s.value, s.direction, s.verified), maxLine))
	}
	for _, w := range l.witnesses {
		lines = append(lines, w.line)
	}
	if o := l.sum.older; o.count > 0 {
		directive, _, _ := strings.Cut(l.id, ".")
		lines = append(lines, fmt.Sprintf(olderForm+"%s/iter_N/%s of this loop's record %s", o.count, o.first, o.last, Dir(directive), EntryFile, o.link))
	}
	for _, f := range l.facts {
		lines = append(lines, f.line)
	}
	if len(lines) == 0 {
		return nil
	}
	return append([]string{earlierMark + l.id}, lines...)
}

// read parses a line of such a block.
func (l *remembered) read(line string) {
	if w, ok := readWitness(line); ok {
		l.witnesses = append(l.witnesses, w)
		return
	}
	if text, ok := strings.CutPrefix(line, witnessMark); ok {
		l.sum.read(text)
		return
	}
	var o older
	if n, _ := fmt.Sscanf(line, olderForm, &o.count, &o.first, &o.last); n == 3 {
		_, o.link, _ = cutLink(line)
		l.sum.older = o
	} else if strings.HasPrefix(line, laneAMark) {
		l.add(fact{line, iterationOf(line)})
	}
}

// iterationOf returns the iteration whose artifact a statement links, 0 for none.
func iterationOf(line string) (n int) {
	_, after, _ := strings.Cut(line, "/iter_")
	fmt.Sscanf(after, "%d/", &n)
	return n
}

// read adds the counts of a witness line. The line of a sum has a range of iterations before them.
func (s *sum) read(text string) {
	var first, last int
	if n, _ := fmt.Sscanf(text, rangeForm, &first, &last); n == 2 {
		s.reach(first, last)
		_, text, _ = strings.Cut(text, ": ")
	}
	var tried, supported, guesses int
	fmt.Sscanf(text, countsForm, &tried, &supported, &guesses)
	s.tried, s.supported, s.guesses = s.tried+tried, s.supported+supported, s.guesses+guesses
	_, text, _ = strings.Cut(text, "; residual ")
	if parts := strings.SplitN(text, ", ", 3); len(parts) == 3 {
		s.value, s.direction, s.verified = parts[0], parts[1], strings.TrimPrefix(parts[2], "certificate ")
	}
}

// forgotten counts the loops that are too old to have a section.
type forgotten struct {
	loops, iterations, statements int
	last                          string // the newest of them
	link                          string // of its newest statement
}

const forgottenForm = witnessMark + "%d earlier loops, with %d iterations and %d verified statements, stand in their records; the last of them is "

func (f *forgotten) take(l *remembered) {
	f.loops++
	if l.sum.any {
		f.iterations += l.sum.last - l.sum.first + 1
	}
	f.iterations += len(l.witnesses)
	f.statements += l.sum.older.count + len(l.facts)
	f.last = l.id
	for _, fact := range l.facts {
		if _, link, ok := cutLink(fact.line); ok && len(link) <= maxLine {
			f.link = link
		}
	}
}

func (f *forgotten) lines() []string {
	if f.loops == 0 {
		return nil
	}
	return []string{earlierLoops, strings.TrimSpace(diag.Clean(fmt.Sprintf(forgottenForm+"%s %s", f.loops, f.iterations, f.statements, f.last, f.link)))}
}

func (f *forgotten) read(line string) {
	if n, _ := fmt.Sscanf(line, forgottenForm, &f.loops, &f.iterations, &f.statements); n == 3 {
		_, rest, _ := strings.Cut(line, "the last of them is ")
		f.last, f.link, _ = strings.Cut(rest, " ")
	}
}
