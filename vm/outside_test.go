package vm

import (
	"slices"
	"strings"
	"testing"
	"time"

	"git-ward/vm/asm"
)

// TestOutside: what a tool of the admin's gets, and what a plan gets of it.
func TestOutside(t *testing.T) {
	for name, c := range map[string]struct {
		plan   string
		answer Answer
		args   []string // that the tool was given; nil: it was not called
		code   Code
		regs   [2]int64
		output []string
		reason string
	}{
		"an answer":          {"MOV R2 5\nCALL wc \"a b\" R2 7\nHALT", Answer{Exit: 1, Output: []byte("12 a b\nmore\n\n")}, []string{"a b", "5", "7"}, "", [2]int64{1, 12}, []string{"12 a b\nmore"}, ""},
		"no integer":         {"CALL wc\nHALT", Answer{Output: []byte("x 12")}, []string{}, "", [2]int64{0, 0}, []string{"x 12"}, ""},
		"too large a number": {"CALL wc\nHALT", Answer{Output: []byte("99999999999999999999")}, []string{}, "", [2]int64{0, 0}, []string{"99999999999999999999"}, ""},
		"not UTF-8":          {"CALL wc\nHALT", Answer{Output: []byte("a\xff")}, []string{}, "", [2]int64{0, 0}, []string{"a?"}, ""},
		"an option":          {"CALL wc \"ok\" \"--files0-from=/etc/passwd\"\nHALT", Answer{}, nil, CallArguments, [2]int64{}, nil, "argument 2 begins with -"},
		"a negative number":  {"CALL wc -7\nHALT", Answer{}, nil, CallArguments, [2]int64{}, nil, "argument 1 begins with -"},
		"a bare word":        {"CALL wc file\nHALT", Answer{}, nil, CallArguments, [2]int64{}, nil, ""},
		"no such tool":       {"CALL rm \"x\"\nHALT", Answer{}, nil, CallDenied, [2]int64{}, nil, ""},
		"denied":             {"CALL wc\nHALT", Answer{Denied: "outside of the fence"}, []string{}, CallDenied, [2]int64{}, nil, "wc: outside of the fence"},
		"late":               {"CALL wc\nHALT", Answer{Late: true}, []string{}, WallClock, [2]int64{}, nil, "wc took too long"},
		"too much":           {"CALL wc\nHALT", Answer{Large: true}, []string{}, OutputLimit, [2]int64{}, nil, "wc printed too much"},
		"more than is left":  {"CALL wc\nHALT", Answer{Output: []byte(strings.Repeat("x", 2000))}, []string{}, OutputLimit, [2]int64{}, nil, "wc printed too much"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			p, found := asm.Parse("p.udc", []byte(c.plan))
			if found != nil {
				t.Fatal(found)
			}
			image, err := Link(p, nil)
			if err != nil {
				t.Fatal(err)
			}
			m, err := New(image, Limits{Instructions: 100, Cells: 10, Time: time.Minute, Output: 1000}, nil)
			if err != nil {
				t.Fatal(err)
			}
			m.Admit("wc", func(args []string, most time.Duration, output int64) Answer {
				if got = args; most <= 0 || most > time.Minute || output != 1000 {
					t.Errorf("%s and %d bytes", most, output)
				}
				return c.answer
			})
			r, err := m.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if r.Code != c.code || r.Registers[0] != c.regs[0] || r.Registers[1] != c.regs[1] || !slices.Equal(r.Output, c.output) || !strings.HasPrefix(r.Reason, c.reason) || (r.Reason == "") != (c.reason == "") {
				t.Errorf("%+v", r)
			}
			if (got == nil) != (c.args == nil) || !slices.Equal(got, c.args) {
				t.Errorf("it was called with %q, want %q", got, c.args)
			}
		})
	}
}

// FuzzOutside: whatever a plan says, a tool gets no option and no NUL, and what it answers
// breaks nothing.
func FuzzOutside(f *testing.F) {
	f.Add("CALL wc \"-x\" R1 -1\nHALT", []byte("12"))
	f.Add("MOV R1 -9\nCALL wc R1\nHALT", []byte("-3 x\n"))
	f.Add("LABEL a\nCALL wc \"a\\n-b\"\nCMP R0 0\nJE a\nHALT", []byte{0xff})
	f.Fuzz(func(t *testing.T, text string, output []byte) {
		p, found := asm.Parse("p.udc", []byte(text))
		if found != nil {
			return
		}
		image, err := Link(p, nil)
		if err != nil {
			return
		}
		m, err := New(image, Limits{Instructions: 1000, Cells: 100, Time: time.Second, Output: 10_000}, ToolNames())
		if err != nil {
			t.Fatal(err)
		}
		m.Admit("wc", func(args []string, _ time.Duration, most int64) Answer {
			for _, a := range args {
				if strings.HasPrefix(a, "-") || strings.ContainsRune(a, 0) {
					t.Fatalf("it gets %q", a)
				}
			}
			return Answer{Exit: int64(len(args)), Output: output, Large: int64(len(output)) > most}
		})
		r, err := m.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, o := range r.Output {
			size += len(o)
		}
		if size > 10_000 {
			t.Fatalf("%d bytes of output", size)
		}
	})
}
