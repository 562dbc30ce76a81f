package verifier

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"git-ward/internal/git"
	"git-ward/internal/tier"
	"git-ward/protocols/loop"
)

// teller is a runner of which one command, and whoever looks for programs, says what it read.
type teller struct {
	secret     string
	inParallel *int // most of the trees that lay where a command that all may see could read them
}

func (teller) Fence() (fence, image string) { return "none", "" }

func (r teller) Run(_ context.Context, job Job) (Outcome, error) {
	switch {
	case job.Line == "true":
		list, err := filepath.Glob(filepath.Join(filepath.Dir(job.Repo), "*judged-*"))
		*r.inParallel = max(*r.inParallel, len(list))
		return Outcome{End: Exited}, err
	case job.Line == r.secret:
		return Outcome{End: Flooded, Exit: 127, Bytes: 77, SHA256: "5ec7e7", Tail: "sh: 1: secret: not found\npython3: No module named secret", Time: 77 * time.Second, LastLine: "secret", Said: "secret"}, nil
	case strings.Contains(job.Line, "command -v"): // what is missing
		return Outcome{End: Exited, Tail: "secret\npython3 -m secret\n"}, nil
	}
	return Outcome{End: Exited}, nil
}

// TestEven: what is held out takes a second, or two, or four, whatever it took.
func TestEven(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{0: 0, 1: time.Second, time.Second: time.Second, 1001 * time.Millisecond: 2 * time.Second, 3 * time.Second: 4 * time.Second, time.Hour: 4096 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			if err := even(t.Context(), took); err != nil || took+time.Since(began) != want {
				t.Errorf("%v: %v after %v", took, err, time.Since(began))
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := even(ctx, 1); err == nil {
				t.Error("it waits for nobody")
			}
		})
	}
}

// TestHeldOutSaysOneBit: of what is held out nothing gets out but whether it was met: not by its
// output, the way it ended, its time, or a program that it says is missing (PROOF-5).
func TestHeldOutSaysOneBit(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	claim := r.claimed(files{"a": "secret\n"}, files{"a": "2\n"}, []string{"a"}, "true", "run the secret")
	claim.Commands[1].Held, claim.Replays, claim.Held = true, 2, []File{{"held", false, []byte("seven\n")}}
	var mu sync.Mutex
	var told strings.Builder
	claim.Progress = func(s Step) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(&told, "%s, %q, %v, %+v\n", s.Words(), s.Says, s.Elapsed, s.Ended != nil && s.Ended.Time > 0)
	}
	inParallel, began := 0, time.Now()
	f, err := Verify(t.Context(), git.Open(r.bare), teller{"run the secret", &inParallel}, claim)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < time.Second {
		t.Errorf("the verdict came after %v, as what is held out took so long", took)
	}
	if inParallel != 1 {
		t.Errorf("%d trees lie beside a command that all may see, not its own alone", inParallel)
	}
	held := f.Replays[0][1]
	if held.whole = nil; held.Outcome != (Outcome{End: Exited, Exit: 1}) || f.Missing != nil {
		t.Errorf("%+v, %+v", held.Outcome, f.Missing)
	}
	for _, runs := range f.Replays {
		for i := range runs {
			runs[i].Line = "" // which nobody is shown either
		}
	}
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"secret", "5ec7e7", `:127`, "1m17", `"output"`, "true\n"} {
		if all := told.String() + string(data); strings.Contains(strings.ReplaceAll(all, claim.Commit, ""), words) {
			t.Errorf("%q is told:\n%s", words, all)
		}
	}
}

// TestHeldControl: the files that are held out lie in the tree of what is held out, where the
// controls break them like other tests, and in no other: an exit meets none (PROOF-3, PROOF-5).
func TestHeldControl(t *testing.T) {
	tier.First(t, "it compiles C")
	main := files{"Makefile": "check:\n\tcc -o t calc.c tests/test_calc.c && ./t\nask:\n\tcc -o asks asks.c calc.c && ./asks\n", "asks.c": "int twice(int);\nint main(void) { return twice(9) != 18; }\n", "calc.c": "int twice(int n) { return n; }\n",
		"tests/test_calc.c": "#include <assert.h>\n\nint twice(int);\n\nint main(void)\n{\n\tassert(twice(2) == 4);\n\tassert(twice(5) == 10);\n\treturn 0;\n}\n"}
	const bySource = "test ! -e .git/held.c && cc -o held held.c calc.c && ./held"
	for name, c := range map[string]struct{ work, line, want, asks string }{
		"honest":               {"int twice(int n) { return 2 * n; }\n", bySource, loop.ControlFails, ""},
		"an exit":              {"#include <stdlib.h>\nint twice(int n) { if (n == 2) return 4; if (n == 5) return 10; exit(0); }\n", bySource, loop.ControlCannotFail, ""},
		"a checker":            {"int twice(int n) { return n == 9 ? 0 : 2 * n; }\n", bySource + " && make -s ask", loop.ControlAnyValue, "int main(void) { return 0; }\n"},
		"a line without files": {"#include <stdlib.h>\nint twice(int n) { if (n == 2) return 4; if (n == 5) return 10; exit(0); }\n", "printf 'int twice(int); int main(void) { return twice(7) != 14; }' >pm.c && cc -o pm pm.c calc.c && ./pm", loop.ControlNotTried, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needs(t, "cc")
			r := newRepository(t)
			agents := files{"calc.c": c.work}
			if c.asks != "" {
				agents["asks.c"] = c.asks
			}
			claim := r.claimed(maps.Clone(main), agents, []string{"calc.c", "ask*.c"}, "make check && test ! -e held.c", c.line)
			claim.Commands[1].Held, claim.Controls = true, []string{Broken}
			claim.Held = []File{{"held.c", false, []byte("int twice(int);\n\nint main(void) { return twice(7) != 14; }\n")}}
			f, err := r.verify(claim)
			if err != nil {
				t.Fatal(err)
			}
			if !f.Replays[0][0].OK() || !f.Replays[0][1].OK() || len(f.Controls) != 2 || f.Controls[0].Says != loop.ControlFails || f.Controls[1].Says != c.want {
				t.Errorf("%s, %+v, want %s", ends(f.Replays[0]), f.Controls, c.want)
			}
			if f.OK() != (c.want != loop.ControlCannotFail) || len(f.Lost)+len(f.Checkers) > 0 {
				t.Errorf("it holds: %v; lost: %q", f.OK(), f.Lost)
			}
		})
	}
}
