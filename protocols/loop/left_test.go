package loop

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"git-ward/protocols/comms"
)

// TestWith: two runs come to one word, and never to more than the weaker.
func TestWith(t *testing.T) {
	d, _ := comms.Parse([]byte("# COMMS\n## Directives\n### D-1: t\n- [ ] a (`a`)\n- residual: `r`\n- R_p: 1\n- certificates: EXACT, CONVERGED\n## Reports\n"))
	p, _, missing := Declare("D-1.1", d.Directives[0], Base{Rp: "1", MaxIterations: 3})
	if len(missing) > 0 {
		t.Fatal(missing)
	}
	judged := func(verdict string) Verdict {
		residual, _ := ParseResidual(map[string]string{Exact: "0", Converged: "0.5", None: "2"}[verdict])
		met := verdict == Exact
		exit := 1
		if met {
			exit = 0
		}
		trial := Trial{Criteria: []Outcome{{Criterion: p.Commands[0].Text, Command: "a", Met: met, ExitCode: exit}}, Residual: &Outcome{Command: "r", Met: true}, Value: residual}
		v := Judge(p, []Trial{trial, trial})
		if v.Verdict != verdict {
			t.Fatalf("%+v", v)
		}
		return v
	}
	strength := map[string]int{None: 0, Converged: 1, Exact: 2}
	for _, without := range []string{Exact, Converged, None} {
		for _, with := range []string{Exact, Converged, None} {
			decides := judged(without)
			decides.Left = []Left{{Path: "a b_test.go", Kind: "added"}}
			v := decides.With(judged(with))
			if want := min(strength[without], strength[with]); strength[v.Verdict] != want || v.Lane != laneOf(v.Verdict) || !v.Sound() || v.Trials != 2 {
				t.Errorf("%s without and %s with: %+v", without, with, v)
			}
			if asks := without == None && with != None; v.NotIncluded != asks || asks && !strings.Contains(v.Reason, "a b_test.go (added)") || len(v.Left) != 1 {
				t.Errorf("%s without and %s with: %+v", without, with, v)
			}
			if v.Verdict == None && v.Rung != 0 || v.Verdict == None && v.Reason == "" {
				t.Errorf("%+v", v)
			}
		}
	}
	// Where both fail, each says why.
	first, second := judged(None), judged(None)
	first.Left, first.Criteria[0].Tail, second.Criteria[0].Tail, second.Reason = []Left{{Path: "go.mod", Kind: "changed"}}, "no such module\n", "not two\n", "criterion 2 is not met"
	if v := first.With(second); !strings.HasPrefix(v.Reason, "not met: a (`a`); with") || !strings.HasSuffix(v.Reason, "too (go.mod (changed)): criterion 2 is not met") || v.Criteria[0].Tail != "no such module\nwith all of the claim:\nnot two" || v.NotIncluded {
		t.Errorf("%+v", v)
	}
	first.Criteria[0].Tail, second.Criteria[0].Tail = strings.Repeat("é", maxTail), strings.Repeat("x", maxTail)
	if tail := first.With(second).Criteria[0].Tail; len(tail) > maxTail || !strings.HasSuffix(tail, "x") {
		t.Errorf("%d bytes: %q", len(tail), tail)
	}
	// Runs that do not agree are no question for the PM.
	torn := Judge(p, []Trial{{}, {Residual: &Outcome{Command: "r", Met: true}}})
	torn.Agree, torn.Verdict = false, None
	torn.Left = []Left{{Path: "a"}}
	if v := torn.With(judged(Exact)); v.NotIncluded || v.Verdict != None {
		t.Errorf("%+v", v)
	}
}

// TestVerdictFits: whatever a claim has, and however much its commands print, the
// note can be read again.
func TestVerdictFits(t *testing.T) {
	v := Judge(Declaration{}, nil)
	for i := range 5000 {
		v.Left = append(v.Left, Left{fmt.Sprintf("%s/%d_test.go", strings.Repeat("é", 500), i), "added", "100644", strings.Repeat("a", 40)})
		v.Deviations = append(v.Deviations, "x (deleted)")
	}
	v.Checkers = v.Left
	for i := range 300 {
		v.Criteria = append(v.Criteria, Outcome{Criterion: fmt.Sprint(i), Tail: strings.Repeat("\x01", 2000)})
	}
	line, err := v.Line()
	if err != nil {
		t.Fatal(err)
	}
	list, err := ParseVerdicts(append(line, '\n'))
	if err != nil || len(list) != 1 {
		t.Fatal(err, len(line))
	}
	if got := list[0]; len(got.Left) != 100 || got.LeftMore != 4900 || len(got.Deviations) != 101 || len(got.Criteria) != 300 || got.Criteria[7].Criterion != "7" {
		t.Errorf("%d left out, %d deviations, %d criteria", len(got.Left), len(got.Deviations), len(got.Criteria))
	} else if d := got.Against(); len(got.Checkers) != 100 || got.CheckersMore != 4900 || len(d) == 0 || !slices.Contains(d[0].Of, "4900 more than are listed") {
		t.Errorf("%d checkers, %d more, %d doubts", len(got.Checkers), got.CheckersMore, len(d))
	}
}

// TestOldVerdicts: a note from before anything was left out is read, and written, as it was.
func TestOldVerdicts(t *testing.T) {
	old := []byte(`{"R_p":"1e-10","agree":true,"caveat":"c","claim":"","commit":"cccccccccccccccccccccccccccccccccccccccc",` +
		`"criteria":[],"deviations":["a_test.go (changed)"],"directive_hash":"","fence":"podman","image":"i","iteration":1,` +
		`"lane":"C","reason":"r","residual":null,"residual_run":null,"rung":0,"schema_version":"1.0","suite":null,` +
		`"time":"","trials":2,"unit":"D-1.1","validate":null,"verdict":"NONE"}`)
	list, err := ParseVerdicts(old)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if line, err := list[0].Line(); err != nil || !bytes.Equal(line, old) {
		t.Errorf("%s\n%s\n%v", line, old, err)
	}
}

// TestLineOfWhatWasRead: a verdict that was read has the line that was signed, however much of
// it was left out.
func TestLineOfWhatWasRead(t *testing.T) {
	for _, n := range []int{1, 100, 101, 102, 4000} {
		for _, size := range []int{1, 300, 301, 303, 304, 3000} {
			var list []string
			var left []Left
			for i := range n {
				list = append(list, fmt.Sprint(i)+strings.Repeat("é", size/2))
				left = append(left, Left{Path: fmt.Sprint(i), Kind: "added", Mode: "100644", Blob: strings.Repeat("a", 40)})
			}
			v := Verdict{SchemaVersion: SchemaVersion, Verdict: None, Included: list, Deviations: list, Observed: Observed{Opened: list, NeverOpened: list, Rewritten: list, Lost: list, Replaced: list, Whatever: list}, Left: left, Mutants: &Mutants{Survived: list}}
			line, err := v.Line()
			if err != nil {
				t.Fatal(err)
			}
			read, err := ParseVerdicts(line)
			if err != nil || len(read) != 1 {
				t.Fatal(len(read), err)
			}
			if again, err := read[0].Line(); err != nil || !bytes.Equal(again, line) {
				t.Errorf("%d of %d bytes: the line of what was read is another, %v", n, size, err)
			}
		}
	}
}

// TestInProcess: a verdict says separate if each criterion and the residual say it.
func TestInProcess(t *testing.T) {
	separate := Outcome{Process: SeparateProcess}
	for _, c := range []struct {
		v    Verdict
		want string
	}{
		{Verdict{Criteria: []Outcome{separate, separate}, ResidualRun: &separate}, SeparateProcess},
		{Verdict{Criteria: []Outcome{separate}}, SeparateProcess},
		{Verdict{Criteria: []Outcome{separate, {}}}, SameProcess},
		{Verdict{Criteria: []Outcome{separate}, ResidualRun: &Outcome{}}, SameProcess},
	} {
		if got := c.v.InProcess().Process; got != c.want {
			t.Errorf("%+v: %s", c.v, got)
		}
	}
}
