package halting

import (
	"cmp"
	"slices"

	"git-ward/vm/halting/proof"
)

// word is a window of n marks in base 256, the nearest to the head in the
// lowest byte.
type word uint64

// view is a local configuration: the control, the cell under the head and the
// windows on both sides of it.
type view struct {
	control, cell int32 // cell is a mark
	left, right   word
}

// windows are the words that may occur on one side, and the views that wait for
// more of them.
type windows struct {
	has     map[word]bool
	after   map[word][]byte // the nearer n-1 symbols: what may follow them
	waiting map[word][]arrival
}

// arrival is a view of which the outermost symbol ahead is open.
type arrival struct {
	control, cell int32
	behind        word
	ahead         word // n-1 symbols
	dir           int8
}

func newWindows() windows {
	return windows{map[word]bool{}, map[word][]byte{}, map[word][]arrival{}}
}

// languages searches for a set of views that is closed under every step and has
// none that halts (the n-gram closed position set of the busy-beaver field).
type languages struct {
	machine     *recovered
	n           int
	limit       int
	marks       *marks
	views       map[view]bool
	queue       []view
	left, right windows
}

// closedLanguage tries windows of width n over marks with so much history, from a
// simulation's present configuration; nil when a view halts, or there are more
// than limit.
func closedLanguage(r *running, n, history, limit int) *proof.Proof {
	l := &languages{machine: r.machine, n: n, limit: limit, marks: newMarks(r.machine, history), views: map[view]bool{}, left: newWindows(), right: newWindows()}
	low, high := -r.tape.origin, len(r.tape.cells)-r.tape.origin
	start, ok := l.start(r, low, high)
	if !ok {
		return nil
	}
	l.add(start)
	for len(l.queue) > 0 {
		v := l.queue[len(l.queue)-1]
		l.queue = l.queue[:len(l.queue)-1]
		if !l.follow(v) || len(l.views) > limit {
			return nil
		}
	}
	return l.proof(r.steps)
}

// start adds the windows of the present tape and gives its view.
func (l *languages) start(r *running, low, high int) (view, bool) {
	window := func(from, dir int) (w word, ok bool) {
		for i := range l.n {
			s := l.marks.plain(r.tape.at(from + i*dir))
			if s > 255 {
				return 0, false
			}
			w |= word(s) << (8 * i)
		}
		return w, true
	}
	for i := min(r.head-2, high+l.n); i >= low-1 || i == r.head-2; i-- {
		w, ok := window(i, -1)
		if !ok {
			return view{}, false
		}
		l.open(&l.left, w)
	}
	for i := max(r.head+2, low-l.n); i <= high+1 || i == r.head+2; i++ {
		w, ok := window(i, 1)
		if !ok {
			return view{}, false
		}
		l.open(&l.right, w)
	}
	l.open(&l.left, 0)
	l.open(&l.right, 0)
	left, ok1 := window(r.head-1, -1)
	right, ok2 := window(r.head+1, 1)
	return view{r.control, l.marks.plain(r.tape.at(r.head)), left, right}, ok1 && ok2
}

func (l *languages) add(v view) {
	if !l.views[v] {
		l.views[v] = true
		l.queue = append(l.queue, v)
	}
}

// open admits a window on a side and continues the views that waited for it.
func (l *languages) open(side *windows, w word) {
	if side.has[w] {
		return
	}
	side.has[w] = true
	outer := 8 * (l.n - 1)
	inner, last := w&(1<<outer-1), byte(w>>outer)
	side.after[inner] = append(side.after[inner], last)
	for _, a := range side.waiting[inner] {
		l.arrive(a, last)
	}
}

func (l *languages) arrive(a arrival, last byte) {
	ahead := a.ahead | word(last)<<(8*(l.n-1))
	if a.dir > 0 {
		l.add(view{a.control, a.cell, a.behind, ahead})
	} else {
		l.add(view{a.control, a.cell, ahead, a.behind})
	}
}

// follow adds what may come after a view; false when it may halt.
func (l *languages) follow(v view) bool {
	t := l.machine.at(v.control, l.marks.all[v.cell].symbol)
	switch t.effect {
	case spins:
		return true
	case moves:
	default:
		return false
	}
	left := l.marks.leave(v.control, v.cell, t.write)
	if len(l.machine.controls) > l.limit || len(l.marks.all) > 256 {
		return false
	}
	behind, ahead, out, in := v.left, v.right, &l.left, &l.right
	if t.dir < 0 {
		behind, ahead, out, in = ahead, behind, in, out
	}
	l.open(out, behind)
	mask := word(1)<<(8*l.n-1)<<1 - 1 // n = 8: all bits
	a := arrival{control: t.next, cell: int32(ahead & 255), behind: (behind<<8 | word(left)) & mask, ahead: ahead >> 8, dir: t.dir}
	in.waiting[a.ahead] = append(in.waiting[a.ahead], a)
	for _, last := range in.after[a.ahead] {
		l.arrive(a, last)
	}
	return true
}

// proof writes the set down, in an order that does not depend on maps.
func (l *languages) proof(after int64) *proof.Proof {
	c := &proof.Language{After: after, N: l.n}
	controls, words := map[int32]int{}, map[word]int{}
	control := func(i int32) int {
		k, ok := controls[i]
		if !ok {
			k = len(controls)
			controls[i] = k
			c.Controls = append(c.Controls, l.control(i))
		}
		return k
	}
	spell := func(w word) int {
		k, ok := words[w]
		if !ok {
			k = len(words)
			words[w] = k
			cells := make([]int, l.n)
			for i := range cells {
				cells[i] = int(w >> (8 * i) & 255)
			}
			c.Words = append(c.Words, cells)
		}
		return k
	}
	for _, w := range sortedWords(l.left.has) {
		c.Left = append(c.Left, spell(w))
	}
	for _, w := range sortedWords(l.right.has) {
		c.Right = append(c.Right, spell(w))
	}
	views := make([]view, 0, len(l.views))
	for v := range l.views {
		views = append(views, v)
	}
	slices.SortFunc(views, compareViews)
	for _, v := range views {
		left := v.cell // what goes round in place leaves nothing
		if t := l.machine.at(v.control, l.marks.all[v.cell].symbol); t.effect == moves {
			left = l.marks.leave(v.control, v.cell, t.write)
		}
		c.Views = append(c.Views, proof.View{control(v.control), spell(v.left), int(v.cell), spell(v.right), int(left)})
	}
	for _, m := range l.marks.all {
		c.Marks = append(c.Marks, l.machine.symbols[m.symbol])
	}
	return &proof.Proof{Claim: proof.Never, Language: c}
}

// control spells one, with what is dead in it left open.
func (l *languages) control(i int32) proof.Control {
	c := l.machine.controls[i]
	out := proof.Control{IP: c.ip}
	live := l.machine.live[c.ip]
	for r := range c.regs {
		if live&(1<<r) != 0 {
			v := c.regs[r]
			out.Regs[r] = &v
		}
	}
	if live&flagsBit != 0 {
		f := c.flags
		out.Flags = &f
	}
	return out
}

func sortedWords(set map[word]bool) []word {
	all := make([]word, 0, len(set))
	for w := range set {
		all = append(all, w)
	}
	slices.Sort(all)
	return all
}

func compareViews(a, b view) int {
	return cmp.Or(cmp.Compare(a.control, b.control), cmp.Compare(a.cell, b.cell), cmp.Compare(a.left, b.left), cmp.Compare(a.right, b.right))
}
