package comms

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// addCircle adds the finding of a cycle, at its first member.
func (doc *Document) addCircle(f *findings, circle []int) {
	if f.full() {
		return
	}
	const most = 8
	var words []string
	for _, i := range circle[:min(len(circle), most)] {
		words = append(words, doc.Directives[i].Name())
	}
	first := doc.Directives[circle[0]]
	if len(circle) > most {
		words = append(words, "... ("+strconv.Itoa(len(circle))+" of them)")
	}
	line, col := first.after(doc.Directives[circle[1%len(circle)]].Name())
	f.add(line, col, ruleAfter, "take one of them out of its line \"- after:\"",
		"%s waits for itself and would never begin: %s -> %s", first.Name(), strings.Join(words, " -> "), first.Name())
}

// circles finds one cycle for each group of directives that wait for each other. A cycle is a list of
// indexes into doc.Directives: it begins at the smallest id, and each directive waits for the next. It
// takes linear time and does not recurse.
func (doc *Document) circles(states stateTable) [][]int {
	next := doc.stuck(states)
	const fresh = -1
	walk := slices.Repeat([]int{fresh}, len(next)) // the walk that visited a directive
	var found [][]int
	for start := range next {
		at := start
		for next[at] >= 0 && walk[at] == fresh {
			walk[at] = start
			at = next[at]
		}
		if next[at] < 0 || walk[at] != start {
			continue
		}
		circle := []int{at}
		for i := next[at]; i != at; i = next[i] {
			circle = append(circle, i)
		}
		first := slices.MinFunc(circle, func(a, b int) int { return cmp.Compare(doc.Directives[a].ID, doc.Directives[b].ID) })
		found = append(found, rotate(circle, slices.Index(circle, first)))
	}
	return found
}

// rotate returns the cycle beginning at another member.
func rotate(circle []int, at int) []int { return slices.Concat(circle[at:], circle[:at]) }

// circlesOf reports the cycles that contain one directive, at that directive. A person who edits it sees
// only findings there.
func (doc *Document) circlesOf(id int) (f findings) {
	for _, circle := range doc.circles(doc.states()) {
		at := slices.IndexFunc(circle, func(i int) bool { return doc.Directives[i].ID == id })
		if at > 0 {
			doc.addCircle(&f, rotate(circle, at))
		}
	}
	return f
}

// stuck returns, for each directive that waits for ever, the first directive in its list that waits for
// ever, too; -1 for all others. It repeatedly removes directives that wait for none of the rest
// (Kahn's algorithm).
func (doc *Document) stuck(states stateTable) []int {
	n := len(doc.Directives)
	place := make(map[string]int, n)
	for i, d := range doc.Directives {
		if _, twice := place[d.Name()]; !twice && states.of(d) != Closed {
			place[d.Name()] = i
		}
	}
	waits, waiters := make([][]int, n), make([][]int, n)
	left, free := make([]int, n), []int(nil) // left: how many directives it still waits for
	for i, d := range doc.Directives {
		if at, ok := place[d.Name()]; ok && at == i {
			for _, name := range d.Options.After {
				if to, ok := place[name]; ok {
					waits[i], waiters[to] = append(waits[i], to), append(waiters[to], i)
				}
			}
		}
		if left[i] = len(waits[i]); left[i] == 0 {
			free = append(free, i)
		}
	}
	for at := 0; at < len(free); at++ {
		for _, i := range waiters[free[at]] {
			if left[i]--; left[i] == 0 {
				free = append(free, i)
			}
		}
	}
	next := make([]int, n)
	for i := range next {
		next[i] = -1
		if at := slices.IndexFunc(waits[i], func(to int) bool { return left[to] > 0 }); left[i] > 0 && at >= 0 {
			next[i] = waits[i][at]
		}
	}
	return next
}
