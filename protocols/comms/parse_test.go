package comms

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ward/internal/diag"
)

func readFile(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// parseClean parses a document that must have no errors.
func parseClean(t *testing.T, src string) *Document {
	t.Helper()
	doc, ds := Parse([]byte(src))
	if diag.HasErrors(ds) {
		t.Fatalf("findings in a sound document: %v\n%s", ds, src)
	}
	return doc
}

// directive parses one directive with the given body.
func directive(t *testing.T, body string) Directive {
	t.Helper()
	return parseClean(t, "# COMMS\n## Directives\n### D-1: t\n"+body+"\n## Reports\n").Directives[0]
}

func TestSpecExample(t *testing.T) {
	src := readFile(t, "testdata/spec.md")
	doc, ds := Parse([]byte(src))
	if len(ds) != 0 {
		t.Fatalf("findings: %v", ds)
	}
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	start, end := strings.Index(src, "### D-1"), strings.Index(src, "## Reports")
	want := []Directive{{
		ID: 1, Title: "add a rate limiter", Goal: "Any paragraphs: the goal, in full.",
		Criteria: []Criterion{
			{"all tests pass (`go test ./...`)", "go test ./...", 5},
			{"the README names the limit", "", 6},
		},
		Options: Options{
			Residual: "scripts/failing-fraction", Certificates: []Certificate{Exact, Converged},
			Rp: "1e-3", MaxIterations: 10, Profile: "strict", Rung: 274177, Frozen: []string{"scripts/**"},
		},
		Line: 3, Raw: src[start:end],
	}}
	if !reflect.DeepEqual(doc.Directives, want) {
		t.Errorf("directives:\n got %+v\nwant %+v", doc.Directives, want)
	}
	if want := []Report{{1, at, "D-1", ExitConverged, "Any text.", 15, "### R-1 2026-11-21T09:00:00Z D-1 EXIT_CONVERGED\nAny text.\n"}}; !reflect.DeepEqual(doc.Reports, want) {
		t.Errorf("reports: got %+v, want %+v", doc.Reports, want)
	}
	if want := []Question{{1, at, "D-1", "", 18, "### Q-1 2026-11-21T09:00:00Z D-1\n"}}; !reflect.DeepEqual(doc.Questions, want) {
		t.Errorf("questions: got %+v, want %+v", doc.Questions, want)
	}
}

// matches compares findings with lines `line:col rule: part | another part`.
func matches(t *testing.T, ds []diag.Diagnostic, want []string) {
	t.Helper()
	for i := range max(len(ds), len(want)) {
		var got, exp string
		if i < len(ds) {
			got = fmt.Sprintf("%d:%d %s: %s; hint: %s", ds[i].Line, ds[i].Col, ds[i].Rule, ds[i].Message, ds[i].Hint)
		}
		if i < len(want) {
			exp = want[i]
		}
		place, parts, _ := strings.Cut(exp, ": ")
		ok := exp != "" && strings.HasPrefix(got, place+": ")
		for part := range strings.SplitSeq(parts, " | ") {
			ok = ok && strings.Contains(got, part)
		}
		if !ok {
			t.Errorf("finding %d:\n got %s\nwant %s", i, got, exp)
		}
	}
}

func TestFindings(t *testing.T) {
	_, cases, _ := strings.Cut(readFile(t, "testdata/findings.txt"), "\n==== ")
	for c := range strings.SplitSeq(cases, "\n==== ") {
		name, rest, _ := strings.Cut(c, "\n")
		t.Run(name, func(t *testing.T) {
			src, want, ok := strings.Cut("\n"+rest, "\n---- want")
			if !ok {
				t.Fatal("no ---- want")
			}
			if src != "" {
				src = src[1:] + "\n"
			}
			_, ds := Parse([]byte(src))
			matches(t, ds, strings.FieldsFunc(want, func(r rune) bool { return r == '\n' }))
		})
	}
}

func TestCharacters(t *testing.T) {
	const end = "\n## Directives\n## Reports\n"
	for _, c := range []struct{ src, want string }{
		{"# COMMS\nünï می\u200cخواهم क्\u200dष \t 漢字 👩\u200d🚀" + end, ""},
		{"# COMMS\nab\u200cc" + end, "2:3 comms/control: U+200C"},
		{"# COMMS\nab\u3164c" + end, "2:3 comms/control: U+3164"},
		{"# COMMS\na\x1b[31m \x00" + end, "2:2 comms/control: U+001B"},
		{"# COMMS\nab\u202ec \u2066" + end, "2:3 comms/control: U+202E"},
		{"# COMMS\n\U000e0041" + end, "2:1 comms/control: U+E0041"},
		{"# COMMS\nx\u2028y" + end, "2:2 comms/control: U+2028"},
		{"# COMMS\nx\u0085y" + end, "2:2 comms/control: U+0085"},
		{"\ufeff# COMMS" + end, "1:1 comms/control: U+FEFF"},
		{"# COMMS\nx\ry" + end, "2:2 comms/control: U+000D"},
		{"# COMMS\nab\xff\xfe" + end, "2:3 comms/utf8: byte 0xff"},
		{"# COMMS\n\u00a0\ufffd" + end, ""},
		{strings.ReplaceAll("# COMMS"+end, "\n", "\r\n"), "1:8 comms/crlf: CRLF | renormalize"},
	} {
		_, ds := Parse([]byte(c.src))
		var want []string
		if c.want != "" {
			want = []string{c.want}
		}
		matches(t, ds, want)
	}
}

func TestCriterionCommands(t *testing.T) {
	for text, want := range map[string]string{
		"all tests pass (`go test ./...`)":          "go test ./...",
		"all tests pass: `go test ./...`":           "go test ./...",
		"all tests pass (`go test ./...`).":         "go test ./...",
		"all pass `make`.":                          "make",
		"`make`":                                    "make",
		"of `a` and `b`":                            "b",
		"`a` is fine":                               "",
		"no command":                                "",
		"one backtick`":                             "",
		"half (`open`":                              "open",
		"half `closed`)":                            "",
		"spaces ( `x` )":                            "",
		"wrapped over\n  two lines\n\tand (`more`)": "more",
		"then a list\n  - with `code`":              "",
		"then prose\nwith `code`":                   "",
	} {
		if got := directive(t, "- [ ] "+text).Criteria[0].Command; got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	d := directive(t, "- [x] one\n  two\n  - three\nfour\n\n- [X] five\n\n   six")
	if d.Criteria[0].Text != "one two" || d.Criteria[1].Text != "five" || d.Goal != "  - three\nfour\n\n\n   six" {
		t.Errorf("got %+v", d)
	}
}

func TestApplicable(t *testing.T) {
	for body, want := range map[string][]Certificate{
		"- [ ] a (`b`)":                      {Exact},
		"- [ ] a":                            nil,
		"":                                   nil,
		"- [ ] a\n- certificates: CONVERGED": {Converged},
		"- [ ] a\n- certificates: EXACT, DIVERGED": {Exact, Diverged},
	} {
		if got := directive(t, body).Applicable(); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %v, want %v", body, got, want)
		}
	}
}

func TestDecimals(t *testing.T) {
	for s, want := range map[string]bool{
		"1": true, "0.5": true, "1e-10": true, "1E+3": true, "10.25e-3": true, "1e-999": true,
		"0": false, "0.0e5": false, "-1": false, "+1": false, ".5": false, "5.": false, "01": false,
		"1e": false, "1e-+3": false, "1e-1000": false, "1,5": false, "NaN": false, "0x1": false, "1 ": false,
		"1" + strings.Repeat("0", 63): true, "1" + strings.Repeat("0", 64): false,
	} {
		if got := positiveDecimal(s); got != want {
			t.Errorf("%q: got %v", s, got)
		}
	}
}

func TestReportSize(t *testing.T) {
	head := "### R-1 2026-11-21T09:00:00Z - INFO\n"
	doc := func(n int) []byte {
		return []byte("# COMMS\n## Directives\n## Reports\n" + head + strings.Repeat("x", n-len(head)-1) + "\n\n\n")
	}
	if _, ds := Parse(doc(MaxReportBytes)); len(ds) != 0 {
		t.Errorf("a full report: %v", ds)
	}
	_, ds := Parse(doc(MaxReportBytes + 1))
	matches(t, ds, []string{"4:0 comms/report-size: 16385 bytes"})
}

func TestEveryStatusAndKey(t *testing.T) {
	for _, s := range Statuses() {
		if !s.Valid() || s.Closes() && s.Suspends() {
			t.Errorf("%s", s)
		}
	}
	for key, value := range map[string]string{
		"residual": "x", "certificates": "EXACT", "R_p": "1", "max_iterations": "1", "max_tool_calls_per_iteration": "1",
		"max_seconds_per_iteration": "1", "max_total_seconds": "1", "max_total_tool_calls": "1", "max_tokens": "1", "max_cost": "0.50",
		"profile": "benchmark_adapt", "rung": "65537", "frozen": "`a/**`, b", "work": "src/**, package.json", "include": "100644 " + strings.Repeat("a", 40) + " go.sum", "guards": "enough", "may-hold": "yes", "alone": "yes", "breaks": "`sed -i s/2/3/ Test.java`", "held": "2 " + strings.Repeat("a", 64), "unknown": "how fast 检索 is",
		"priority": "-1000",
	} {
		if d := directive(t, "- "+key+": "+value); reflect.DeepEqual(d.Options, Options{}) {
			t.Errorf("%s sets nothing", key)
		}
	}
	if d := parseClean(t, "# COMMS\n## Directives\n### D-1: t\n- after: `D-2`\n### D-2: u\n## Reports\n").Directives[0]; !slices.Equal(d.Options.After, []string{"D-2"}) {
		t.Errorf("after: %q", d.Options.After)
	}
	if n := len(Keys()); n != 23 {
		t.Errorf("%d keys; add the new one above", n)
	}
}
