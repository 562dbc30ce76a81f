package loop

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestAdvice: each cause has advice, in commands of Ward's, with nothing left to fill in.
func TestAdvice(t *testing.T) {
	for c, list := range advise {
		for _, ended := range []bool{false, true} {
			got := c.Advice("D-7.2", "`make`", ended)
			if len(got) != len(list) || len(got) == 0 {
				t.Errorf("%s: %v", c, got)
			}
			for _, a := range got {
				if !strings.HasPrefix(a.Type, "git ward ") || strings.ContainsAny(a.String(), "{}") || !strings.Contains(a.Type, "D-7") {
					t.Errorf("%s: %s", c, a)
				}
			}
		}
	}
}

// TestWhoPays: what is spent says who can raise it, and whether anything is to be raised.
func TestWhoPays(t *testing.T) {
	for limit, want := range map[string]string{
		"":                "once the admin has raised what the provider's account has",
		"[budget] tokens": "once the admin has raised [budget] tokens in the host's config.toml",
		LaunchTime:        "has the next launch continue it, with its own time; no limit has to be raised",
		"max_cost":        "raises max_cost, ",
	} {
		o := Outcomes{Declaration: Declaration{LoopID: "D-1.1"}, Status: ExitBudgetExceeded, Over: "it is spent", Limit: limit}
		if got := o.advice()[0]; !strings.HasPrefix(got, "git ward directive edit D-1 (") || !strings.Contains(got, want) {
			t.Errorf("%q: %s", limit, got)
		}
	}
}

// TestCauses: the schema, which other tools read reports by, takes each cause.
func TestCauses(t *testing.T) {
	data, err := os.ReadFile("schema/halting_report.json")
	if err != nil {
		t.Fatal(err)
	}
	var form struct {
		Properties struct{ Cause struct{ Enum []Cause } }
	}
	if err := json.Unmarshal(data, &form); err != nil {
		t.Fatal(err)
	}
	for c := range advise {
		if !slices.Contains(form.Properties.Cause.Enum, c) {
			t.Errorf("the schema does not take the cause %s", c)
		}
	}
}
