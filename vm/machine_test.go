package vm

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"git-ward/vm/asm"
)

// cases are plans with the end that UDC-2 and UDC-3 give them.
var cases = []struct {
	src          string
	code         Code
	instructions int64
}{
	{"", NoHalt, 0},
	{"LABEL a\nLABEL b", NoHalt, 0},
	{"HALT", "", 1},
	{"LABEL a\nhalt", "", 1},
	{"MOV R0 1", NoHalt, 1},
	{"JMP end\nLABEL end", NoHalt, 1},
	{"LABEL a\nJMP a", InstructionLimit, 100},
	{"JE a\nLABEL a", FlagsUnset, 1},
	{"CMP R0 0\nJE a\nHALT\nLABEL a", NoHalt, 2},
	{"MOV R1 9223372036854775807\nINC R1\nHALT", IntegerOverflow, 2},
	{"MOV R1 -9223372036854775808\nDEC R1\nHALT", IntegerOverflow, 2},
	{"SUB R1 -9223372036854775808\nHALT", IntegerOverflow, 1},
	{"DEC R1\nSUB R1 -9223372036854775808\nHALT", "", 3},
	{"MOV R0 -9223372036854775808\nADD R0 R0\nHALT", IntegerOverflow, 2},
	{"MOV R0 -9223372036854775808\nSUB R1 R0\nHALT", IntegerOverflow, 2},
	{"CALL mul 3037000500 3037000500\nHALT", IntegerOverflow, 1},
	{"CALL mul -1 -9223372036854775808\nHALT", IntegerOverflow, 1},
	{"CALL mul -9223372036854775808 -1\nHALT", IntegerOverflow, 1},
	{"CALL div -9223372036854775808 -1\nHALT", IntegerOverflow, 1},
	{"CALL mod -9223372036854775808 -1\nHALT", "", 2},
	{"CALL div 1 R0\nHALT", DivisionByZero, 1},
	{"CALL mod 1 0\nHALT", DivisionByZero, 1},
	{"CALL bash \"rm -rf /\"\nHALT", CallDenied, 1},
	{"CALL write_file a b\nHALT", CallDenied, 1},
	{"CALL PRINT 1\nHALT", CallDenied, 1},
	{"CALL plan nowhere\nHALT", CallDenied, 1},
	{"CALL mul 1 2 3\nHALT", CallArguments, 1},
	{"CALL max \"a\" 1\nHALT", CallArguments, 1},
	{"CALL print bare\nHALT", CallArguments, 1},
	{"RET", StackUnderflow, 1},
	{"CALL plan self\nHALT", CallDepth, 11},
	{"LABEL a\nCALL print \"0123456789\"\nJMP a", OutputLimit, 13},
	{"LABEL a\nWRITE 1\nRIGHT\nJMP a", MemoryLimit, 16},
	{"LABEL a\nWRITE 1\nLEFT\nJMP a", MemoryLimit, 16},
	{"RIGHT\nRIGHT\nRIGHT\nRIGHT\nRIGHT\nREAD R1\nWRITE 0\nHALT", MemoryLimit, 7},
	{"LEFT\nLEFT\nRIGHT\nRIGHT\nRIGHT\nRIGHT\nWRITE 7\nHALT", "", 8},
	{"RIGHT\nRIGHT\nWRITE 1\nLEFT\nLEFT\nLEFT\nLEFT\nWRITE 1\nLEFT\nWRITE 1", MemoryLimit, 10},
}

// ample limits are none of the tests' business.
var ample = Limits{1_000_000_000, 1_000_000, time.Minute, 1 << 20}

var tight = Limits{100, 5, time.Hour, 64}

// exactly runs a plan at every instruction limit up to its end and beyond, in
// both interpreters, from every place to go over from one way to the other.
func exactly(t *testing.T, p *asm.Program, plans shelf, limits Limits) *Result {
	t.Helper()
	last := agree(t, p, plans, limits, ToolNames(), 0)
	for n := int64(1); n <= last.Instructions+1 && n <= limits.Instructions; n++ {
		limits.Instructions = n
		r := agree(t, p, plans, limits, ToolNames(), n/2)
		if n < last.Instructions && (r.Code != InstructionLimit || r.Instructions != n) {
			t.Errorf("limit %d: %s after %d\n%s", n, r.Code, r.Instructions, asm.Print(p))
		}
	}
	return last
}

func TestEnds(t *testing.T) {
	for _, c := range cases {
		p := parse(t, "p", c.src)
		if r := exactly(t, p, shelf{"self": p}, tight); r.Code != c.code || r.Instructions != c.instructions || r.State != c.code.State() {
			t.Errorf("%q: %s %q after %d, want %q after %d", c.src, r.State, r.Code, r.Instructions, c.code, c.instructions)
		}
	}
}

// TestLimitAtTheEnd: a plan may execute exactly the limit, and running off the
// end is looked at before it (UDC-2).
func TestLimitAtTheEnd(t *testing.T) {
	for src, want := range map[string]Code{
		"INC R0\nINC R0\nHALT":         "",
		"INC R0\nINC R0\nINC R0":       NoHalt,
		"INC R0\nINC R0\nINC R0\nHALT": InstructionLimit,
		"INC R0\nINC R0\nRET":          StackUnderflow,
	} {
		if r := agree(t, parse(t, "p", src), nil, Limits{3, 1, time.Hour, 1}, nil, 0); r.Code != want || r.Instructions != 3 {
			t.Errorf("%q: %s after %d", src, r.Code, r.Instructions)
		}
	}
}

// TestAFailureChangesNothing (UDC-2): the machine is as before, but counted.
func TestAFailureChangesNothing(t *testing.T) {
	const before = "MOV R0 9223372036854775807\nMOV R1 7\nWRITE 5\nRIGHT\nRIGHT\nRIGHT\nRIGHT\nRIGHT\n"
	for _, failing := range []string{"INC R0", "ADD R0 R1", "WRITE 9", "WRITE R1", "CALL mul R0 R0", "CALL nothing", "JE x", "RET", "CALL div R0 0"} {
		r := agree(t, parse(t, "p", before+failing+"\nLABEL x\n"), nil, tight, ToolNames(), 0)
		want := &Result{File: "p", State: r.State, Code: r.Code, Instructions: 9, Head: 5,
			Registers: Registers{1<<63 - 1, 7}, Tape: Tape{0, []int64{5}}, Output: []string{}}
		if r.State == Halted || !reflect.DeepEqual(r, want) {
			t.Errorf("%s: %+v", failing, r)
		}
	}
}

// TestTapeGrowsBothWays: the range reaches out left and right in turn, up to the
// limit and not one cell further.
func TestTapeGrowsBothWays(t *testing.T) {
	// R0 is the distance: write at +R0, then at -R0, then one further.
	const zigzag = `
LABEL out
	INC R0
	MOV R1 R0
LABEL right
	RIGHT
	DEC R1
	CMP R1 0
	JNE right
	WRITE R0
	MOV R1 R0
	ADD R1 R0
LABEL left
	LEFT
	DEC R1
	CMP R1 0
	JNE left
	WRITE R0
	MOV R1 R0
LABEL back
	RIGHT
	DEC R1
	CMP R1 0
	JNE back
	JMP out
`
	p := parse(t, "zigzag", zigzag)
	for cells := int64(1); cells <= 120; cells++ {
		r := agree(t, p, nil, Limits{1 << 20, cells, time.Hour, 1}, nil, 0)
		if r.Code != MemoryLimit || int64(len(r.Tape.Cells)) != cells || r.Tape.First != -(cells-1)/2 {
			t.Fatalf("%d cells: %s with %d from %d", cells, r.Code, len(r.Tape.Cells), r.Tape.First)
		}
	}
	for _, far := range []string{"LEFT", "RIGHT"} {
		src := strings.Repeat(far+"\n", 1000) + "WRITE 3\nREAD R0\nHALT"
		if r := agree(t, parse(t, "far", src), nil, Limits{2000, 1001, time.Hour, 1}, nil, 0); r.Code != "" || len(r.Tape.Cells) != 1001 {
			t.Errorf("far %s: %s, %d cells", far, r.Code, len(r.Tape.Cells))
		}
		if r := agree(t, parse(t, "far", src), nil, Limits{2000, 1000, time.Hour, 1}, nil, 0); r.Code != MemoryLimit || len(r.Tape.Cells) != 1 {
			t.Errorf("far %s: %s, %d cells", far, r.Code, len(r.Tape.Cells))
		}
	}
}

// TestDepth: ten plans can be entered, the eleventh cannot.
func TestDepth(t *testing.T) {
	for depth, want := range map[int]Code{10: "", 11: CallDepth} {
		plans := shelf{}
		for i := 1; i <= depth; i++ {
			src := fmt.Sprintf("INC R0\nCALL plan p%d\nRET", i+1)
			if i == depth {
				src = "INC R0\nRET"
			}
			name := fmt.Sprintf("p%d", i)
			plans[name] = parse(t, name, src)
		}
		r := exactly(t, parse(t, "main", "CALL plan p1\nHALT"), plans, Limits{1000, 1, time.Hour, 1})
		if r.Code != want || r.Registers[0] != 10 {
			t.Errorf("depth %d: %s, R0 %d", depth, r.Code, r.Registers[0])
		}
	}
}

// TestPlansShareTheMachine: tape, registers, flags, limits and HALT (UDC-3).
func TestPlansShareTheMachine(t *testing.T) {
	plans := shelf{
		"sub":  parse(t, "sub", "READ R1\nRIGHT\nWRITE 8\nCMP R1 4\nRET"),
		"stop": parse(t, "stop", "MOV R3 1\nHALT"),
		"end":  parse(t, "end", "MOV R3 2"),
	}
	r := exactly(t, parse(t, "main", "WRITE 4\nCALL plan sub\nJE same\nHALT\nLABEL same\nMOV R2 1\nCALL plan stop\nMOV R3 9\nHALT"), plans, tight)
	want := &Result{File: "main", State: Halted, Instructions: 12, Head: 1, Registers: Registers{0, 4, 1, 1}, Tape: Tape{0, []int64{4, 8}}, Output: []string{}}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("%+v", r)
	}
	if r := exactly(t, parse(t, "main", "CALL plan end\nHALT"), plans, tight); r.Code != NoHalt {
		t.Errorf("a called plan that runs off its end: %s", r.Code)
	}
}

type broken struct{}

func (broken) Plan(string) (*asm.Program, error) { return nil, errors.New("no disk") }

func TestLinkFails(t *testing.T) {
	if _, err := Link(parse(t, "main", "HALT\nCALL plan x"), broken{}); err == nil || err.Error() != "main:2: CALL plan x: no disk" {
		t.Error(err)
	}
	big := shelf{}
	for i := range 6 {
		big[fmt.Sprint(i)] = parse(t, "big", strings.Repeat("INC R0\n", 200_000))
	}
	if _, err := Link(parse(t, "main", "CALL plan 0\nCALL plan 1\nCALL plan 2\nCALL plan 3\nCALL plan 4\nCALL plan 5"), big); err == nil {
		t.Error("more than a million instructions were linked")
	}
}

func TestLimitsBelowOne(t *testing.T) {
	image, _ := Link(parse(t, "p", "HALT"), nil)
	for _, l := range []Limits{{0, 1, 1, 1}, {1, 0, 1, 1}, {1, 1, 0, 1}, {1, 1, 1, 0}, {-1, 1, 1, 1}, {1, -5, 1, 1}, {1, 1, -1, 1}} {
		if _, err := New(image, l, nil); err == nil {
			t.Errorf("%+v was taken", l)
		}
	}
	if _, err := New(image, ample, []string{"bash"}); err == nil {
		t.Error("a tool that is none was taken")
	}
}

// TestClock: a loop ends at its time, and at once when its context does.
func TestClock(t *testing.T) {
	image, _ := Link(parse(t, "p", "LABEL a\nJMP a"), nil)
	limits := Limits{1 << 62, 1, 20 * time.Millisecond, 1}
	m, _ := New(image, limits, nil)
	if r, err := m.Run(t.Context()); err != nil || r.Code != WallClock || r.State != Timeout {
		t.Error(r, err)
	}
	limits.Time = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	go cancel() // while it runs, or before
	m, _ = New(image, limits, nil)
	if r, err := m.Run(ctx); !errors.Is(err, context.Canceled) || r.State != Running {
		t.Error(r, err)
	}
}

// TestTraceIsTheRun: step by step the machine ends as it does in one go.
func TestTraceIsTheRun(t *testing.T) {
	for _, c := range cases {
		p := parse(t, "p", c.src)
		image, _ := Link(p, shelf{"self": p})
		m, _ := New(image, tight, ToolNames())
		n := int64(0)
		for {
			moment, ok := m.Trace()
			if !ok {
				break
			}
			if n++; moment.Number != n || moment.Instruction != p.Instructions[moment.IP].String() || moment.Line == 0 {
				t.Fatalf("%q: %+v", c.src, moment)
			}
		}
		if r := m.Result(); n != c.instructions || r.Code != c.code {
			t.Errorf("%q: %d moments, %s", c.src, n, r.Code)
		}
	}
}
