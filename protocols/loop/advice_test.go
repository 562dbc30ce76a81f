package loop

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"git-ward/protocols/uow"
)

// TestAdvice: each cause has advice, in commands of Ward's, with nothing left to fill in.
func TestAdvice(t *testing.T) {
	for c, r := range remedy {
		for _, next := range []string{"", "git ward uow clarify D-7.2", "git ward uow resume D-7.2"} {
			got := c.Advice("D-7.2", "`make`", next)
			if len(got) == 0 || next != "" && got[0].Type != next || next == "" && len(got) != len(r.list) || c.By() == "" {
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

// TestWhoMends: who can mend an end is who can mend its unit's reason, and what only a setting or the
// image mends is never a word of the PM's first.
func TestWhoMends(t *testing.T) {
	for cause, stop := range map[Cause]StopReason{Pressed: BackpressureSignal, NotTaken: NotIncluded, NoTool: ToolMissing, NoProgram: ToolMissing, NotStarted: StartFailed, Unjudged: VerdictUnavailable, Stuck: InvariantViolation} {
		if by := stop.Step("LOOP_BLOCKED").By(); by != cause.By() {
			t.Errorf("%s: %s, and its unit's reason %s", cause, cause.By(), by)
		}
	}
	for c := range remedy {
		if first := c.Advice("D-1.1", "it", "")[0].Type; c.By() == uow.ByAdmin && strings.Contains(first, "clarify") {
			t.Errorf("%s: %s", c, first)
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
		if got := NewReport(o).NextActions[0]; !strings.HasPrefix(got, "git ward directive edit D-1 (") || !strings.Contains(got, want) {
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
	for c := range remedy {
		if !slices.Contains(form.Properties.Cause.Enum, c) {
			t.Errorf("the schema does not take the cause %s", c)
		}
	}
}
