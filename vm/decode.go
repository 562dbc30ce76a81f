package vm

import (
	"math"

	"git-ward/vm/asm"
)

// kind is what an operation does in one go. The picture beside each is the
// sequence of instructions; [ ] may be missing. A JMP behind a sequence is part
// of the operation.
type kind uint8

const (
	careful     kind = iota // whatever only Step can do: CALL, RET, HALT, the end
	jump                    // JMP
	read                    // READ r
	set                     // MOV r literal
	copyReg                 // MOV r r
	addLiteral              // ADD r literal, INC, DEC, SUB r literal
	addReg                  // ADD r r
	subReg                  // SUB r r
	compare                 // CMP r literal
	compareReg              // CMP r r
	branchEqual             // JE or JNE, alone
	branchMore              // JG
	branchLess              // JL
	act                     // [WRITE literal] [LEFT or RIGHT, any number]
	writeReg                // WRITE r

	// A question and what follows each answer: an arm, which is an act.
	readEqual    // READ r; CMP r literal; JE or JNE
	readMore     // READ r; CMP r literal; JG
	readLess     // READ r; CMP r literal; JL
	addEqual     // as addLiteral; CMP r literal; JE or JNE
	testEqual    // CMP r literal; JE or JNE
	testMore     // CMP r literal; JG
	testLess     // CMP r literal; JL
	testEqualReg // CMP r r; JE or JNE
	testMoreReg  // CMP r r; JG
	testLessReg  // CMP r r; JL
)

// operation is a sequence of instructions in the form that Run executes. There is
// one for each address, so that any instruction can be jumped to: the longest
// sequence that starts there.
type operation struct {
	kind     kind
	dst, src uint8
	cost     int32 // instructions; of a question: with the longer arm
	next     int32 // address
	step     int64 // what addEqual adds
	literal  int64
	arms     [2]arm // of a question: no, yes. arms[0] of an act
}

// arm is an act: what is done to the tape, and where to go on.
type arm struct {
	literal int64
	write   bool
	move    int32
	cost    int32 // instructions of the operation up to the arm's end
	start   int32 // address of the arm's first instruction
	head    int32 // instructions of the operation before the arm
	next    int32
}

// maxFused bounds the moves and jumps that one operation takes in.
const maxFused = 16

// decode fills in the image's operations.
func (im *Image) decode() {
	im.ops = make([]operation, len(im.sites))
	for address := range im.sites {
		im.ops[address] = im.operation(int32(address))
	}
}

func (im *Image) operation(at int32) operation {
	s := im.sites[at]
	if s.Instruction == nil {
		return operation{next: at}
	}
	if op, ok := im.question(at); ok {
		return op
	}
	op := operation{dst: uint8(s.Dst), src: uint8(s.Src.Reg), literal: s.Src.Value, cost: 1}
	fromReg := s.Src.Kind == asm.Reg
	switch s.Op {
	case asm.JMP:
		op.kind = jump
		op.next, op.cost = im.follow(at)
		return op
	case asm.READ:
		op.kind = read
	case asm.MOV:
		op.kind = choose(fromReg, copyReg, set)
	case asm.ADD, asm.SUB, asm.INC, asm.DEC:
		step, constant := increment(s.Instruction)
		switch {
		case constant:
			op.kind, op.literal = addLiteral, step
		case fromReg:
			op.kind = choose(s.Op == asm.ADD, addReg, subReg)
		default: // SUB of the smallest literal, which has no opposite
			return operation{next: at}
		}
	case asm.CMP:
		op.kind = choose(fromReg, compareReg, compare)
	case asm.JE, asm.JNE, asm.JG, asm.JL:
		im.branch(&op, at)
		return op
	case asm.WRITE:
		if !fromReg {
			return im.act(at)
		}
		op.kind = writeReg
	case asm.LEFT, asm.RIGHT:
		return im.act(at)
	default:
		return operation{next: at}
	}
	var jumps int32
	op.next, jumps = im.follow(at + 1)
	op.cost += jumps
	return op
}

func choose(yes bool, a, b kind) kind {
	if yes {
		return a
	}
	return b
}

// increment is what an instruction adds to its register, if that is a constant.
func increment(in *asm.Instruction) (int64, bool) {
	switch {
	case in.Op == asm.INC:
		return 1, true
	case in.Op == asm.DEC:
		return -1, true
	case in.Op == asm.ADD && in.Src.Kind == asm.Literal:
		return in.Src.Value, true
	case in.Op == asm.SUB && in.Src.Kind == asm.Literal && in.Src.Value != math.MinInt64:
		return -in.Src.Value, true
	}
	return 0, false
}

// follow goes through JMPs and returns where they lead and how many they are. A
// loop of nothing but JMPs ends somewhere in it.
func (im *Image) follow(at int32) (next, cost int32) {
	for cost < maxFused && im.is(at, asm.JMP) {
		at, cost = im.sites[at].address, cost+1
	}
	return at, cost
}

// is reports whether the instruction at an address, if any, has an opcode.
func (im *Image) is(at int32, op asm.Opcode) bool {
	return im.sites[at].Instruction != nil && im.sites[at].Op == op
}

// branch decodes a conditional jump alone. JNE is JE with its answers exchanged.
func (im *Image) branch(op *operation, at int32) {
	s := im.sites[at]
	op.kind = [...]kind{branchEqual, branchEqual, branchMore, branchLess}[s.Op-asm.JE]
	op.arms = im.answers(s, arm{next: at + 1, cost: 1}, arm{next: s.address, cost: 1})
}

// answers puts the arms behind no and yes in order.
func (im *Image) answers(s site, no, yes arm) [2]arm {
	if s.Op == asm.JNE {
		return [2]arm{yes, no}
	}
	return [2]arm{no, yes}
}

// act decodes a WRITE of a literal and moves.
func (im *Image) act(at int32) operation {
	a := im.arm(at, 0)
	return operation{kind: act, cost: a.cost, next: a.next, arms: [2]arm{a, a}}
}

// arm decodes an act behind head other instructions. It may be empty.
func (im *Image) arm(at, head int32) arm {
	a := arm{start: at, head: head, cost: head}
	if s := im.sites[at]; im.is(at, asm.WRITE) && s.Src.Kind == asm.Literal {
		a.write, a.literal = true, s.Src.Value
		a.cost++
		at++
	}
	for a.cost < maxFused {
		if im.is(at, asm.LEFT) {
			a.move--
		} else if im.is(at, asm.RIGHT) {
			a.move++
		} else {
			break
		}
		a.cost++
		at++
	}
	var jumps int32
	a.next, jumps = im.follow(at)
	a.cost += jumps
	return a
}

// A question's instruction before the CMP, and the kind of operand that CMP compares with.
const (
	nothing = iota
	aRead
	anAdd

	literal  = 0
	register = 1
)

// questions are the kinds by these two values and by the jump, from JE on. For careful there
// is none: simpler operations do it.
var questions = [3][2][4]kind{
	nothing: {literal: {testEqual, testEqual, testMore, testLess}, register: {testEqualReg, testEqualReg, testMoreReg, testLessReg}},
	aRead:   {literal: {readEqual, readEqual, readMore, readLess}},
	anAdd:   {literal: {addEqual, addEqual}},
}

// question decodes [READ r | ADD r literal] CMP r v; Jcc with both arms.
func (im *Image) question(at int32) (operation, bool) {
	s := im.sites[at]
	op, before, with, test := operation{}, nothing, literal, at
	if step, constant := increment(s.Instruction); constant {
		before, test, op.step = anAdd, at+1, step
	} else if s.Op == asm.READ {
		before, test = aRead, at+1
	}
	if !im.is(test, asm.CMP) {
		return op, false
	}
	c, j := im.sites[test], im.sites[test+1]
	if j.Instruction == nil || !j.Op.Conditional() || before != nothing && s.Dst != c.Dst {
		return op, false
	}
	if c.Src.Kind == asm.Reg {
		with = register
	}
	op.kind = questions[before][with][j.Op-asm.JE]
	if op.kind == careful {
		return op, false
	}
	op.dst, op.src, op.literal = uint8(c.Dst), uint8(c.Src.Reg), c.Src.Value
	head := test + 2 - at
	op.arms = im.answers(j, im.arm(test+2, head), im.arm(j.address, head))
	op.cost = max(op.arms[0].cost, op.arms[1].cost)
	return op, true
}
