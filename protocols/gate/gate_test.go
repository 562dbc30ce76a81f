package gate

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"git-ward/internal/diag"
)

// TestRead: what the hook writes is read again among git's lines; without an answer the
// remote's own lines are what was said.
func TestRead(t *testing.T) {
	wrote := Answer{Verdict: Refused, Principal: "agent", Push: "x", Count: 3, Findings: []diag.Diagnostic{
		{Pos: diag.Pos{Path: "a", Line: 1, Col: 2}, Rule: "r/x", Severity: diag.Error, Message: "m", Hint: "h"},
		{Rule: "r/x", Message: "n"}, {Rule: "\x1bq", Message: "n"}}}
	line, err := json.Marshal(wrote)
	if err != nil {
		t.Fatal(err)
	}
	got, said := Read("To /x\nremote: a word\nremote: " + string(line) + "        \nremote: {}\nerror: failed\n")
	if got == nil || said != nil || got.Verdict != Refused || got.Push != "x" || got.Count != 3 || !slices.Equal(got.Findings, wrote.Findings) {
		t.Errorf("%+v %q", got, said)
	}
	if rules := strings.Join(got.Rules(), " "); rules != `r/x \x1bq` {
		t.Error(rules)
	}
	got, said = Read("remote: a:1: r: m        \nremote: \x1b[31mhint: do\nremote:   \nremote: {not json}\nremote: {\"verdict\":\"\"}\n{\"verdict\":\"refused\"}\n")
	if got != nil || strings.Join(said, "|") != `a:1: r: m|\x1b[31mhint: do|{not json}|{"verdict":""}` {
		t.Errorf("%+v %q", got, said)
	}
	if got, said := Read(""); got != nil || said != nil {
		t.Error(got, said)
	}
	if rules := (Answer{}).Rules(); rules == nil || len(rules) != 0 {
		t.Error("an answer without findings has no rules, but is one")
	}
}
