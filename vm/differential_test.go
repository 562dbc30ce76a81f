package vm

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"git-ward/vm/asm"
)

// shelf is a Library of the plans in a map.
type shelf map[string]*asm.Program

func (s shelf) Plan(name string) (*asm.Program, error) {
	if p := s[name]; p != nil {
		return p, nil
	}
	return nil, ErrNoPlan
}

// parse reads a plan that must be right.
func parse(t interface{ Fatalf(string, ...any) }, name, src string) *asm.Program {
	p, ds := asm.Parse(name, []byte(src))
	if ds != nil {
		t.Fatalf("%v\n%s", ds, src)
	}
	return p
}

// source draws the text of a plan. Half of it is what decode makes questions and
// acts of, the other half is anything; jumps go anywhere.
func source(t *rapid.T, name string) string {
	n := rapid.IntRange(1, 24).Draw(t, name+" lines")
	pick := func(of ...string) string { return rapid.SampledFrom(of).Draw(t, "x") }
	reg := func() string { return pick("R0", "R0", "R1", "R2", "R3") }
	small := func() string { return pick("0", "1", "2", "-1") }
	value := func() string {
		switch pick("small", "small", "reg", "extreme") {
		case "small":
			return small()
		case "reg":
			return reg()
		}
		return pick(extremes...)
	}
	label := func() string { return fmt.Sprintf("L%d", rapid.IntRange(0, n).Draw(t, "to")) }
	jcc := func() string { return pick("JE ", "JNE ", "JG ", "JL ") + label() }
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "LABEL L%d\n", i)
		r := reg()
		switch pick("question", "question", "act", "act", "any", "any", "any", "call") {
		case "question":
			switch pick("READ", "ADD", "") {
			case "READ":
				fmt.Fprintf(&b, "READ %s\n", r)
			case "ADD":
				fmt.Fprintf(&b, "%s\n", pick("INC "+r, "DEC "+r, "ADD "+r+" "+value(), "SUB "+r+" "+value()))
			}
			fmt.Fprintf(&b, "CMP %s %s\n%s\n", pick(r, r, r, reg()), value(), jcc())
		case "act":
			fmt.Fprintf(&b, "%s%s%s", pick("WRITE "+value()+"\n", ""), pick("LEFT\n", "RIGHT\n", "LEFT\nLEFT\n", "RIGHT\nLEFT\n", ""), pick("JMP "+label()+"\n", ""))
		case "any":
			fmt.Fprintln(&b, pick("LEFT", "RIGHT", "READ "+r, "WRITE "+value(), "MOV "+r+" "+value(), "ADD "+r+" "+value(),
				"SUB "+r+" "+value(), "INC "+r, "DEC "+r, "CMP "+r+" "+value(), "JMP "+label(), jcc()))
		case "call":
			fmt.Fprintln(&b, pick("CALL print "+r+" \"x\"", "CALL print", "CALL mul "+value()+" "+value(), "CALL div "+value()+" "+value(),
				"CALL mod "+value()+" "+value(), "CALL min "+value()+" "+value(), "CALL max "+value()+" "+value(), "CALL bash \"rm\"",
				"CALL mul 1", "CALL print word", "CALL mul \"a\" 1", "CALL plan a", "CALL plan b", "CALL plan a", "CALL plan gone", "RET", "RET", "HALT"))
		}
	}
	fmt.Fprintf(&b, "LABEL L%d\n", n)
	if pick("HALT", "HALT", "") != "" {
		b.WriteString("HALT\n")
	}
	return b.String()
}

// agree runs a plan in both interpreters, and fails on the smallest difference.
// After skip instructions it goes on in the other way of execution, and then back.
func agree(t interface{ Fatalf(string, ...any) }, p *asm.Program, plans shelf, limits Limits, calls []string, skip int64) *Result {
	want := plainRun(p, plans, limits, calls)
	image, err := Link(p, plans)
	if err != nil {
		t.Fatalf("%v", err)
	}
	m, err := New(image, limits, calls)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if err := m.Skip(context.Background(), skip); err != nil {
		t.Fatalf("%v", err)
	}
	if m.count != min(skip, want.Instructions) {
		t.Fatalf("Skip(%d) stands at %d of %d\n%s", skip, m.count, want.Instructions, asm.Print(p))
	}
	if skip%2 == 1 {
		m.Step()
	}
	got, err := m.Run(context.Background())
	if err != nil {
		t.Fatalf("%v", err)
	}
	got.Tape.Cells = append([]int64{}, got.Tape.Cells...)
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("limits %+v skip %d\n got %+v\nwant %+v\n%s", limits, skip, got, want, asm.Print(p))
	}
	return got
}

// TestTwoInterpretersAgree is the proof that fused operations, block charging and
// the growing tape mean what one instruction after the other means.
func TestTwoInterpretersAgree(t *testing.T) {
	codes := map[Code]int{}
	for range 20 {
		rapid.Check(t, func(t *rapid.T) { generated(t, codes) })
	}
	for _, c := range []Code{"", NoHalt, IntegerOverflow, FlagsUnset, DivisionByZero, CallDenied, CallArguments,
		StackUnderflow, InstructionLimit, MemoryLimit, OutputLimit} {
		if codes[c] == 0 {
			t.Errorf("of %d generated plans none ended by %q", codes["all"], c)
		}
	}
}

// generated compares one plan, at a small limit and at a large one.
func generated(t *rapid.T, codes map[Code]int) {
	plans := shelf{"a": parse(t, "a", source(t, "a")), "b": parse(t, "b", source(t, "b"))}
	p := parse(t, "main", source(t, "main"))
	calls := ToolNames()[:rapid.IntRange(0, len(tools)).Draw(t, "tools")]
	skip := rapid.Int64Range(0, 60).Draw(t, "skip")
	cells := rapid.Int64Range(1, 12).Draw(t, "cells")
	for _, n := range []int64{rapid.Int64Range(1, 40).Draw(t, "limit"), 5000} {
		r := agree(t, p, plans, Limits{n, cells, time.Hour, 20}, calls, skip)
		codes[r.Code]++
		codes["all"]++
	}
}

// FuzzMachine gives both interpreters whatever parses.
func FuzzMachine(f *testing.F) {
	for _, c := range cases {
		f.Add(c.src, int64(100), int64(5), int64(0))
	}
	f.Fuzz(func(t *testing.T, src string, instructions, cells, skip int64) {
		p, _ := asm.Parse("p", []byte(src))
		limits := Limits{instructions, cells, time.Hour, 64}
		if p == nil || limits.Check() != nil || instructions > 10_000 || cells > 10_000 || skip < 0 {
			return
		}
		agree(t, p, shelf{"self": p, "p": p}, limits, ToolNames(), skip)
	})
}
