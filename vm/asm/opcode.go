package asm

import (
	"strings"
	"sync"
)

// Opcode is the operation of an instruction.
type Opcode uint8

// The opcodes, in the order of Table. LABEL never stands in
// Program.Instructions: it is a name, and costs nothing.
const (
	LEFT Opcode = iota
	RIGHT
	READ
	WRITE
	MOV
	ADD
	SUB
	INC
	DEC
	CMP
	JMP
	JE
	JNE
	JG
	JL
	CALL
	RET
	HALT
	LABEL
	numOpcodes
)

// shape is which arguments an opcode takes.
type shape uint8

const (
	none shape = iota
	reg
	value    // a register or a literal
	regValue // a register, then a register or a literal
	label
	call // a tool's name and any arguments
)

// Row is one line of Table.
type Row struct {
	Name   string
	Form   string // as a person writes it
	Effect string // on the machine
	shape  shape
}

// Table has one line an opcode, with its effect. r is a register; v a register or
// a literal. What overflows 64 bits ends the plan instead, and changes nothing.
var Table = [numOpcodes]Row{
	LEFT:  {"LEFT", "LEFT", "head = head - 1", none},
	RIGHT: {"RIGHT", "RIGHT", "head = head + 1", none},
	READ:  {"READ", "READ r", "r = tape[head]; 0 where nothing was written", reg},
	WRITE: {"WRITE", "WRITE v", "tape[head] = v; the tape grows to reach the head", value},
	MOV:   {"MOV", "MOV r v", "r = v", regValue},
	ADD:   {"ADD", "ADD r v", "r = r + v", regValue},
	SUB:   {"SUB", "SUB r v", "r = r - v", regValue},
	INC:   {"INC", "INC r", "r = r + 1", reg},
	DEC:   {"DEC", "DEC r", "r = r - 1", reg},
	CMP:   {"CMP", "CMP r v", "flags = order of r and v", regValue},
	JMP:   {"JMP", "JMP label", "go to label", label},
	JE:    {"JE", "JE label", "go to label if the flags say r = v", label},
	JNE:   {"JNE", "JNE label", "go to label if the flags say r != v", label},
	JG:    {"JG", "JG label", "go to label if the flags say r > v", label},
	JL:    {"JL", "JL label", "go to label if the flags say r < v", label},
	CALL:  {"CALL", "CALL tool [argument ...]", "R0 = the tool's answer, where it has one; `CALL plan NAME` enters a plan", call},
	RET:   {"RET", "RET", "go back behind the CALL that entered this plan", none},
	HALT:  {"HALT", "HALT", "end all, well", none},
	LABEL: {"LABEL", "LABEL name", "nothing: it names what follows", label},
}

// String is the opcode's name.
func (op Opcode) String() string {
	if op < numOpcodes {
		return Table[op].Name
	}
	return "?"
}

// Conditional reports whether the opcode reads the flags.
func (op Opcode) Conditional() bool { return op >= JE && op <= JL }

// longestOpcode bounds what is worth looking up.
const longestOpcode = 5

// byName is made when the first plan is read: the hook links this package, and
// most pushes hold no plan.
var byName = sync.OnceValue(func() map[string]Opcode {
	m := make(map[string]Opcode, numOpcodes)
	for op, row := range Table {
		m[row.Name] = Opcode(op)
	}
	return m
})

func lookup(word string) (Opcode, bool) {
	if len(word) > longestOpcode {
		return 0, false
	}
	op, ok := byName()[strings.ToUpper(word)]
	return op, ok
}

func names() []string {
	all := make([]string, 0, numOpcodes)
	for _, row := range Table {
		all = append(all, row.Name)
	}
	return all
}
