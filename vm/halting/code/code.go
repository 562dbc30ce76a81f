// Package code is the flat form of a plan that the halting analyser and its
// checker reason about: one instruction for each that the machine counts, with
// sub-plans copied in where they are called, so that there is no stack left and
// control is an index.
//
// Everything that ends a plan is a Stop instruction, whether HALT or an error
// that is certain (running off the end, RET without a caller, a denied CALL).
// A step of this form is an instruction of the machine, so step numbers agree.
package code

// Op is what an instruction does.
type Op uint8

// The operations. INC and DEC are Add and Sub of 1, which overflow alike; LABEL
// is gone; CALL of a plan and RET are Jump.
const (
	Stop  Op = iota // ends the plan with Code
	Jump            // go to To
	Left            // head = head - 1
	Right           // head = head + 1
	Read            // Reg = tape[head]
	Write           // tape[head] = A
	Move            // Reg = A
	Add             // Reg = Reg + A, or overflow
	Sub             // Reg = Reg - A, or overflow
	Cmp             // flags = order of Reg and A
	JE              // go to To if equal; flags unset is an error
	JNE             // go to To if not equal
	JG              // go to To if greater
	JL              // go to To if less
	Mul             // R0 = A * B, or overflow
	Div             // R0 = A / B truncated, or an error
	Mod             // R0 = A % B with the sign of A, or an error
	Min             // R0 = min(A, B)
	Max             // R0 = max(A, B)
	Nop             // CALL print: nothing that the plan can see
	Havoc           // a CALL or a sub-plan that the analysis does not know
)

// Registers is how many the machine has: R0 to R3.
const Registers = 4

// Value is an operand: a register, or a literal when Reg is Literal.
type Value struct {
	Reg int8
	Lit int64
}

// Literal is the Reg of a Value that is a number.
const Literal int8 = -1

// Of is the value of an operand.
func (v Value) Of(regs *[Registers]int64) int64 {
	if v.Reg == Literal {
		return v.Lit
	}
	return regs[v.Reg]
}

// Inst is one instruction. Reg is the register that it changes or compares; A
// and B are its operands, To the index that a jump leads to, Code how a Stop
// ends ("" is HALT), Line the line of the plan that the user reads: for a
// sub-plan's instructions the line of the CALL in the main plan. Label is the
// line of the first label right before it, or Line.
type Inst struct {
	Op          Op
	Reg         uint8
	A, B        Value
	To          int32
	Code        string
	Line, Label int
}

// Program is a plan and its sub-plans as one list; it starts at index 0.
type Program []Inst

// IsConditional reports whether an instruction reads the flags.
func (op Op) IsConditional() bool { return op >= JE && op <= JL }

// Flags is the outcome of the last CMP.
type Flags uint8

// The outcomes; a plan starts with Unset.
const (
	Unset Flags = iota
	Less
	Equal
	Greater
)

// Compare gives the flags that CMP a b sets.
func Compare(a, b int64) Flags {
	switch {
	case a < b:
		return Less
	case a > b:
		return Greater
	}
	return Equal
}

// Taken reports whether a conditional jump is taken under set flags.
func (op Op) Taken(f Flags) bool {
	switch op {
	case JE:
		return f == Equal
	case JNE:
		return f != Equal
	case JG:
		return f == Greater
	default:
		return f == Less
	}
}
