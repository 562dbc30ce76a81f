package vm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	lua "github.com/yuin/gopher-lua"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Other engines with the 5-state busy beaver. Each has to come to the machine's
// answer before its time counts.
const (
	beaverSteps = 47_176_870
	beaverOnes  = 4_098
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

func timeStarlark(t *testing.T) time.Duration {
	return took(func() {
		options := &syntax.FileOptions{While: true, TopLevelControl: true}
		globals, err := starlark.ExecFileOptions(options, new(starlark.Thread), "beaver.star", inStarlark, nil)
		if err != nil || globals["answer"].String() != fmt.Sprintf("[%d, %d]", beaverSteps, beaverOnes) {
			t.Fatal(globals, err)
		}
	})
}

// inLua is the machine as in C: a goto a state, locals, a table for its tape.
func inLua() string {
	var b strings.Builder
	b.WriteString("local t, h, n, c = {}, 20000, 0, 0\nfor i = 1, 40000 do t[i] = 0 end\n")
	for s, row := range beaver {
		fmt.Fprintf(&b, "::%c:: n = n + 1\nif t[h] == 0 then t[h] = %d h = h + %d goto %s else t[h] = %d h = h + %d goto %s end\n", 'A'+s,
			row[0].write, row[0].move, row[0].next, row[1].write, row[1].move, row[1].next)
	}
	b.WriteString("::Z:: for i = 1, 40000 do c = c + t[i] end\nreturn n, c\n")
	return b.String()
}

func timeLua(t *testing.T) time.Duration {
	l := lua.NewState()
	defer l.Close()
	run, err := l.LoadString(inLua())
	if err != nil {
		t.Fatal(err)
	}
	return took(func() {
		l.Push(run)
		if err := l.PCall(0, 2, nil); err != nil || l.ToInt(-2) != beaverSteps || l.ToInt(-1) != beaverOnes {
			t.Fatal(l.Get(-2), l.Get(-1), err)
		}
	})
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
			code = append(code, get, head, const32, byte(on.write), store8, 0, 0, get, head, const32)
			code = append(append(code, signed(on.move)...), add32, set, head)
			if on.next == "Z" {
				code = append(code, br, step+1)
			} else {
				code = append(code, const32, on.next[0]-'A', set, state, br, step)
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

// timeWasm is wazero's compiler's code, not its compilation.
func timeWasm(t *testing.T) time.Duration {
	ctx := t.Context()
	engine := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler())
	defer engine.Close(ctx)
	compiled, err := engine.CompileModule(ctx, inWasm())
	if err != nil {
		t.Fatal(err)
	}
	instance := func() api.Module {
		m, err := engine.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName(""))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if _, err := instance().ExportedFunction("run").Call(ctx, beaverSteps-1); err == nil {
		t.Fatal("it runs without fuel")
	}
	return best(5, func() {
		m := instance()
		left, err := m.ExportedFunction("run").Call(ctx, beaverSteps+7)
		if err != nil || left[0] != 7 {
			t.Fatal(left, err)
		}
		tape, _ := m.Memory().Read(0, 1<<20)
		ones := 0
		for _, cell := range tape {
			ones += int(cell)
		}
		if ones != beaverOnes {
			t.Fatal(ones)
		}
		m.Close(ctx)
	})
}
