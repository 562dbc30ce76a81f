package vm

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/vm/asm"
)

// example is a plan of vm/examples, its name without a suffix.
func example(t testing.TB, name string) *asm.Program {
	t.Helper()
	file := name + ".udc"
	data, err := os.ReadFile(filepath.Join("examples", file))
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := asm.Format(file, data); string(text) != string(data) {
		t.Errorf("%s is not in its canonical form", file)
	}
	return parse(t, file, string(data))
}

// TestExamplesInPlainWords: the expected results of the examples, which
// vm/command holds `git ward udc run` to, are those of the plain interpreter too.
func TestExamplesInPlainWords(t *testing.T) {
	names, err := filepath.Glob("examples/*.udc")
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	plans := shelf{"power": example(t, "plans/power"), "recursion": example(t, "recursion")}
	limits := Limits{1_000_000_000, 1_000_000, time.Hour, 1 << 20}
	for _, name := range names {
		name = strings.TrimSuffix(filepath.Base(name), ".udc")
		p, l := example(t, name), limits
		switch name {
		case "primes":
			l.Instructions = 1_000
		case "both-ways":
			l.Cells = 50
		case "busy-beaver-5":
			continue // an hour of plain words; its numbers are known, below
		}
		got, err := json.Marshal(plainRun(p, plans, l, ToolNames()))
		want, readErr := os.ReadFile("examples/" + name + ".json")
		if err != nil || readErr != nil || string(got)+"\n" != string(want) {
			t.Errorf("%s: %v %v\n%s%s", name, err, readErr, got, want)
		}
		agree(t, p, plans, l, ToolNames(), 777)
	}
}

// TestBusyBeaver: 47,176,870 steps and 4,098 ones, proved in 2024.
func TestBusyBeaver(t *testing.T) {
	image, err := Link(example(t, "busy-beaver-5"), nil)
	if err != nil {
		t.Fatal(err)
	}
	limits := ample
	limits.Instructions, limits.Cells = 6*47_176_870, 12_289
	for _, code := range []Code{"", MemoryLimit, InstructionLimit} {
		m, _ := New(image, limits, nil)
		r, err := m.Run(t.Context())
		if err != nil || r.Code != code {
			t.Errorf("%s, want %q: %v", r.Code, code, err)
		}
		switch code {
		case "":
			if r.Instructions != 283_061_220 || r.Tape.NonZero() != 4098 || len(r.Tape.Cells) != 12_289 {
				t.Errorf("%d instructions, %d ones in %d cells", r.Instructions, r.Tape.NonZero(), len(r.Tape.Cells))
			}
			limits.Cells--
		case MemoryLimit:
			if len(r.Tape.Cells) != 12_288 {
				t.Errorf("%d cells", len(r.Tape.Cells))
			}
			limits.Cells++
			limits.Instructions--
		case InstructionLimit:
			if r.Instructions != 283_061_219 || r.Tape.NonZero() != 4098 {
				t.Errorf("%d instructions, %d ones", r.Instructions, r.Tape.NonZero())
			}
		}
	}
}
