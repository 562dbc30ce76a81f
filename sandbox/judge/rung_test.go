package judge

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"git-ward/internal/held"
	"git-ward/internal/tier"
	"git-ward/protocols/loop"
)

// TestRung65537: the host makes all that rung 65537 needs besides the loop's own files, and
// whatever lacks is named: the push at the gate, the goal in other words, what others can use of
// the work, what else changed (003, section 11).
func TestRung65537(t *testing.T) {
	tier.Full(t, "three claims of the strictest rung")
	t.Parallel()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("SKIPPED: there is no go here")
	}
	book := held.New([]held.Criterion{{Text: "it compares", Command: "grep -q 'return a' p.go"}}, nil)
	hash, err := book.Write(t.TempDir(), "D-1")
	if err != nil {
		t.Fatal(err)
	}
	c := newCourt(t, fmt.Sprintf("### D-1: less\n\n- [ ] it is there (`grep -q 'a < b' p.go`)\n- [ ] the old one stays (`grep -q 'func Old' p.go`)\n- work: p.go\n- rung: 65537\n- held: 1 %s\n", hash))
	if _, err := book.Write(c.bare, "D-1"); err != nil {
		t.Fatal(err)
	}
	const old = "package p\n\nfunc Old() {}\n"
	c.write("go.mod", "module example.org/p\n\ngo 1.21\n")
	c.write("p.go", old+"\nfunc Other() {}\n")
	c.pushMain()
	form := jsonschema.NewCompiler().MustCompile("../../protocols/loop/schema/verdict.json")
	for _, step := range []struct {
		work     string
		admitted bool
		rung     int
		missing  []string
	}{
		{old, true, loop.Rung274177, []string{"an interface that lost nothing (1 declaration went)"}},
		{old + "\nfunc Other() {}\n", false, loop.Rung274177, []string{"the gate's record of the push of the work"}},
		{old + "\nfunc Other() {} // stays\n", true, loop.Rung65537, nil},
	} {
		c.write("p.go", step.work+"\nfunc Less(a, b int) bool { return a < b }\n")
		commit := c.claim()
		if step.admitted {
			c.host("notes", "--ref=refs/notes/audit", "add", "-m", `{"id":1}`, commit)
		}
		v := c.verdicts(commit)[0]
		declared, limits, _ := loop.Declare("D-1.1", c.directive, loop.Base(c.Settings.Loop))
		cert := loop.Certify(loop.Findings{Declaration: declared, Limits: limits, Verdict: &v})
		rung, missing := loop.Rung(loop.RungEvidence{Complete: true, Verdict: &v, History: cert.History, Certificate: cert})
		if v.Verdict != loop.Exact || v.Rung != step.rung || rung != step.rung || !slices.Equal(missing, step.missing) {
			t.Errorf("%q: %s %d, %d: %q\n%+v", step.work, v.Verdict, v.Rung, rung, missing, v)
		}
		if step.admitted && c.host("rev-parse", v.Gate+"^{commit}") != c.host("rev-parse", "refs/notes/audit") {
			t.Error(v.Gate)
		}
		line, err := v.Line()
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
		if err == nil {
			err = form.Validate(value)
		}
		if err != nil {
			t.Error(err)
		}
	}
}
