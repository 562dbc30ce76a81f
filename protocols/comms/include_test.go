package comms

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const blob = "0123456789abcdef0123456789abcdef01234567"

// TestInclude: a word on a claim stands in the directive, is no other text of it, and takes
// the place of an earlier word on the same path.
func TestInclude(t *testing.T) {
	for name, body := range map[string]string{
		"options": "\nGoal.\n\n- [ ] a (`a`)\n- rung: 641\n", "no blank line": "- [ ] a (`a`)\n", "blanks at the end": "\n- [ ] a (`a`)\n\nGoal.  \n\n\n",
	} {
		data := []byte("# COMMS\n\n## Directives\n\n### D-1: t\n" + body + "\n### D-2: u\n\n- [ ] b (`b`)\n\n## Reports\n")
		before := parseClean(t, string(data))
		amended, err := Amend(data, Inclusion{Directive: "D-1", Paths: []Included{{"go.sum", "100644", blob}, {"gone", "000000", strings.Repeat("0", 40)}}}, Whole)
		if err != nil || len(amended.Found) > 0 {
			t.Fatal(name, amended.Found, err)
		}
		after := parseClean(t, string(amended.Data))
		d := after.Directives[0]
		if d.Hash() != before.Directives[0].Hash() || after.Directives[1].Hash() != before.Directives[1].Hash() || d.Goal != before.Directives[0].Goal || len(d.Options.Included) != 2 {
			t.Errorf("%s: %+v\n%q", name, d, amended.Data)
		}
		amended, err = Amend(amended.Data, Inclusion{Directive: "D-1", Paths: []Included{{"go.sum", "100755", blob}}}, Whole)
		if err != nil {
			t.Fatal(name, err)
		}
		d = parseClean(t, string(amended.Data)).Directives[0]
		if got := d.Options.Included; len(got) != 2 || got[1] != (Included{"go.sum", "100755", blob}) || d.Hash() != before.Directives[0].Hash() {
			t.Errorf("%s: %+v", name, got)
		}
		guards := Inclusion{Directive: "D-1", Guards: true}
		if guards.Said(&d) {
			t.Errorf("%s: guards are enough, and nobody said so", name)
		}
		amended, err = Amend(amended.Data, guards, Whole)
		if err != nil {
			t.Fatal(name, err)
		}
		d = parseClean(t, string(amended.Data)).Directives[0]
		if !guards.Said(&d) || d.Options.Guards != "enough" || len(d.Options.Included) != 2 || d.Hash() != before.Directives[0].Hash() {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if _, err := Amend([]byte(Empty), Inclusion{Directive: "D-1", Paths: nil}, Whole); err == nil {
		t.Error("a directive that is not there includes something")
	}
}

// TestIncludedPaths: each path that git can hold is written so that it is read again.
func TestIncludedPaths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		path := string(rapid.SliceOfN(rapid.ByteRange(1, 255), 1, 40).Draw(t, "path"))
		data := []byte("# COMMS\n\n## Directives\n\n### D-1: t\n\nGoal.\n\n- [ ] a (`a`)\n\n## Reports\n")
		amended, err := Amend(data, Inclusion{Directive: "D-1", Paths: []Included{{path, "100644", blob}}}, Whole)
		if err != nil || len(amended.Found) > 0 {
			t.Fatal(amended.Found, err)
		}
		doc, found := Parse(amended.Data)
		if len(found) > 0 || len(doc.Directives[0].Options.Included) != 1 || doc.Directives[0].Options.Included[0].Path != path {
			t.Fatalf("%q: %v %+v", path, found, doc.Directives)
		}
	})
}

// TestBadIncludes: what is no mode, blob and path is a finding.
func TestBadIncludes(t *testing.T) {
	for _, value := range []string{"go.sum", "100644 " + blob, "100644 abc go.sum", "644 " + blob + " go.sum", "100644 " + strings.ToUpper(blob) + " x", "100644 " + blob + ` "x`} {
		if _, found := Parse([]byte("# COMMS\n\n## Directives\n\n### D-1: t\n\n- [ ] a (`a`)\n- include: " + value + "\n\n## Reports\n")); len(found) != 1 {
			t.Errorf("%s: %v", value, found)
		}
	}
}
