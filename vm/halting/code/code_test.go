package code

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"git-ward/vm"
	"git-ward/vm/asm"
)

// Arithmetic is that of whole numbers, and fails where 64 bits do not hold it.
func TestArith(t *testing.T) {
	whole := map[Op]func(z, a, b *big.Int) *big.Int{Add: (*big.Int).Add, Sub: (*big.Int).Sub, Mul: (*big.Int).Mul, Div: (*big.Int).Quo, Mod: (*big.Int).Rem}
	edge := rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, -2, -1, 0, 1, 2, math.MaxInt64 - 1, math.MaxInt64})
	number := rapid.OneOf(edge, rapid.Int64())
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		for op, compute := range whole {
			got, ok := Arith(op, a, b)
			if b == 0 && (op == Div || op == Mod) {
				if ok || ArithError(op, b) != DivisionByZero {
					t.Fatalf("%d by zero", op)
				}
				continue
			}
			want := compute(new(big.Int), big.NewInt(a), big.NewInt(b))
			if ok != want.IsInt64() || ok && got != want.Int64() {
				t.Fatalf("op %d of %d and %d: %d %v, want %v", op, a, b, got, ok, want)
			}
			if !ok && ArithError(op, b) != Overflow {
				t.Fatal(ArithError(op, b))
			}
		}
	})
}

// flat is a program in words: an instruction as op, to where or how it ends.
func flat(p Program) string {
	var words []string
	for _, in := range p {
		switch {
		case in.Op == Stop:
			words = append(words, "stop:"+in.Code)
		case in.Op == Jump, in.Op.IsConditional():
			words = append(words, fmt.Sprintf("%d>%d", in.Op, in.To))
		default:
			words = append(words, fmt.Sprint(in.Op))
		}
	}
	return strings.Join(words, " ")
}

func TestLower(t *testing.T) {
	plans := map[string]string{"inner": "INC R0\nRET", "loop": "CALL plan loop\nRET"}
	find := func(name string) (*asm.Program, bool) {
		text, ok := plans[name]
		if !ok {
			return nil, false
		}
		p, found := asm.Parse(name, []byte(text))
		if len(found) > 0 {
			t.Fatal(found)
		}
		return p, true
	}
	for _, test := range []struct {
		name, text, want string
		env              Environment
	}{
		{name: "halt", text: "HALT", want: "stop: stop:" + NoHalt},
		{name: "no return", text: "RET", want: "stop:" + stackUnderflow + " stop:" + NoHalt},
		{name: "a jump", text: "LABEL a\nRIGHT\nJMP a", want: "3 1>0 stop:" + NoHalt},
		{name: "conditions", text: "LABEL a\nCMP R0 1\nJE a\nJL a", want: "9 10>0 13>0 stop:" + NoHalt},
		{name: "a tool that is not admitted", text: "CALL mul R0 R1\nHALT", want: "stop:" + callDenied + " stop: stop:" + NoHalt},
		{name: "a tool", text: "CALL mul R0 R1\nHALT", env: Environment{Calls: []string{"mul"}}, want: "14 stop: stop:" + NoHalt},
		{name: "a tool's arguments", text: "CALL mul R0\nHALT", env: Environment{Calls: []string{"mul"}}, want: "stop:" + callArguments + " stop: stop:" + NoHalt},
		{name: "print", text: "CALL print R0\nHALT", env: Environment{Calls: []string{"print"}}, want: "19 stop: stop:" + NoHalt},
		{name: "an unknown plan", text: "CALL plan inner\nHALT", want: "20 stop: stop:" + NoHalt},
		{name: "no such plan", text: "CALL plan none\nHALT", env: Environment{Plan: find, Room: 100}, want: "stop:" + callDenied + " stop: stop:" + NoHalt},
		{name: "a plan is copied in", text: "CALL plan inner\nHALT", env: Environment{Plan: find, Room: 100}, want: "1>3 stop: stop:" + NoHalt + " 7 1>1 stop:" + NoHalt},
		{name: "no room", text: "CALL plan inner\nHALT", env: Environment{Plan: find}, want: "20 stop: stop:" + NoHalt},
	} {
		p, found := asm.Parse("main", []byte(test.text))
		if len(found) > 0 {
			t.Fatal(test.name, found)
		}
		if got := flat(Lower(p, test.env)); got != test.want {
			t.Errorf("%s:\n%s, want\n%s", test.name, got, test.want)
		}
	}
	p, _ := asm.Parse("main", []byte("CALL plan loop\nHALT"))
	if got := flat(Lower(p, Environment{Plan: find, Room: 1000})); !strings.Contains(got, "stop:"+callDepth) || strings.Count(got, "stop:"+NoHalt) != vm.MaxDepth+1 {
		t.Errorf("a plan that calls itself: %s", got)
	}
}

// Lines are those that a person reads: a sub-plan's are the CALL's.
func TestLines(t *testing.T) {
	inner, _ := asm.Parse("inner", []byte("# one\n# two\nINC R0\nRET"))
	p, _ := asm.Parse("main", []byte("LABEL a\nCALL plan inner\nJMP a"))
	var lines []int
	for _, in := range Lower(p, Environment{Plan: func(string) (*asm.Program, bool) { return inner, true }, Room: 100}) {
		lines = append(lines, in.Line, in.Label)
	}
	if got := fmt.Sprint(lines); got != "[2 1 3 3 3 3 2 2 2 2 2 2]" {
		t.Error(got)
	}
}

func TestTaken(t *testing.T) {
	for _, test := range []struct {
		a, b  int64
		taken string // of JE JNE JG JL
	}{{1, 2, "[false true false true]"}, {2, 2, "[true false false false]"}, {3, 2, "[false true true false]"}} {
		f := Compare(test.a, test.b)
		if got := fmt.Sprint([]bool{JE.Taken(f), JNE.Taken(f), JG.Taken(f), JL.Taken(f)}); got != test.taken {
			t.Errorf("%d and %d: %s", test.a, test.b, got)
		}
	}
}
