package vm

import "git-ward/vm/asm"

// fast executes operations as long as each fits into left instructions as a
// whole, and stops before one that only Step can do. What it does is what Step
// would have done, instruction by instruction.
//
// It is one long loop over one switch, against the habits of this house: what
// would be tidy functions are calls on the hottest path of the machine.
func (m *Machine) fast(left int64) {
	var (
		start     = left
		ops       = m.image.ops
		at        = m.address
		r         = m.regs
		cells     = m.tape.cells
		head      = m.head
		ca, cb    = m.flags.a, m.flags.b
		flagsSet  = m.flags.set
		answer    *arm
		v         int64
		available bool
	)
	const regs = asm.NumRegisters - 1 // mask: an index below NumRegisters needs no check
loop:
	for uint(at) < uint(len(ops)) {
		op := &ops[at]
		if left < int64(op.cost) {
			break
		}
		switch op.kind {
		case careful:
			break loop
		case jump:
		case read:
			v = 0
			if uint64(head) < uint64(len(cells)) {
				v = cells[head]
			}
			r[op.dst&regs] = v
		case set:
			r[op.dst&regs] = op.literal
		case copyReg:
			r[op.dst&regs] = r[op.src&regs]
		case addLiteral:
			v = r[op.dst&regs]
			sum := v + op.literal
			if (sum < v) != (op.literal < 0) {
				break loop
			}
			r[op.dst&regs] = sum
		case addReg:
			v = r[op.dst&regs]
			w := r[op.src&regs]
			sum := v + w
			if (sum < v) != (w < 0) {
				break loop
			}
			r[op.dst&regs] = sum
		case subReg:
			v = r[op.dst&regs]
			w := r[op.src&regs]
			difference := v - w
			if (difference > v) != (w < 0) {
				break loop
			}
			r[op.dst&regs] = difference
		case compare:
			ca, cb, flagsSet = r[op.dst&regs], op.literal, true
		case compareReg:
			ca, cb, flagsSet = r[op.dst&regs], r[op.src&regs], true
		case writeReg:
			if uint64(head) >= uint64(len(cells)) {
				if head, available = m.tape.reach(head, m.limits.Cells); !available {
					break loop
				}
				cells = m.tape.cells
			}
			cells[head] = r[op.src&regs]
		case act:
			answer = &op.arms[0]
			goto arm
		case branchEqual:
			if !flagsSet {
				break loop
			}
			if ca == cb {
				at = op.arms[1].next
			} else {
				at = op.arms[0].next
			}
			left--
			continue
		case branchMore:
			if !flagsSet {
				break loop
			}
			if ca > cb {
				at = op.arms[1].next
			} else {
				at = op.arms[0].next
			}
			left--
			continue
		case branchLess:
			if !flagsSet {
				break loop
			}
			if ca < cb {
				at = op.arms[1].next
			} else {
				at = op.arms[0].next
			}
			left--
			continue
		case readEqual:
			v = 0
			if uint64(head) < uint64(len(cells)) {
				v = cells[head]
			}
			r[op.dst&regs] = v
			ca, cb, flagsSet = v, op.literal, true
			answer = &op.arms[0]
			if ca == cb {
				answer = &op.arms[1]
			}
			goto arm
		case readMore:
			v = 0
			if uint64(head) < uint64(len(cells)) {
				v = cells[head]
			}
			r[op.dst&regs] = v
			ca, cb, flagsSet = v, op.literal, true
			answer = &op.arms[0]
			if ca > cb {
				answer = &op.arms[1]
			}
			goto arm
		case readLess:
			v = 0
			if uint64(head) < uint64(len(cells)) {
				v = cells[head]
			}
			r[op.dst&regs] = v
			ca, cb, flagsSet = v, op.literal, true
			answer = &op.arms[0]
			if ca < cb {
				answer = &op.arms[1]
			}
			goto arm
		case addEqual:
			v = r[op.dst&regs]
			sum := v + op.step
			if (sum < v) != (op.step < 0) {
				break loop
			}
			r[op.dst&regs] = sum
			ca, cb, flagsSet = sum, op.literal, true
			answer = &op.arms[0]
			if ca == cb {
				answer = &op.arms[1]
			}
			goto arm
		case testEqual:
			ca, cb, flagsSet = r[op.dst&regs], op.literal, true
			answer = &op.arms[0]
			if ca == cb {
				answer = &op.arms[1]
			}
			goto arm
		case testMore:
			ca, cb, flagsSet = r[op.dst&regs], op.literal, true
			answer = &op.arms[0]
			if ca > cb {
				answer = &op.arms[1]
			}
			goto arm
		case testLess:
			ca, cb, flagsSet = r[op.dst&regs], op.literal, true
			answer = &op.arms[0]
			if ca < cb {
				answer = &op.arms[1]
			}
			goto arm
		case testEqualReg:
			ca, cb, flagsSet = r[op.dst&regs], r[op.src&regs], true
			answer = &op.arms[0]
			if ca == cb {
				answer = &op.arms[1]
			}
			goto arm
		case testMoreReg:
			ca, cb, flagsSet = r[op.dst&regs], r[op.src&regs], true
			answer = &op.arms[0]
			if ca > cb {
				answer = &op.arms[1]
			}
			goto arm
		case testLessReg:
			ca, cb, flagsSet = r[op.dst&regs], r[op.src&regs], true
			answer = &op.arms[0]
			if ca < cb {
				answer = &op.arms[1]
			}
			goto arm
		}
		left -= int64(op.cost)
		at = op.next
		continue

	arm:
		if answer.write {
			if uint64(head) >= uint64(len(cells)) {
				if head, available = m.tape.reach(head, m.limits.Cells); !available {
					// The question is done; its arm is for Step.
					left -= int64(answer.head)
					at = answer.start
					break
				}
				cells = m.tape.cells
			}
			cells[head] = answer.literal
		}
		head += int64(answer.move)
		left -= int64(answer.cost)
		at = answer.next
	}
	m.address, m.regs, m.head = at, r, head
	m.flags = flags{flagsSet, ca, cb}
	m.count += start - left
}
