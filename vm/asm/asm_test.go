package asm

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/diag"
)

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

var want = regexp.MustCompile(`want (\d+) (udc/\w+)`)

// TestErrors holds every line of errors.udc to the findings that it names: all of
// them in one pass, none besides.
func TestErrors(t *testing.T) {
	data := read(t, "testdata/errors.txt")
	var expected []string
	for i, line := range strings.Split(string(data), "\n") {
		for _, m := range want.FindAllStringSubmatch(line, -1) {
			expected = append(expected, fmt.Sprintf("errors.udc:%d:%s: %s", i+1, m[1], m[2]))
		}
	}
	prog, found := Parse("errors.udc", data)
	if prog != nil {
		t.Error("a program came out of a text with errors")
	}
	var got []string
	for _, d := range found {
		got = append(got, d.Pos.String()+": "+d.Rule)
		if d.Hint == "" || d.Message == "" {
			t.Errorf("%s: %s has no message or no hint", d.Pos, d.Rule)
		}
	}
	if !slices.Equal(got, expected) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(expected, "\n"))
	}
}

func TestCanonical(t *testing.T) {
	got, ds := Format("canonical.udc", read(t, "testdata/canonical.udc"))
	if ds != nil || string(got) != string(read(t, "testdata/canonical.want")) {
		t.Errorf("got %v\n%s", ds, got)
	}
	if crlf, _ := Format("", []byte(strings.ReplaceAll(string(got), "\n", "\r\n"))); string(crlf) != string(got) {
		t.Errorf("CRLF gives\n%q", crlf)
	}
}

func TestProgram(t *testing.T) {
	prog, ds := Parse("p", []byte("LABEL a\nJMP end\nCALL plan x\nJMP a\nLABEL end"))
	if ds != nil {
		t.Fatal(ds)
	}
	if in := prog.Instructions[0]; in.Target != 3 || in.Line != 2 || in.Col != 1 {
		t.Errorf("JMP end is %+v", in)
	}
	if in := prog.Instructions[2]; in.Target != 0 {
		t.Errorf("JMP a is %+v", in)
	}
	if name, ok := prog.Instructions[1].Call.Plan(); name != "x" || !ok {
		t.Errorf("the plan is %q", name)
	}
}

// TestHints: what a finding advises must lead somewhere.
func TestHints(t *testing.T) {
	for src, hint := range map[string]string{
		"HLAT":             "did you mean HALT?",
		"loop:":            "write LABEL loop",
		"LABEL a\nJMP A":   "did you mean a? Labels are case-sensitive",
		"JMP x":            "add a line `LABEL x`",
		"MOV R0 SP":        "IP and SP belong to the machine; `git ward udc run --trace` shows them; a literal is a decimal such as -7",
		"CALL print R17":   "the registers are R0, R1, R2 and R3",
		"LABEL b\nLABEL b": "give one of them another name",
	} {
		if _, ds := Parse("p", []byte(src)); len(ds) != 1 || ds[0].Hint != hint {
			t.Errorf("%q: %v", src, ds)
		}
	}
}

// TestLimits: bad input that is large costs little and says its place.
func TestLimits(t *testing.T) {
	for name, c := range map[string]struct{ src, place, rule string }{
		"a label of 1 MB":           {"HALT\nLABEL " + strings.Repeat("x", 1<<20), "p:2:4097", RuleSize},
		"a label over its limit":    {"LABEL " + strings.Repeat("x", MaxLabelBytes+1), "p:1:7", RuleLabel},
		"a jump to a long label":    {"  JMP " + strings.Repeat("x", MaxLabelBytes+1), "p:1:7", RuleLabel},
		"10 million lines":          {strings.Repeat("INC R0\n", 10_000_000), "p", RuleSize},
		"10 million empty lines":    {strings.Repeat("\n", 10_000_000), "p", RuleSize},
		"one line too many":         {strings.Repeat("\n", MaxLines+1), "p:250001:1", RuleSize},
		"a nul":                     {"HALT\nHALT \x00", "p:2:6", RuleText},
		"an escape code":            {"# \x1b[31m", "p:1:3", RuleText},
		"a bidirectional override":  {"HALT # \u202e", "p:1:8", RuleText},
		"not UTF-8":                 {"LABEL \xff", "p:1:7", RuleText},
		"a byte order mark":         {"\ufeffHALT", "p:1:1", RuleText},
		"a carriage return inside":  {"HALT\rHALT", "p:1:5", RuleText},
		"a literal of 4,000 digits": {"MOV R0 " + strings.Repeat("9", 4000), "p:1:8", RuleLiteral},
	} {
		prog, ds := Parse("p", []byte(c.src))
		if prog != nil || len(ds) != 1 || ds[0].Place() != c.place || ds[0].Rule != c.rule {
			t.Errorf("%s: %.300v", name, ds)
		}
	}
	_, ds := Parse("p", []byte(strings.Repeat("JMP nowhere\n", MaxLines)))
	if len(ds) != MaxFindings+1 || ds[MaxFindings].Rule != RuleMore {
		t.Errorf("%d findings", len(ds))
	}
	prog, ds := Parse("p", []byte(strings.Repeat("INC R0\n", MaxLines)))
	if ds != nil || len(prog.Instructions) != MaxLines {
		t.Errorf("a plan at the limit: %v", ds)
	}
	if _, ds := Parse("p", []byte("LABEL "+strings.Repeat("x", MaxLabelBytes))); ds != nil {
		t.Error(ds)
	}
	if _, ds := Format("p", []byte("HALT #"+strings.Repeat("x", MaxLineBytes-6))); !diag.HasErrors(ds) {
		t.Error("a canonical form over the limit came out")
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"testdata/errors.txt", "testdata/canonical.udc"} {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
		for line := range strings.Lines(string(data)) {
			f.Add(line)
		}
	}
	f.Fuzz(func(t *testing.T, src string) {
		prog, ds := Parse("p", []byte(src))
		if (prog == nil) != (len(ds) > 0) {
			t.Fatal("a program and errors, or neither")
		}
		for _, d := range ds {
			if d.Line < 0 || d.Line > strings.Count(src, "\n")+1 || d.Line > 0 && d.Col < 1 {
				t.Fatalf("%+v has no place", d)
			}
		}
		if prog == nil {
			return
		}
		text := Print(prog)
		again, ds := Parse("p", text)
		if ds != nil {
			if ds[0].Rule == RuleSize {
				return
			}
			t.Fatalf("%q prints as %q: %v", src, text, ds)
		}
		if !same(prog, again) {
			t.Fatalf("%q is not %q", src, text)
		}
		if twice := Print(again); string(twice) != string(text) {
			t.Fatalf("%q is printed as %q, then as %q", src, text, twice)
		}
	})
}

// same compares all but places.
func same(a, b *Program) bool {
	text := func(p *Program) string {
		var s strings.Builder
		for _, in := range p.Instructions {
			in.Line, in.Col = 0, 0
			c := in.Call
			in.Call = nil
			fmt.Fprintf(&s, "%+v", in)
			if c != nil {
				fmt.Fprintf(&s, " %+v", *c)
			}
			s.WriteByte('\n')
		}
		for _, l := range p.Labels {
			fmt.Fprintf(&s, "%s %d\n", l.Name, l.Target)
		}
		return s.String()
	}
	return text(a) == text(b)
}
