package vm

// Plans that are Turing machines at heart do the same things to the same
// stretches of tape again and again. A leap is what one stay of the head in a
// block of the tape did, remembered by the block's content and the machine's
// state when it came: Marxen and Buntrock's macro machines (1990), on a machine
// with registers. It is a fact about Step, which executes every stay the first
// time, and is charged as all its instructions at once, so it is taken only when
// the limit allows all of them.

const (
	blockBits  = 6
	blockCells = 1 << blockBits

	// maxStay bounds the instructions of one leap, maxLearnt those of a try that
	// learns leaps and takes none. maxKnown bounds the contents, stances and leaps
	// that are remembered; with more, all are forgotten.
	maxStay   = 1 << 12
	maxLearnt = 1 << 14
	maxKnown  = 1 << 13

	// The number of instructions executed without leaps before the first try, and between two
	// tries. It grows while leaps do not pay.
	firstWalk = 1 << 14
	shortWalk = 128
	longWalk  = 1 << 22
)

// block is the content of an aligned stretch of the tape.
type block [blockCells]int64

// stance is all of the machine that a stay can depend on, beside the block. The
// stack and the output are not in it: a stay ends before a CALL or a RET.
type stance struct {
	address int32
	place   int32 // of the head in the block
	regs    Registers
	flags   flags
}

// leap is what a stay leaves.
type leap struct {
	key    uint64 // content and stance before; 0: none
	cost   int64  // instructions
	block  int32  // its new content
	stance int32  // in the block where the head is then
	shift  int32  // blocks that the head went
}

// leaper remembers leaps, and the contents of the tape's blocks.
type leaper struct {
	blocks   []block
	blockIDs map[block]int32
	stances  []stance
	ids      map[stance]int32
	table    [4 * maxKnown]leap // open addressing
	known    int

	contents []int32 // of the tape's blocks, from block base on; -1: not known
	base     int64
	walk     int64 // instructions to go on foot between two tries
	next     int64 // count at the next try
}

func newLeaper() *leaper {
	l := &leaper{walk: shortWalk}
	l.forget()
	return l
}

func (l *leaper) forget() {
	l.blocks, l.blockIDs = nil, map[block]int32{}
	l.stances, l.ids = nil, map[stance]int32{}
	clear(l.table[:])
	l.known, l.contents = 0, nil
}

func (l *leaper) full() bool {
	return l.known >= maxKnown || len(l.blocks) >= maxKnown || len(l.stances) >= maxKnown
}

func (l *leaper) blockID(b *block) int32 {
	id, ok := l.blockIDs[*b]
	if !ok {
		id = int32(len(l.blocks))
		l.blocks = append(l.blocks, *b)
		l.blockIDs[*b] = id
	}
	return id
}

func (l *leaper) stanceID(s stance) int32 {
	id, ok := l.ids[s]
	if !ok {
		id = int32(len(l.stances))
		l.stances = append(l.stances, s)
		l.ids[s] = id
	}
	return id
}

// slot is where a key is, or would be.
func (l *leaper) slot(key uint64) *leap {
	at := key * 0x9e3779b97f4a7c15 >> 32
	for {
		if s := &l.table[at%uint64(len(l.table))]; s.key == key || s.key == 0 {
			return s
		}
		at++
	}
}

// content is the place where block k's content is remembered.
func (l *leaper) content(k int64) *int32 {
	if l.contents == nil {
		l.base = k
	}
	for k < l.base || k >= l.base+int64(len(l.contents)) {
		n := int64(len(l.contents)) + 16
		wider := make([]int32, 3*n)
		for i := range wider {
			wider[i] = -1
		}
		copy(wider[n:], l.contents)
		l.contents, l.base = wider, l.base-n
	}
	return &l.contents[k-l.base]
}

// touched forgets the contents of the blocks that n instructions could reach from
// a cell.
func (l *leaper) touched(cell, n int64) {
	from := max(0, (cell-n)>>blockBits-l.base)
	to := min(int64(len(l.contents)), (cell+n)>>blockBits-l.base+1)
	for ; from < to; from++ {
		l.contents[from] = -1
	}
}

// advance executes n instructions, as far as the limit allows, and looks at the
// limit behind them: at its end the run is over, or there is more to execute.
func (m *Machine) advance(n int64) {
	target := min(m.count+n, m.limits.Instructions)
	if m.leaper == nil {
		if m.count < firstWalk {
			m.onFoot(min(target-m.count, firstWalk))
			return
		}
		m.leaper = newLeaper()
	}
	l := m.leaper
	for {
		cell, before := m.tape.first+m.head, m.count
		m.onFoot(min(l.next, target) - m.count)
		if m.state != Running {
			return
		}
		l.touched(cell, m.count-before)
		if m.count >= l.next && m.count < target {
			l.decide(m.leaps(target))
			l.next = m.count + l.walk
		}
		if m.count >= target {
			return
		}
	}
}

// decide chooses the way on foot to the next try, by what this one was worth:
// instructions that were leapt, and those that were executed to learn leaps.
func (l *leaper) decide(leapt, learnt int64) {
	switch {
	case leapt > 2*learnt:
		l.walk = shortWalk
	case leapt <= learnt:
		l.walk = min(2*l.walk, longWalk)
	}
}

// onFoot executes without leaps, by operations and steps.
func (m *Machine) onFoot(n int64) {
	target := m.count + n
	for {
		m.fast(target - m.count)
		m.Step()
		if m.state != Running || m.count >= target {
			return
		}
	}
}

// leaps goes on by leaps, as long as the head is in a block inside of the tape's
// range and the instructions up to target suffice. It returns how many instructions were leapt, and how many executed to
// learn leaps.
func (m *Machine) leaps(target int64) (leapt, learnt int64) {
	l := m.leaper
	if l.full() {
		l.forget()
	}
	var (
		cell  = m.tape.first + m.head
		k     = cell >> blockBits
		start = k<<blockBits - m.tape.first // of block k, in m.tape.cells
		at    = l.stanceID(stance{m.address, int32(cell & (blockCells - 1)), m.regs, m.flags})
	)
	for {
		if start < 0 || start+blockCells > int64(len(m.tape.cells)) {
			break
		}
		content := l.content(k)
		cells := (*block)(m.tape.cells[start:])
		if *content < 0 {
			*content = l.blockID(cells)
		}
		key := uint64(*content)<<32 | uint64(at) + 1
		known := l.slot(key)
		if known.key == 0 {
			m.stand(l.stances[at], start)
			cost, ok := m.stay(start, target)
			if !ok || l.full() || learnt > maxLearnt+leapt/8 {
				*content = -1
				return leapt, learnt + cost
			}
			learnt += cost
			cell = m.tape.first + m.head
			*known = leap{key, cost, l.blockID(cells), l.stanceID(stance{m.address, int32(cell & (blockCells - 1)), m.regs, m.flags}), int32(cell>>blockBits - k)}
			l.known++
		} else {
			if m.count+known.cost > target {
				break
			}
			m.count += known.cost
			leapt += known.cost
			if known.block != *content {
				*cells = l.blocks[known.block]
			}
		}
		*content, at = known.block, known.stance
		k += int64(known.shift)
		start += int64(known.shift) * blockCells
	}
	m.stand(l.stances[at], start)
	return leapt, learnt
}

// stand puts the machine into a stance, in the block that starts at a place of
// the tape's range.
func (m *Machine) stand(s stance, start int64) {
	m.address, m.regs, m.flags = s.address, s.regs, s.flags
	m.head = start + int64(s.place)
}

// stay executes until the head leaves the block, and returns how many
// instructions that took. It returns false when there is nothing to remember:
// none could be executed, or the run ended.
func (m *Machine) stay(start, target int64) (int64, bool) {
	before := m.count
	most := min(target, before+maxStay)
	for m.count < most && uint64(m.head-start) < blockCells && m.image.ops[m.address].kind != careful {
		m.Step()
	}
	return m.count - before, m.state == Running && m.count > before
}
