package halting

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"git-ward/vm"
	"git-ward/vm/asm"
	"git-ward/vm/halting/code"
	"git-ward/vm/halting/proof"
)

// plans draws programs that look like what people write and like what nobody
// would: few registers, small numbers, jumps to anywhere, tools and sub-plans.
func plans(t *rapid.T, calls bool) string {
	n := rapid.IntRange(1, 14).Draw(t, "instructions")
	reg := func() string { return fmt.Sprintf("R%d", rapid.IntRange(0, 3).Draw(t, "register")) }
	number := func() string {
		return fmt.Sprint(rapid.OneOf(rapid.Int64Range(-3, 12), rapid.SampledFrom([]int64{100, -100, 1000, 9223372036854775807, -9223372036854775808, 1 << 62})).Draw(t, "number"))
	}
	value := func() string {
		if rapid.Bool().Draw(t, "literal") {
			return number()
		}
		return reg()
	}
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "LABEL l%d\n", i)
		target := fmt.Sprintf("l%d", rapid.IntRange(0, n).Draw(t, "target"))
		switch k := rapid.IntRange(0, 21).Draw(t, "instruction"); k {
		case 0:
			fmt.Fprintln(&b, "LEFT")
		case 1, 2:
			fmt.Fprintln(&b, "RIGHT")
		case 3:
			fmt.Fprintln(&b, "READ", reg())
		case 4:
			fmt.Fprintln(&b, "WRITE", value())
		case 5, 6:
			fmt.Fprintln(&b, "MOV", reg(), value())
		case 7:
			fmt.Fprintln(&b, "ADD", reg(), value())
		case 8:
			fmt.Fprintln(&b, "SUB", reg(), value())
		case 9, 10:
			fmt.Fprintln(&b, "INC", reg())
		case 11:
			fmt.Fprintln(&b, "DEC", reg())
		case 12:
			fmt.Fprintln(&b, "HALT")
		case 13:
			fmt.Fprintln(&b, "JMP", target)
		case 14:
			if calls {
				tool := rapid.SampledFrom([]string{"mul", "div", "mod", "min", "max", "print", "rm", "plan a", "plan b", "plan none"}).Draw(t, "tool")
				if strings.HasPrefix(tool, "plan") {
					fmt.Fprintln(&b, "CALL", tool)
				} else {
					fmt.Fprintln(&b, "CALL", tool, value(), value())
				}
			} else {
				fmt.Fprintln(&b, "DEC", reg())
			}
		case 15:
			if calls && rapid.Bool().Draw(t, "return") {
				fmt.Fprintln(&b, "RET")
			} else {
				fmt.Fprintln(&b, "INC", reg())
			}
		default:
			jump := rapid.SampledFrom([]string{"JE", "JNE", "JG", "JL"}).Draw(t, "jump")
			fmt.Fprintf(&b, "CMP %s %s\n%s %s\n", reg(), value(), jump, target)
		}
	}
	fmt.Fprintf(&b, "LABEL l%d\n", n)
	return b.String()
}

// library is the sub-plans of a generated plan.
type library map[string]*asm.Program

func (l library) Plan(name string) (*asm.Program, error) {
	if p := l[name]; p != nil {
		return p, nil
	}
	return nil, vm.ErrNoPlan
}

func (l library) find(name string) (*asm.Program, bool) { p := l[name]; return p, p != nil }

// outcomeOf runs a plan on the machine; running when it does not end in time.
func outcomeOf(t rapid.TB, p *asm.Program, l library, steps int64) *vm.Result {
	image, err := vm.Link(p, l)
	if err != nil {
		t.Fatal(err)
	}
	m, err := vm.New(image, vm.Limits{Instructions: steps, Cells: 1 << 30, Time: time.Hour, Output: 1 << 40}, tools)
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// agree compares a report with a run.
func agree(t rapid.TB, text string, r Report, run *vm.Result) {
	ended := run.State != vm.Timeout
	switch {
	case r.Risk != Low && r.Risk != High:
		return
	case r.Risk == High && ended && !(r.Proof.Claim == proof.Overflow && run.Code == vm.IntegerOverflow):
		t.Errorf("HIGH (%s), and it ends after %d instructions with %q:\n%s", r.Reason, run.Instructions, run.Code, text)
	case r.Risk == Low && r.Proof.Run != nil && ended:
		counted := run.Instructions
		if run.Code == vm.NoHalt {
			counted++
		}
		if r.Proof.Run.Steps != counted || r.Proof.Run.Code != string(run.Code) {
			t.Errorf("the run of %d steps to %q is one of %d to %q:\n%s", r.Proof.Run.Steps, r.Proof.Run.Code, counted, run.Code, text)
		}
	case r.Risk == Low && r.Proof.Run != nil:
		t.Errorf("LOW (%s), and it has not ended:\n%s", r.Reason, text)
	}
}

func parseAll(t rapid.TB, texts ...string) []*asm.Program {
	var all []*asm.Program
	for _, text := range texts {
		p, ds := asm.Parse("p", []byte(text))
		if len(ds) > 0 {
			t.Fatalf("%v\n%s", ds, text)
		}
		all = append(all, p)
	}
	return all
}

// TestRandomPlans compares verdicts with runs of the machine. The analysis may
// execute only few instructions itself, so that the other deciders decide.
func TestRandomPlans(t *testing.T) {
	refuse(t)
	seen := map[Risk]int{}
	byProof := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		text, a, b := plans(t, true), plans(t, true), plans(t, false)
		ps := parseAll(t, text, a, b)
		l := library{"a": ps[1], "b": ps[2]}
		steps := rapid.SampledFrom([]int64{10, 100, 10_000}).Draw(t, "steps")
		rejected = func(p code.Program, r *Report, err error) {
			t.Errorf("the checker rejects %q: %v\n%s", r.Reason, err, text)
		}
		r := Analyze(context.Background(), ps[0], Options{Calls: tools, Plan: l.find, Steps: steps})
		seen[r.Risk]++
		byProof[kindOf(r.Proof)]++
		agree(t, text, r, outcomeOf(t, ps[0], l, 100_000))
	})
	t.Log(seen, byProof)
}

func kindOf(p *proof.Proof) string {
	switch {
	case p == nil:
		return "none"
	case p.Run != nil:
		return "run"
	case p.Cycle != nil:
		return "cycle"
	case p.Language != nil:
		return "language"
	}
	return "invariant: " + string(p.Claim)
}
