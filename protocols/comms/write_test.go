package comms

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/diag"
)

const written = `# COMMS

Words.

## Directives

### D-1: one

The goal.

- [ ] it is (` + "`true`" + `)


### D-4: four

- [ ] it is (` + "`true`" + `)

## Reports

### R-1 2026-11-21T09:00:00Z D-6 INFO

x
`

func TestParseDraft(t *testing.T) {
	for text, want := range map[string]Draft{
		"a title": {0, "a title", ""},
		"\n\n  a title  \n\n\nthe goal\n\n- [ ] x\n\n\n": {0, "a title", "the goal\n\n- [ ] x"},
		"### D-7: seven\nbody":                           {7, "seven", "body"},
		"\ufeffa\r\n\r\nb\r\n":                           {0, "a", "b"},
		"a\n" + Scissors + "\nhelp":                      {0, "a", ""},
		"# one sharp":                                    {0, "# one sharp", ""},
	} {
		if d, err := ParseDraft(text); d != want || err != nil {
			t.Errorf("%q: %+v %v", text, d, err)
		}
	}
	for _, text := range []string{"", " \n\t\n", Scissors + "\nhelp", "\n" + Scissors} {
		if _, err := ParseDraft(text); !errors.Is(err, ErrNoText) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"### D-0: x", "### D-1 x", "### D-1: ", "## Reports", "### R-1: x"} {
		if d, err := ParseDraft(text); err == nil {
			t.Errorf("%q: %+v", text, d)
		}
	}
}

// A directive is added behind the others and edited in its place; no other byte moves,
// and no id comes twice.
func TestWriteDirectives(t *testing.T) {
	var retired Set
	for _, id := range []int{2, 5} {
		if err := retired.Add(id); err != nil {
			t.Fatal(err)
		}
	}
	const good = "new\n\nIts goal.\n\n- [ ] it is (`true`)\n"
	for text, want := range map[string]struct {
		id   int
		rule string // of the first error
		line int
	}{
		good:                          {7, "", 0}, // 5 is retired, 6 is in a report
		"### D-9: nine\n" + good:      {9, "", 0},
		"### D-4: again\n" + good:     {4, ruleDuplicateID, 1},
		"### D-2: again\n" + good:     {2, ruleReusedID, 1},
		"### D-6: again\n" + good:     {6, ruleReusedID, 1},
		"new\n\n- max_iteration: 3\n": {7, ruleKey, 3},
		"new\n\nx\n\n## Reports\n":    {7, ruleStructure, 5},
		"new\n\n### D-8: one more\n":  {7, ruleStructure, 3},
		"new\n\nx\x1b[2J\n":           {7, ruleControl, 3},
	} {
		draft, err := ParseDraft(text)
		if err != nil {
			t.Fatal(err)
		}
		out, id, found, err := addDirective([]byte(written), draft, retired)
		if err != nil || id != want.id {
			t.Errorf("%q: D-%d %v", text, id, err)
		}
		found = slices.DeleteFunc(found, func(d diag.Diagnostic) bool { return !d.IsError() })
		if want.rule != "" {
			if out != nil || len(found) == 0 || found[0].Rule != want.rule || found[0].Pos.Line != want.line {
				t.Errorf("%q: %v", text, found)
			}
			continue
		}
		before, after, _ := strings.Cut(written, "## Reports")
		if got := string(out); diag.HasErrors(found) || got != before+strings.TrimRight(Draft{id, draft.Title, draft.Body}.Text(), "\n")+"\n\n## Reports"+after {
			t.Errorf("%q: %v\n%s", text, found, got)
		}
		if found = CheckUpdate([]byte(written), out, retired); len(found) > 0 {
			t.Errorf("%q: %v", text, found)
		}
	}
	doc, _ := Parse([]byte(written))
	draft := doc.Directive("D-1").Draft()
	if again, err := ParseDraft(draft.Text()); again != draft || err != nil {
		t.Errorf("a draft is read as %+v %v", again, err)
	}
	draft.Body += "\n- [ ] more (`false`)"
	out, found, err := editDirective([]byte(written), draft)
	if want := strings.Replace(written, "(`true`)\n\n\n", "(`true`)\n- [ ] more (`false`)\n\n\n", 1); err != nil || diag.HasErrors(found) || string(out) != want {
		t.Errorf("%v %v\n%s", err, found, out)
	}
	if _, _, err := editDirective([]byte(written), Draft{ID: 3, Title: "x"}); err == nil {
		t.Error("edited what is not there")
	}
	if _, _, _, err := addDirective([]byte("# COMMS\n"), draft, retired); !errors.Is(err, ErrUnsound) {
		t.Errorf("a broken document: %v", err)
	}
}

// A directive that the PM dropped is closed, and open again when it is edited.
func TestDropped(t *testing.T) {
	doc, _ := Parse([]byte(written))
	d := *doc.Directive("D-1")
	out, _, err := appendReport([]byte(written), NewReport{Time: noon, Directive: "D-1", Status: Done, Text: "Not needed.", DirectiveHash: d.Hash(), Dropped: "-"})
	if err != nil {
		t.Fatal(err)
	}
	doc, found := Parse(out)
	if !doc.Dropped(*doc.Directive("D-1")) || doc.State(*doc.Directive("D-1")) != Closed || doc.Dropped(*doc.Directive("D-4")) || diag.HasErrors(found) {
		t.Errorf("%v\n%s", found, out)
	}
	edited, _, err := editDirective(out, Draft{1, "one", "another goal"})
	if doc, _ = Parse(edited); err != nil || doc.Dropped(*doc.Directive("D-1")) || doc.State(*doc.Directive("D-1")) != Open {
		t.Errorf("edited: %v", err)
	}
	out, _, _ = appendReport([]byte(written), NewReport{Time: noon, Directive: "D-1", Status: ExitDiverged, Text: "Dropped: -", DirectiveHash: d.Hash()})
	if doc, _ = Parse(out); doc.Dropped(*doc.Directive("D-1")) {
		t.Error("words of a report that is no DONE drop it")
	}
}
