package orient

import (
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"git-ward/protocols/knowledge"
	"git-ward/protocols/loop"
)

// verdictOf is a verdict whose criterion failed with an output.
func verdictOf(t *testing.T, iteration int, tail string) string {
	t.Helper()
	v := loop.Verdict{SchemaVersion: loop.SchemaVersion, Unit: "D-1.1", Iteration: iteration, Verdict: loop.None, Lane: loop.LaneC,
		Criteria: []loop.Outcome{{Criterion: "it is quick (`go test`)", Command: "go test", Met: true}, {Criterion: "it opens", Command: "sh open.sh", ExitCode: 1, Met: true, Tail: "begun\n" + tail + "\n"}}}
	line, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(line) + "\n"
}

// TestUnknowns: what the directive and the newest verdict do not know is searched for here,
// and then by the search where there is one; the text names each place.
func TestUnknowns(t *testing.T) {
	tree := clone(t, map[string]string{knowledge.MetaPath: meta, "door.go": "package door\n\n// openBolt opens.\nfunc openBolt() {}\n", "README.md": "The hinge squeaks when oil is missing.\n"})
	recordOf(t, tree, "D-1.1", map[string]string{
		"LEARNINGS.md": "the bolt is rusty\n", "evidence/D-1/loop/iter_1/verdict.json": verdictOf(t, 1, "old trouble"),
		"evidence/D-1/loop/iter_2/verdict.json": verdictOf(t, 2, "undefined: openBolt"), "evidence/D-1/loop/iter_10/note": "no verdict yet"})
	bare, err := tree.Git(t.Context(), "remote", "get-url", "origin")
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	search := func(_ context.Context, query string) (string, error) {
		asked = append(asked, query)
		return "oil it \x1b[2J", nil
	}
	o := Options{Tree: tree, Getenv: getenv, Task: "D-1", Unit: "D-1.2", Bare: bare, About: "Let openBolt be quiet", Unknowns: []Question{{"the directive", "why does the hinge squeak?"}, {"", "zebras"}}}
	for _, o.Search = range []func(context.Context, string) (string, error){nil, search} {
		r, err := Run(t.Context(), o)
		if err != nil || r.Failed() {
			t.Fatal(r, err)
		}
		text := r.Text()
		wants := []string{
			"  what is here about the task:\n    symbols door.go:4: func openBolt\n",
			"  unknown (of the directive): why does the hinge squeak?\n    documents README.md:1: The hinge squeaks",
			"  unknown (of the verdict on iteration 2 of D-1.1): it opens", "undefined: openBolt", "lessons D-1.1 LEARNINGS.md: the bolt is rusty",
		}
		if o.Search == nil {
			wants = append(wants, "  unknown: zebras\n    nothing here says anything about it, and no search was asked")
		} else {
			wants = append(wants, "    the search says:\n    | oil it ")
		}
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in:\n%s", want, text)
			}
		}
		for _, not := range []string{"old trouble", "it is quick", "\x1b"} {
			if strings.Contains(text, not) {
				t.Errorf("it says %q:\n%s", not, text)
			}
		}
	}
	if len(asked) != 3 || asked[1] != "zebras" {
		t.Errorf("%q", asked)
	}
}
