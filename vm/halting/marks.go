package halting

// mark is a symbol with the history of its cell: the last controls that left it,
// and what they found there, newest first. Closed languages over marks tell
// cells apart that look alike but came about in different ways (the history
// augmentation of n-gram closed position sets).
type mark struct {
	symbol  int32
	history [maxHistory]visit
}

// visit is one entry of a history; the control counts from 1.
type visit struct{ control, symbol int32 }

// maxHistory is the longest history that is kept.
const maxHistory = 4

// marks numbers them; the mark of number 0 is the untouched empty cell.
type marks struct {
	machine *recovered
	depth   int
	all     []mark
	byMark  map[mark]int32
}

func newMarks(m *recovered, depth int) *marks {
	k := &marks{machine: m, depth: depth, byMark: map[mark]int32{}}
	k.plain(0)
	return k
}

// plain is the mark of a symbol without a history.
func (k *marks) plain(symbol int32) int32 { return k.intern(mark{symbol: symbol}) }

func (k *marks) intern(m mark) int32 {
	i, ok := k.byMark[m]
	if !ok {
		i = int32(len(k.all))
		k.all = append(k.all, m)
		k.byMark[m] = i
	}
	return i
}

// leave is the mark of a cell after a control has found m there and left symbol.
func (k *marks) leave(control, m, symbol int32) int32 {
	n := mark{symbol: symbol}
	if k.depth > 0 {
		copy(n.history[1:k.depth], k.all[m].history[:])
		n.history[0] = visit{control + 1, k.all[m].symbol}
	}
	return k.intern(n)
}
