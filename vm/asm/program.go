package asm

// Register is one of the four that a plan can name.
type Register uint8

// NumRegisters is how many there are: R0 to R3.
const NumRegisters = 4

// String is R0 to R3.
func (r Register) String() string { return string([]byte{'R', '0' + byte(r)}) }

// Kind is what an operand is.
type Kind uint8

// The kinds of operand. None is the zero value: the instruction has no such
// operand. Text and Word occur in the arguments of CALL only.
const (
	None    Kind = iota
	Reg          // Operand.Reg
	Literal      // Operand.Value
	Text         // Operand.Text, a double-quoted string, unquoted
	Word         // Operand.Text, a bare word such as the name of a plan
)

// Operand is a register, a literal, or text.
type Operand struct {
	Kind  Kind
	Reg   Register
	Value int64
	Text  string
}

// Instruction is one line that the machine executes. Its fields are those of its
// opcode's line in Table:
//
//	READ INC DEC              Dst
//	MOV ADD SUB CMP           Dst, Src (Reg or Literal)
//	WRITE                     Src (Reg or Literal)
//	JMP JE JNE JG JL          Label, Target
//	CALL                      Call
type Instruction struct {
	Op  Opcode
	Dst Register
	Src Operand
	// Target is the index in Program.Instructions to go to; their number when
	// the label stands behind the last of them.
	Target    int
	Label     string
	Call      *Call
	Line, Col int // of the opcode, from 1; Col counts bytes
}

// Call is what a CALL names.
type Call struct {
	Tool string
	Args []Operand
}

// Plan is the name of the plan that the call enters, and whether it is such a
// call: `CALL plan NAME`, where NAME is a word or a string.
func (c *Call) Plan() (string, bool) {
	if c.Tool != "plan" || len(c.Args) != 1 || (c.Args[0].Kind != Word && c.Args[0].Kind != Text) {
		return "", false
	}
	return c.Args[0].Text, true
}

// Label is a name for the instruction at index Target, or for the end.
type Label struct {
	Name      string
	Target    int
	Line, Col int // of the name
}

// Program is a plan that was read without an error. It is not changed after.
type Program struct {
	Name         string // the path that Parse was given
	Instructions []Instruction
	Labels       []Label // in the order of the text

	lines []line // for Print
}

// line is a line of the text: at most one of label and instruction, and a
// comment.
type line struct {
	kind    lineKind
	index   int // in Labels or Instructions
	comment string
	indent  bool // a comment alone that does not start at column 1
}

type lineKind uint8

const (
	blank lineKind = iota
	labelLine
	instructionLine
)
