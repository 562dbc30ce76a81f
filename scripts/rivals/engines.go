package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	lua "github.com/yuin/gopher-lua"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// inStarlark is the machine with a list for its tape and a table for its states.
const inStarlark = `
def run():
    table = [((1, 1, 1), (1, -1, 2)), ((1, 1, 2), (1, 1, 1)), ((1, 1, 3), (0, -1, 4)), ((1, -1, 0), (1, -1, 3)), ((1, 1, 5), (0, -1, 0))]
    tape = [0] * 40000
    head, state, n = 20000, 0, 0
    while state != 5:
        write, move, state = table[state][tape[head]]
        tape[head] = write
        head += move
        n += 1
    return [n, len([cell for cell in tape if cell])]
answer = run()
`

// primesInStarlark counts the primes below 200,000 by trial division.
const primesInStarlark = `
def run():
    n, count = 2, 0
    while n < 200000:
        d, prime = 2, True
        while d * d <= n:
            if n % d == 0:
                prime = False
                break
            d += 1
        if prime:
            count += 1
        n += 1
    return count
answer = run()
`

// timeStarlark is how long a program takes that leaves want in `answer`.
func timeStarlark(src, want string) (time.Duration, error) {
	start := time.Now()
	options := &syntax.FileOptions{While: true, TopLevelControl: true}
	globals, err := starlark.ExecFileOptions(options, new(starlark.Thread), "rival.star", src, nil)
	if err == nil && globals["answer"].String() != want {
		err = fmt.Errorf("it came to %s, and not to %s", globals["answer"], want)
	}
	return time.Since(start), err
}

// inLua is the machine as in C: a goto a state, locals, a table for its tape.
func inLua() string {
	var b strings.Builder
	b.WriteString("local t, h, n, c = {}, 20000, 0, 0\nfor i = 1, 40000 do t[i] = 0 end\n")
	for s, row := range beaver {
		fmt.Fprintf(&b, "::%c:: n = n + 1\nif t[h] == 0 then t[h] = %d h = h + %d goto %s else t[h] = %d h = h + %d goto %s end\n", 'A'+s,
			row[0].Write, row[0].Move, row[0].Next, row[1].Write, row[1].Move, row[1].Next)
	}
	b.WriteString("::Z:: for i = 1, 40000 do c = c + t[i] end\nreturn n, c\n")
	return b.String()
}

func timeLua() (time.Duration, error) {
	l := lua.NewState()
	defer l.Close()
	run, err := l.LoadString(inLua())
	if err != nil {
		return 0, err
	}
	start := time.Now()
	l.Push(run)
	err = l.PCall(0, 2, nil)
	if err == nil && (l.ToInt(-2) != beaverSteps || l.ToInt(-1) != beaverOnes) {
		err = fmt.Errorf("it came to %v and %v", l.Get(-2), l.Get(-1))
	}
	return time.Since(start), err
}

// inWasm is the machine as a WebAssembly module, by hand: `run` takes fuel, pays one
// for each step, traps when there is none left, and returns what is left. Its memory
// is the tape, a byte a cell.
func inWasm() []byte {
	const (
		void, i32, i64                         = 0x40, 0x7f, 0x7e
		unreachable, block, loop, fi, els, end = 0x00, 0x02, 0x03, 0x04, 0x05, 0x0b
		br, brTable                            = 0x0c, 0x0e
		get, set, load8, store8                = 0x20, 0x21, 0x2d, 0x3a
		const32, const64, eqz32, eqz64         = 0x41, 0x42, 0x45, 0x50
		add32, sub64                           = 0x6a, 0x7d
		fuel, head, state                      = 0, 1, 2 // locals
	)
	section := func(id byte, body ...byte) []byte { return append(append([]byte{id}, unsigned(len(body))...), body...) }
	code := []byte{2, 1, i32, 1, i32} // two more locals
	code = append(append(code, const32), signed(1<<19)...)
	code = append(code, set, head, block, void, loop, void,
		get, fuel, eqz64, fi, void, unreachable, end,
		get, fuel, const64, 1, sub64, set, fuel,
		block, void, block, void, block, void, block, void, block, void,
		get, state, brTable, 4, 0, 1, 2, 3, 4)
	for s, row := range beaver {
		code = append(code, end, get, head, load8, 0, 0, eqz32, fi, void)
		step := byte(len(beaver) - s) // how many blocks lead out to the loop's next turn
		for i, on := range row {
			code = append(code, get, head, const32, byte(on.Write), store8, 0, 0, get, head, const32)
			code = append(append(code, signed(on.Move)...), add32, set, head)
			if on.Next == "Z" {
				code = append(code, br, step+1)
			} else {
				code = append(code, const32, on.Next[0]-'A', set, state, br, step)
			}
			code = append(code, []byte{els, end}[i])
		}
	}
	code = append(code, end, end, get, fuel, end)
	module := []byte("\x00asm\x01\x00\x00\x00")
	module = append(module, section(1, 1, 0x60, 1, i64, 1, i64)...) // types: i64 -> i64
	module = append(module, section(3, 1, 0)...)                    // functions
	module = append(module, section(5, 1, 0, 16)...)                // memories: 1 MiB
	module = append(module, section(7, 2, 3, 'r', 'u', 'n', 0, 0, 4, 't', 'a', 'p', 'e', 2, 0)...)
	return append(module, section(10, append(append([]byte{1}, unsigned(len(code))...), code...)...)...)
}

// unsigned and signed are LEB128.
func unsigned(n int) (b []byte) {
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

func signed(n int) (b []byte) {
	for ; n < -0x40 || n >= 0x40; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n)&0x7f)
}

// timeWasm is the best of five runs of wazero's compiler's code, without its compilation.
func timeWasm() (best time.Duration, err error) {
	ctx := context.Background()
	engine := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler())
	defer engine.Close(ctx)
	compiled, err := engine.CompileModule(ctx, inWasm())
	if err != nil {
		return 0, err
	}
	if _, err := wasmWith(ctx, engine, compiled, beaverSteps-1); err == nil {
		return 0, fmt.Errorf("it runs without fuel")
	}
	for range 5 {
		start := time.Now()
		left, err := wasmWith(ctx, engine, compiled, beaverSteps+7)
		if err != nil || left != 7 {
			return 0, fmt.Errorf("it leaves %d of its fuel: %w", left, err)
		}
		if took := time.Since(start); best == 0 || took < best {
			best = took
		}
	}
	return best, nil
}

// wasmWith runs an instance of the module to its end, and returns what is left of its fuel.
func wasmWith(ctx context.Context, engine wazero.Runtime, compiled wazero.CompiledModule, fuel uint64) (uint64, error) {
	m, err := engine.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		return 0, err
	}
	defer m.Close(ctx)
	left, err := m.ExportedFunction("run").Call(ctx, fuel)
	if err != nil {
		return 0, err
	}
	tape, _ := m.Memory().Read(0, 1<<20)
	ones := 0
	for _, cell := range tape {
		ones += int(cell)
	}
	if ones != beaverOnes {
		return 0, fmt.Errorf("it wrote %d ones", ones)
	}
	return left[0], nil
}
