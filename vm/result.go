package vm

import (
	"encoding/json"
	"strconv"

	"git-ward/vm/asm"
)

// State is how a run stands.
type State string

// The states of UDC-4, and the one before them.
const (
	Running State = "RUNNING"
	Halted  State = "HALTED"
	Failed  State = "ERROR"
	Timeout State = "TIMEOUT"
)

// Code says why a plan did not halt; "" when it did, or still runs.
type Code string

// The codes. A limit's end is a Timeout, everything else an Error.
const (
	NoHalt          Code = "ERROR_NO_HALT" // it ran off its end
	IntegerOverflow Code = "ERROR_INTEGER_OVERFLOW"
	FlagsUnset      Code = "ERROR_FLAGS_UNSET"
	DivisionByZero  Code = "ERROR_DIVISION_BY_ZERO"
	CallDenied      Code = "ERROR_CALL_DENIED"
	CallArguments   Code = "ERROR_CALL_ARGUMENTS" // the tool does not take these
	CallDepth       Code = "ERROR_CALL_DEPTH"
	StackUnderflow  Code = "ERROR_STACK_UNDERFLOW"

	InstructionLimit Code = "TIMEOUT_INSTRUCTION_LIMIT"
	MemoryLimit      Code = "TIMEOUT_MEMORY_LIMIT"
	OutputLimit      Code = "TIMEOUT_OUTPUT_LIMIT"
	WallClock        Code = "TIMEOUT_WALL_CLOCK"
)

// State is the state that a run is in after the code.
func (c Code) State() State {
	switch c {
	case "":
		return Halted
	case InstructionLimit, MemoryLimit, OutputLimit, WallClock:
		return Timeout
	}
	return Failed
}

// Result is what a run leaves (UDC-4).
type Result struct {
	File         string    `json:"file"`
	State        State     `json:"state"`
	Code         Code      `json:"code"`
	Reason       string    `json:"reason,omitempty"` // what the code does not say, of a tool that the admin allows
	Instructions int64     `json:"instructions"`
	Head         int64     `json:"head"`
	Registers    Registers `json:"registers"`
	Tape         Tape      `json:"tape"`
	Output       []string  `json:"output"` // a string for each print, its arguments joined by one space
}

// Registers are R0 to R3.
type Registers [asm.NumRegisters]int64

// MarshalJSON gives {"R0": ..., "R3": ...}.
func (r Registers) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct{ R0, R1, R2, R3 int64 }{r[0], r[1], r[2], r[3]})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Registers) UnmarshalJSON(data []byte) error {
	var v struct{ R0, R1, R2, R3 int64 }
	err := json.Unmarshal(data, &v)
	*r = Registers{v.R0, v.R1, v.R2, v.R3}
	return err
}

// Tape is a tape's buffer: Cells[0] is the cell with index First.
type Tape struct {
	First int64
	Cells []int64
}

// MarshalJSON gives {"index": value} for every cell that is not 0, in the tape's
// order.
func (t Tape) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, v := range t.Cells {
		if v == 0 {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = strconv.AppendInt(b, t.First+int64(i), 10)
		b = append(b, '"', ':')
		b = strconv.AppendInt(b, v, 10)
	}
	return append(b, '}'), nil
}

// NonZero counts the cells that are not 0.
func (t Tape) NonZero() int {
	n := 0
	for _, v := range t.Cells {
		if v != 0 {
			n++
		}
	}
	return n
}
