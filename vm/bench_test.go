package vm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ward/internal/benchtest"
)

// beaverSteps and beaverOnes are the answer of the 5-state busy beaver.
const (
	beaverSteps = 47_176_870
	beaverOnes  = 4_098
)

// beaver is the 5-state busy beaver as its table: for each state what to do on 0
// and on 1.
var beaver = [5][2]struct {
	Write, Move int
	Next        string
}{
	{{1, 1, "B"}, {1, -1, "C"}},
	{{1, 1, "C"}, {1, 1, "B"}},
	{{1, 1, "D"}, {0, -1, "E"}},
	{{1, -1, "A"}, {1, -1, "D"}},
	{{1, 1, "Z"}, {0, -1, "A"}},
}

// inC is the machine as people write it who want speed: a goto a state, no limit
// at all, bytes for cells.
func inC() string {
	var b strings.Builder
	b.WriteString("#include <stdio.h>\nstatic unsigned char t[1<<20];\nint main(void){unsigned char*h=t+(1<<19);long n=0;int c=0;\n")
	for s, row := range beaver {
		fmt.Fprintf(&b, "%c: n++; if(*h==0){*h=%d;h+=%d;goto %s;}else{*h=%d;h+=%d;goto %s;}\n", 'A'+s,
			row[0].Write, row[0].Move, row[0].Next, row[1].Write, row[1].Move, row[1].Next)
	}
	b.WriteString("Z: for(int i=0;i<1<<20;i++)c+=t[i];printf(\"%ld %d\\n\",n,c);}\n")
	return b.String()
}

// best is the shortest of some runs: what the program takes, and not the machine's
// other guests.
func best(runs int, f func()) time.Duration {
	var all []time.Duration
	for range runs {
		start := time.Now()
		f()
		all = append(all, time.Since(start))
	}
	return slices.Min(all)
}

// TestBench measures the machine with all limits on. The C program starts as a
// process each time; its own start, measured by an empty one, is taken off.
func TestBench(t *testing.T) {
	benchtest.Only(t)
	const what = "UDC: 5-state busy beaver, 283,061,220 instructions"
	image, err := Link(example(t, "busy-beaver-5"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if r := finish(t, image, (*Machine).advance).Result(); r.Instructions != 6*beaverSteps || r.Tape.NonZero() != beaverOnes {
		t.Fatal(r.Instructions, r.Tape.NonZero())
	}
	leaping := best(9, func() { finish(t, image, (*Machine).advance) })
	walking := best(5, func() { finish(t, image, (*Machine).onFoot) })
	stepping := best(2, func() { finish(t, image, func(m *Machine, n int64) { m.Step() }) })
	if c := timeC(t); c > 0 {
		benchtest.Against(what, leaping, "C with gotos, no limits", c)
		benchtest.Against(what+", no leaps", walking, "C with gotos, no limits", c)
	}
	benchtest.Against(what, leaping, "the machine instruction by instruction", stepping)
	others := rivals(t)
	benchtest.Against(what, leaping, "wazero, compiled, paying fuel at each step", others["wazero"])
	benchtest.Against(what+", no leaps", walking, "wazero, compiled, paying fuel at each step", others["wazero"])
	benchtest.Against(what, leaping, "gopher-lua with gotos", others["gopher-lua"])
	benchtest.Against(what, leaping, "starlark-go", others["starlark-go"])
	benchtest.Against("UDC: primes below 200,000 by division, CALL in the inner loop", registers(t), "starlark-go", others["primes"])
}

func finish(t *testing.T, image *Image, advance func(*Machine, int64)) *Machine {
	m, err := New(image, ample, ToolNames())
	if err != nil {
		t.Fatal(err)
	}
	for m.state == Running {
		advance(m, slice)
	}
	if m.state != Halted {
		t.Fatal(m.code)
	}
	return m
}

func compile(t *testing.T, name, src string) string {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		return ""
	}
	bin := filepath.Join(t.TempDir(), name)
	cmd := exec.Command(gcc, "-O2", "-x", "c", "-o", bin, "-")
	cmd.Stdin = strings.NewReader(src)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// timeC is the C program's time, 0 without a compiler.
func timeC(t *testing.T) time.Duration {
	bin, empty := compile(t, "beaver", inC()), compile(t, "empty", "int main(void){return 0;}")
	if bin == "" {
		return 0
	}
	run := func(bin string, want string) func() {
		return func() {
			if out, err := exec.Command(bin).Output(); err != nil || string(out) != want {
				t.Fatalf("%s, %v", out, err)
			}
		}
	}
	return best(9, run(bin, fmt.Sprintln(beaverSteps, beaverOnes))) - best(9, run(empty, ""))
}

// rivals is how long other engines take, which have a module of their own: see
// scripts/rivals.
func rivals(t *testing.T) (took map[string]time.Duration) {
	table, err := json.Marshal(beaver)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "-C", "../scripts/rivals", "run", ".")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(table), t.Output()
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &took)
	}
	if err != nil {
		t.Fatalf("scripts/rivals: %v", err)
	}
	return took
}

// registers is the other kind of plan, whose every state is new: the primes below
// 200,000 by trial division, with CALL in the innermost loop, where leaps are no
// help.
func registers(t *testing.T) time.Duration {
	const plan = `
    MOV R1 2
LABEL number
    MOV R2 2
LABEL divisor
    CALL mul R2 R2
    CMP R0 R1
    JG prime
    CALL mod R1 R2
    CMP R0 0
    JE next
    INC R2
    JMP divisor
LABEL prime
    INC R3
LABEL next
    INC R1
    CMP R1 200000
    JL number
    HALT`
	image, err := Link(parse(t, "primes", plan), nil)
	if err != nil {
		t.Fatal(err)
	}
	return best(5, func() { finish(t, image, (*Machine).advance) })
}
