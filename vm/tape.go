package vm

// tape is the smallest range that covers cell 0 and every written cell, inside a
// buffer with room to grow on both sides. The head may stand outside of it.
type tape struct {
	buffer []int64
	cells  []int64 // part of buffer: the range
	front  int64   // cells[0] is buffer[front]
	first  int64   // cells[0] is the cell of this index
}

func newTape() tape {
	t := tape{buffer: make([]int64, 64), front: 31}
	t.cells = t.buffer[31:32]
	return t
}

// at is the value of the cell that stands i behind the range's first.
func (t *tape) at(i int64) int64 {
	if uint64(i) < uint64(len(t.cells)) {
		return t.cells[i]
	}
	return 0
}

// reach makes the range cover place i, counted from its first cell, and returns
// where the place is counted from the new first cell. It changes nothing and
// returns false when the range would be longer than limit.
func (t *tape) reach(i, limit int64) (int64, bool) {
	n := int64(len(t.cells))
	before, after := max(0, -i), max(0, i-n+1)
	if before > limit-n || after > limit-n {
		return i, false
	}
	if before > t.front || t.front+n+after > int64(len(t.buffer)) {
		t.enlarge(before, after, limit)
	}
	t.front -= before
	t.first -= before
	t.cells = t.buffer[t.front : t.front+n+before+after]
	return i + before, true
}

// enlarge moves the range into a buffer twice as long as it will be, with the new
// room on the side that grows; but with no more room than the limit can use.
func (t *tape) enlarge(before, after, limit int64) {
	n := int64(len(t.cells))
	size := n + before + after
	room := min(size, limit-size) + 1
	front, back := before, after+room
	if before > 0 {
		front, back = before+room, after
	}
	buffer := make([]int64, front+n+back)
	copy(buffer[front:], t.cells)
	t.buffer, t.front = buffer, front
}
