package proof

import (
	"errors"
	"fmt"
	"slices"

	"git-ward/vm/halting/code"
)

// maxWindow bounds the width of a language's windows.
const maxWindow = 64

// burst bounds the instructions between two moves of the head.
const burst = 100_000

// language is a certificate in the form in which it is checked.
type language struct {
	given       *Language // by the proof
	program     code.Program
	byIP        map[int32][]int // controls
	byWord      map[string]int  // words
	views       map[[4]int]bool
	first       map[int64]int    // value: its first mark
	left, right map[string][]int // first N-1 cells of a window: what may follow
	budget      int64
}

// checkLanguage verifies that the views hold the configuration after After
// steps and that each view's successors are views again; none may halt.
func checkLanguage(p code.Program, l *Language, limits Limits) error {
	if l.N < 1 || l.N > maxWindow || len(l.Words)+len(l.Views)+len(l.Controls)+len(l.Marks)+len(l.Left)+len(l.Right) > limits.Entries {
		return fmt.Errorf("a language of width %d with %d views is not within the checker's limits", l.N, len(l.Views))
	}
	c := &language{given: l, program: p, byIP: map[int32][]int{}, byWord: map[string]int{}, views: map[[4]int]bool{}, first: map[int64]int{}, budget: limits.Steps}
	if err := c.index(); err != nil {
		return err
	}
	m, err := replay(p, l.After, limits)
	if err != nil {
		return err
	}
	if err := c.holdsStart(m); err != nil {
		return err
	}
	for i, v := range l.Views {
		if i&0xff == 0 && limits.ctx.Err() != nil {
			return limits.ctx.Err()
		}
		if err := c.closed(v); err != nil {
			return err
		}
	}
	return nil
}

// key spells cells so that equal ones are equal strings.
func key(marks []int) string {
	b := make([]byte, 0, 4*len(marks))
	for _, v := range marks {
		b = append(b, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
	}
	return string(b)
}

// index checks that every index is in range and builds the tables.
func (c *language) index() error {
	for i, ctl := range c.given.Controls {
		if ctl.IP < 0 || int(ctl.IP) >= len(c.program) {
			return fmt.Errorf("control %d is outside the program", i)
		}
		c.byIP[ctl.IP] = append(c.byIP[ctl.IP], i)
	}
	for i, v := range c.given.Marks {
		if _, known := c.first[v]; !known {
			c.first[v] = i
		}
	}
	for i, w := range c.given.Words {
		if len(w) != c.given.N || slices.ContainsFunc(w, func(m int) bool { return !within(m, len(c.given.Marks)) }) {
			return fmt.Errorf("word %d is not %d marks", i, c.given.N)
		}
		c.byWord[key(w)] = i
	}
	for _, v := range c.given.Views {
		if !within(v[0], len(c.given.Controls)) || !within(v[1], len(c.given.Words)) || !within(v[2], len(c.given.Marks)) || !within(v[3], len(c.given.Words)) || !within(v[4], len(c.given.Marks)) {
			return fmt.Errorf("view %v names what is not there", v)
		}
		c.views[[4]int(v[:4])] = true
	}
	var err error
	if c.left, err = c.followers(c.given.Left); err != nil {
		return err
	}
	c.right, err = c.followers(c.given.Right)
	return err
}

func within(i, n int) bool { return i >= 0 && i < n }

// followers maps the first N-1 cells of each window to its last cell.
func (c *language) followers(windows []int) (map[string][]int, error) {
	after := map[string][]int{}
	for _, i := range windows {
		if !within(i, len(c.given.Words)) {
			return nil, fmt.Errorf("window %d is not there", i)
		}
		w := c.given.Words[i]
		k := key(w[:c.given.N-1])
		after[k] = append(after[k], w[c.given.N-1])
	}
	return after, nil
}

// holds reports whether a window may occur on a side.
func (c *language) holds(side map[string][]int, w []int) bool {
	return slices.Contains(side[key(w[:c.given.N-1])], w[c.given.N-1])
}

// holdsStart checks the machine's present configuration: its view, and every
// window further out on both sides, down to empty tape.
func (c *language) holdsStart(m *machine) error {
	low, high := m.bounds()
	for i := low - 1; i <= high+1; i++ {
		if _, known := c.first[m.cell(i)]; !known {
			return fmt.Errorf("the start has a cell, %d, that is not in the language", i)
		}
	}
	window := func(from, step int) []int {
		w := make([]int, c.given.N)
		for i := range w {
			w[i] = c.first[m.cell(from+i*step)]
		}
		return w
	}
	for i := m.head - 2; i >= low-1 || i == m.head-2; i-- {
		if !c.holds(c.left, window(i, -1)) {
			return fmt.Errorf("the start has a window on the left, at cell %d, that is not in the language", i)
		}
	}
	for i := m.head + 2; i <= high+1 || i == m.head+2; i++ {
		if !c.holds(c.right, window(i, 1)) {
			return fmt.Errorf("the start has a window on the right, at cell %d, that is not in the language", i)
		}
	}
	if !c.has(partial(m), window(m.head-1, -1), c.first[m.cell(m.head)], window(m.head+1, 1)) {
		return errors.New("the start is not in the language")
	}
	return nil
}

// has reports whether a view of the language covers this one.
func (c *language) has(s sketch, left []int, mark int, right []int) bool {
	l, ok := c.byWord[key(left)]
	r, ok2 := c.byWord[key(right)]
	if !ok || !ok2 {
		return false
	}
	return slices.ContainsFunc(c.byIP[s.ip], func(i int) bool {
		return s.covered(&c.given.Controls[i]) && c.views[[4]int{i, l, mark, r}]
	})
}

// closed checks that what follows a view is in the language.
func (c *language) closed(v View) error {
	s := c.given.Controls[v[0]].sketch()
	cell := c.given.Marks[v[2]]
	direction, err := c.untilMove(&s, &cell)
	if err != nil {
		return fmt.Errorf("view %v: %w", v, err)
	}
	if direction == 0 {
		return nil // it goes round in place for ever
	}
	if c.given.Marks[v[4]] != cell {
		return fmt.Errorf("view %v leaves its cell with %d, but names the mark %d", v, cell, c.given.Marks[v[4]])
	}
	behind, ahead, out, in := c.given.Words[v[1]], c.given.Words[v[3]], c.left, c.right
	if direction < 0 {
		behind, ahead, out, in = ahead, behind, in, out
	}
	// A proof made up to keep the checker busy has many of both for one view.
	if c.budget -= 20 * int64(len(in[key(ahead[1:])])+len(out[key(behind[:c.given.N-1])])); c.budget < 0 {
		return errCostly
	}
	if !c.holds(out, behind) {
		return fmt.Errorf("view %v: the window that it leaves behind is not in the language", v)
	}
	nextBehind := append([]int{v[4]}, behind[:c.given.N-1]...)
	for _, x := range in[key(ahead[1:])] {
		nextAhead := append(append([]int(nil), ahead[1:]...), x)
		left, right := nextBehind, nextAhead
		if direction < 0 {
			left, right = right, left
		}
		if !c.has(s, left, ahead[0], right) {
			return fmt.Errorf("view %v: a view that follows it is not in the language", v)
		}
	}
	return nil
}
