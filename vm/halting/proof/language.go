package proof

import (
	"errors"
	"fmt"

	"git-ward/vm/halting/code"
)

// maxWindow bounds the width of a language's windows.
const maxWindow = 64

// burst bounds the instructions between two moves of the head.
const burst = 100_000

// language is a certificate in the form in which it is checked.
type language struct {
	*Language
	program     code.Program
	byIP        map[int32][]int // controls
	byWord      map[string]int  // words
	views       map[View]bool
	left, right map[string][]int64 // first N-1 cells of a window: what may follow
	budget      int64
}

// checkLanguage verifies that the views hold the configuration after After
// steps and that each view's successors are views again; none may halt.
func checkLanguage(p code.Program, l *Language, limits Limits) error {
	if l.N < 1 || l.N > maxWindow || len(l.Words)+len(l.Views)+len(l.Controls) > limits.Entries {
		return fmt.Errorf("a language of width %d with %d views is not within the checker's limits", l.N, len(l.Views))
	}
	c := &language{Language: l, program: p, byIP: map[int32][]int{}, byWord: map[string]int{}, views: map[View]bool{}, budget: limits.Steps}
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
	for _, v := range l.Views {
		if err := c.closed(v); err != nil {
			return err
		}
	}
	return nil
}

// key spells cells so that equal ones are equal strings.
func key(cells []int64) string {
	b := make([]byte, 0, 8*len(cells))
	for _, v := range cells {
		for s := 0; s < 64; s += 8 {
			b = append(b, byte(v>>s))
		}
	}
	return string(b)
}

// index checks that every index is in range and builds the tables.
func (c *language) index() error {
	for i, ctl := range c.Controls {
		if ctl.IP < 0 || int(ctl.IP) >= len(c.program) {
			return fmt.Errorf("control %d is outside the program", i)
		}
		c.byIP[ctl.IP] = append(c.byIP[ctl.IP], i)
	}
	for i, w := range c.Words {
		if len(w) != c.N {
			return fmt.Errorf("word %d has %d cells, not %d", i, len(w), c.N)
		}
		c.byWord[key(w)] = i
	}
	for _, v := range c.Views {
		if !within(v[0], len(c.Controls)) || !within(v[1], len(c.Words)) || !within(v[3], len(c.Words)) {
			return fmt.Errorf("view %v names what is not there", v)
		}
		c.views[v] = true
	}
	var err error
	if c.left, err = c.followers(c.Language.Left); err != nil {
		return err
	}
	c.right, err = c.followers(c.Language.Right)
	return err
}

func within(i int64, n int) bool { return i >= 0 && i < int64(n) }

// followers maps the first N-1 cells of each window to its last cell.
func (c *language) followers(windows []int) (map[string][]int64, error) {
	after := map[string][]int64{}
	for _, i := range windows {
		if !within(int64(i), len(c.Words)) {
			return nil, fmt.Errorf("window %d is not there", i)
		}
		w := c.Words[i]
		k := key(w[:c.N-1])
		after[k] = append(after[k], w[c.N-1])
	}
	return after, nil
}

// holds reports whether a window may occur on a side.
func (c *language) holds(side map[string][]int64, w []int64) bool {
	for _, last := range side[key(w[:c.N-1])] {
		if last == w[c.N-1] {
			return true
		}
	}
	return false
}

// holdsStart checks the machine's present configuration: its view, and every
// window further out on both sides, down to empty tape.
func (c *language) holdsStart(m *machine) error {
	low, high := m.bounds()
	window := func(from, step int) []int64 {
		w := make([]int64, c.N)
		for i := range w {
			w[i] = m.cell(from + i*step)
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
	if !c.has(partial(m), window(m.head-1, -1), m.cell(m.head), window(m.head+1, 1)) {
		return errors.New("the start is not in the language")
	}
	return nil
}

// has reports whether a view of the language covers this one.
func (c *language) has(s sketch, left []int64, cell int64, right []int64) bool {
	l, ok := c.byWord[key(left)]
	r, ok2 := c.byWord[key(right)]
	if !ok || !ok2 {
		return false
	}
	for _, i := range c.byIP[s.ip] {
		if s.covered(&c.Controls[i]) && c.views[View{int64(i), int64(l), cell, int64(r)}] {
			return true
		}
	}
	return false
}

// closed checks that what follows a view is in the language.
func (c *language) closed(v View) error {
	s := c.Controls[v[0]].sketch()
	cell := v[2]
	direction, err := c.untilMove(&s, &cell)
	if err != nil {
		return fmt.Errorf("view %v: %w", v, err)
	}
	if direction == 0 {
		return nil // it goes round in place for ever
	}
	behind, ahead, out, in := c.Words[v[1]], c.Words[v[3]], c.left, c.right
	if direction < 0 {
		behind, ahead, out, in = ahead, behind, in, out
	}
	if !c.holds(out, behind) {
		return fmt.Errorf("view %v: the window that it leaves behind is not in the language", v)
	}
	nextBehind := append([]int64{cell}, behind[:c.N-1]...)
	for _, x := range in[key(ahead[1:])] {
		nextAhead := append(append([]int64(nil), ahead[1:]...), x)
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
