package proof

import (
	"context"
	"strings"
	"testing"

	"git-ward/vm/asm"
	"git-ward/vm/halting/code"
)

func program(t *testing.T, text string) code.Program {
	t.Helper()
	p, found := asm.Parse("p", []byte(text))
	if len(found) > 0 {
		t.Fatal(found)
	}
	return code.Lower(p, code.Environment{})
}

// The plans of these tests.
const (
	halts  = "INC R0\nINC R0\nHALT"
	fails  = "MOV R0 9223372036854775807\nINC R0\nHALT"
	spins  = "LABEL a\nWRITE 1\nWRITE 0\nJMP a"
	walks  = "LABEL a\nRIGHT\nJMP a"
	counts = "LABEL a\nINC R0\nJMP a"
)

// everything is a node's facts about registers that say nothing.
var everything = [code.Registers]Residue{{1, 0}, {1, 0}, {1, 0}, {1, 0}}

// Each certificate proves its claim, and not with one number changed.
func TestCheck(t *testing.T) {
	for _, test := range []struct {
		name, text string
		proof      Proof
		want       string // what the checker says, "" for nothing
	}{
		{"it halts", halts, Proof{Claim: Halts, Run: &Run{Steps: 3}}, ""},
		{"it halts later", halts, Proof{Claim: Halts, Run: &Run{Steps: 2}}, "still runs after 2 steps"},
		{"it halts earlier", halts, Proof{Claim: Halts, Run: &Run{Steps: 4}}, "does not go on"},
		{"no steps", halts, Proof{Claim: Halts, Run: &Run{Steps: -1}}, "not within"},
		{"it halts otherwise", halts, Proof{Claim: Halts, Run: &Run{Steps: 3, Code: code.Overflow}}, `ends with ""`},
		{"an error ends it", fails, Proof{Claim: Halts, Run: &Run{Steps: 2, Code: code.Overflow}}, ""},
		{"a run proves no loop", halts, Proof{Claim: Never, Run: &Run{Steps: 3}}, "does not prove the claim"},
		{"it spins", spins, Proof{Claim: Never, Cycle: &Cycle{At: 3, Period: 3}}, ""},
		{"a shorter period", spins, Proof{Claim: Never, Cycle: &Cycle{At: 3, Period: 2}}, "differ"},
		{"a period of nothing", spins, Proof{Claim: Never, Cycle: &Cycle{At: 3}}, "a period of 0"},
		{"a shift that is not", spins, Proof{Claim: Never, Cycle: &Cycle{At: 3, Period: 3, Shift: 1}}, "moved by 0"},
		{"it walks away", walks, Proof{Claim: Never, Cycle: &Cycle{Period: 2, Shift: 1}}, ""},
		{"it ends in the period", halts, Proof{Claim: Never, Cycle: &Cycle{Period: 3}}, "ends within"},
		{"a counter is no cycle", counts, Proof{Claim: Never, Cycle: &Cycle{Period: 2}}, "differ"},
		{"no certificate", halts, Proof{Claim: Halts}, "has 0"},
		{"two certificates", halts, Proof{Claim: Halts, Run: &Run{Steps: 3}, Cycle: &Cycle{Period: 1}}, "has 2"},
		{"an empty invariant", counts, Proof{Claim: Overflow, Invariant: &Invariant{}}, " "},
		{"an empty language", walks, Proof{Claim: Never, Language: &Language{}}, " "},
	} {
		flat := program(t, test.text)
		test.proof.Program = Fingerprint(flat)
		err := Check(t.Context(), flat, &test.proof, Default)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

// An invariant of two nodes: a counter that only overflow ends.
func TestInvariant(t *testing.T) {
	flat := program(t, counts)
	nodes := func() []Node {
		return []Node{
			{IP: 0, Flags: Unset, Mod: everything, Next: []int{1}},
			{IP: 1, Flags: Unset, Mod: everything, Next: []int{0}},
		}
	}
	check := func(claim Claim, change func(*Invariant)) error {
		inv := &Invariant{Nodes: nodes(), Cell: Range{Mod: Residue{0, 0}}}
		change(inv)
		return Check(t.Context(), flat, &Proof{Claim: claim, Program: Fingerprint(flat), Invariant: inv}, Default)
	}
	if err := check(Overflow, func(*Invariant) {}); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"it never ends":         check(Never, func(*Invariant) {}),
		"it halts":              check(Halts, func(*Invariant) {}),
		"a node is missing":     check(Overflow, func(i *Invariant) { i.Nodes = i.Nodes[:1] }),
		"an edge leads nowhere": check(Overflow, func(i *Invariant) { i.Nodes[1].Next = []int{7} }),
		"a fact is false":       check(Overflow, func(i *Invariant) { i.Nodes[0].Mod[0] = Residue{0, 0} }),
	} {
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestCheckRefusesWhatIsNoProgram(t *testing.T) {
	good := program(t, halts)
	pr := &Proof{Claim: Halts, Program: Fingerprint(good), Run: &Run{Steps: 3}}
	away := append(code.Program{}, good...)
	away[0].To = 99
	for name, err := range map[string]error{
		"nothing":         Check(t.Context(), nil, pr, Default),
		"no stop":         Check(t.Context(), good[:2], pr, Default),
		"a jump away":     Check(t.Context(), away, pr, Default),
		"another program": Check(t.Context(), program(t, fails), pr, Default),
		"no proof":        Check(t.Context(), good, nil, Default),
	} {
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	spin := program(t, spins)
	if err := Check(ctx, spin, &Proof{Claim: Never, Program: Fingerprint(spin), Cycle: &Cycle{At: 3_000_000, Period: 3}}, Default); err == nil {
		t.Error("a check that was broken off accepts")
	}
}

// A fingerprint tells programs apart that differ in one field.
func TestFingerprint(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{halts, fails, spins, walks, counts, "INC R1\nINC R0\nHALT", "DEC R0\nINC R0\nHALT", "ADD R0 2\nINC R0\nHALT", "ADD R0 R1\nINC R0\nHALT"} {
		f := Fingerprint(program(t, text))
		if other, twice := seen[f]; twice {
			t.Errorf("%q and %q", text, other)
		}
		seen[f] = text
	}
}
