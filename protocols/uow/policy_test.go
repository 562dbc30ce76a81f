package uow

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"pgregory.net/rapid"

	"git-ward/internal/diag"
)

// The policy that the template ships says what counts without one, and its
// branches lead somewhere.
func TestTemplatePolicy(t *testing.T) {
	data, err := os.ReadFile("../../hooks/template/" + PolicyPath)
	if err != nil {
		t.Fatal(err)
	}
	p, found := ParsePolicy(data)
	if len(found) > 0 {
		t.Fatal(found)
	}
	want := DefaultPolicy()
	want.Branches = p.Branches
	if !reflect.DeepEqual(p, want) || len(p.Branches) == 0 {
		t.Errorf("%+v", p)
	}
	for outcome, state := range p.Branches {
		e, ok := p.Branch(outcome, "")
		if to, legal := Machine().Next(string(Active), string(e)); !ok || !legal || to != string(state) {
			t.Errorf("%s leads by %q to %s", outcome, e, to)
		}
	}
}

func TestPolicyFindings(t *testing.T) {
	for text, want := range map[string]string{
		"pilot_pulse = \n":                                  "policy.toml:1:15: uow/policy",
		"max_retrys = 3\n":                                  `did you mean "max_retries"?`,
		"max_interactions = 0\n":                            "a spinning agent is never stopped",
		"pilot_pulse = -1\n":                                "counts of at least 0",
		"min_confidence = \"0,5\"\n":                        "is not a decimal number",
		"min_confidence = 0.5\n":                            "incompatible types",
		"sequence = [\"a  b\"]\n":                           "one blank between them",
		"[branches]\nx = \"COMPLETED\"\n":                   "a branch leads to",
		"[branches]\nx = \"ACTIVE\"\n":                      "a branch leads to",
		"# " + strings.Repeat("x", MaxPolicy):               "more than 16384",
		"sequence = [" + strings.Repeat(`"a",`, 65) + "]\n": "more than 64",
	} {
		_, found := ParsePolicy([]byte(text))
		all := ""
		for _, d := range found {
			all += d.Place() + ": " + d.Rule + ": " + d.Message + " hint: " + d.Hint
		}
		if !strings.Contains(all, want) {
			t.Errorf("%.40q: %q lacks %q", text, all, want)
		}
	}
}

func TestBranch(t *testing.T) {
	p := DefaultPolicy()
	p.MinConfidence, p.Branches = "0.6", map[string]State{"fatal": ZombiedDead}
	for in, want := range map[string]Event{
		"ok 0.6": "", "ok 0.60000000000000000001": "", "ok 0.5999": RequestApproval, "ok NaN": RequestApproval, "ok -1": RequestApproval,
		"fatal 1": Condemn, "fatal 0.1": RequestApproval, "unknown 1": "",
	} {
		outcome, confidence, _ := strings.Cut(in, " ")
		if got, _ := p.Branch(outcome, confidence); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func TestGuard(t *testing.T) {
	p := Policy{Sequence: []string{"read_file grep", "write_file", "bash"}}
	for calls, blocked := range map[string]string{
		"read_file grep read_file write_file bash bash read_file": "",
		"write_file":                           "write_file",
		"read_file bash":                       "bash",
		"read_file write_file read_file":       "read_file",
		"read_file write_file bash write_file": "write_file",
		"submit read_file submit write_file":   "", // what no stage names is free
	} {
		g := NewGuard(p)
		got := ""
		for call := range strings.FieldsSeq(calls) {
			if err := g.Call(call); err != nil {
				got = call
				if !strings.Contains(err.Error(), "Guard") || len(err.(*Blocked).Allowed) == 0 {
					t.Error(err)
				}
				break
			}
		}
		if got != blocked {
			t.Errorf("%s: blocked at %q, want %q", calls, got, blocked)
		}
	}
	if err := new(Guard).Call("anything"); err != nil {
		t.Error(err)
	}
}

// TestGuardIsARegularLanguage: the Guard blocks exactly the words that no way
// through the stages spells, tried one by one.
func TestGuardIsARegularLanguage(t *testing.T) {
	tools := []string{"a", "b", "c"}
	rapid.Check(t, func(t *rapid.T) {
		var p Policy
		for range rapid.IntRange(1, 4).Draw(t, "stages") {
			p.Sequence = append(p.Sequence, strings.Join(rapid.SliceOfNDistinct(rapid.SampledFrom(tools), 1, 3, rapid.ID[string]).Draw(t, "stage"), " "))
		}
		word := rapid.SliceOfN(rapid.SampledFrom(tools), 0, 8).Draw(t, "word")
		g, ok := NewGuard(p), true
		for _, call := range word {
			if g.Call(call) != nil {
				ok = false
				break
			}
		}
		var spells func(stage int, rest []string) bool
		spells = func(stage int, rest []string) bool {
			if len(rest) == 0 {
				return true
			}
			named := slices.ContainsFunc(p.Sequence, func(s string) bool { return slices.Contains(strings.Fields(s), rest[0]) })
			if !named {
				return spells(stage, rest[1:])
			}
			try := []int{stage, (stage + 1) % len(p.Sequence)}
			if stage < 0 {
				try = []int{0}
			}
			return slices.ContainsFunc(try, func(s int) bool {
				return slices.Contains(strings.Fields(p.Sequence[s]), rest[0]) && spells(s, rest[1:])
			})
		}
		if want := spells(-1, word); ok != want {
			t.Fatalf("%v under %v: %v", word, p.Sequence, ok)
		}
	})
}

// FuzzParsePolicy: a policy that parses is the same after it is written and read
// again.
func FuzzParsePolicy(f *testing.F) {
	f.Add([]byte("sequence = [\"a b\", \"c\"]\nmin_confidence = \"0.5\"\n[branches]\nx = \"FAILED\"\n"))
	f.Add([]byte("pilot_pulse = 3\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, found := ParsePolicy(data)
		if len(found) > 0 {
			return
		}
		text, err := toml.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		again, found := ParsePolicy(text)
		if len(found) > 0 || !reflect.DeepEqual(again, p) {
			t.Fatalf("%s\n%v", text, found)
		}
	})
}

func TestLibrarian(t *testing.T) {
	records, _ := journal(t)
	s := Summarize(records, "1.25")
	want := Summary{ID: "D-1.1", State: Completed, Interactions: 8, Longest: 7, Iterations: 1, Claims: 1, Cost: "1.25"}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("%+v", s)
	}
	p := DefaultPolicy()
	earlier := []Summary{{Iterations: 1, Interactions: 3, Longest: 3}, {Iterations: 1, Interactions: 4, Longest: 4}, {Iterations: 1, Interactions: 3, Longest: 2}}
	text := RefinementText(s, Analyze(s, p, earlier), earlier)
	for _, want := range []string{"## Corrective Actions & Lessons Learned", "**Lesson:**", "**Action:** the PM writes `max_interactions = 14` for 200 in protocols/uow/policy.toml of the control branch;", "It took 1.25.", "The median of the 3 units before it, of all directives: 1 iteration, 0 claims, 3 interactions.", "the median before it is 3"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for i, p := range Analyze(s, p, earlier) {
		if got := Once(p.Action); (got == "max_interactions 200") != (i == 0) || i > 0 && got != "" {
			t.Errorf("%q is %q", p.Action, got)
		}
	}
	wide := Analyze(Summary{Longest: maxCount / 8}, Policy{MaxInteractions: maxCount}, earlier)[0].Action
	if got := Once(diag.Cut(wide, 80)); got != fmt.Sprint("max_interactions ", maxCount) {
		t.Errorf("%q is %q", wide, got)
	}
	spun := Summary{ID: "D-1.1", Zombied: 2, Longest: 200, Retries: 3, Iterations: 9, Claims: 19}
	if n := len(Analyze(spun, p, earlier)); n != 4 {
		t.Errorf("%d proposals: %+v", n, Analyze(spun, p, earlier))
	}
	failed := Summary{ID: "D-1.1", State: Failed, Failures: []Failure{{ZombiedSoft, Backpressure, "the disk"}, {ZombiedSoft, Backpressure, ""}, {Failed, "LOOP_DIVERGED", ""}}}
	text = RefinementText(failed, Analyze(failed, p, []Summary{failed, failed, failed}), []Summary{failed, failed, failed})
	for _, want := range []string{"## What failed", "- ZOMBIED_SOFT, BACKPRESSURE: the disk\n", "D-1.1 was stopped 2 times by BACKPRESSURE.\n   **Action:** the admin makes room on the host's disk", "D-1.1 ended by LOOP_DIVERGED, as 3 of the 3 units before it."} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if !strings.Contains(RefinementText(Summary{ID: "D-1.1", Longest: 100}, nil, nil), "Nothing to change") {
		t.Error("a quiet unit")
	}
}

func TestExitsLead(t *testing.T) {
	for status, want := range map[string]State{"EXIT_CONVERGED": Completed, "EXIT_DIVERGED": Failed, "EXIT_BUDGET_EXCEEDED": Failed, "EXIT_BLOCKED": ZombiedSoft, "EXIT_NEED_INFO": PendingApproval} {
		e, reason, ok := Exit(status)
		if to, legal := Machine().Next(string(Active), string(e)); !ok || !legal || State(to) != want || !slices.Contains(Reasons(e, Agent), reason) {
			t.Errorf("%s leads by %s to %s", status, e, to)
		}
	}
	if _, _, ok := Exit("INFO"); ok {
		t.Error("INFO ends a unit")
	}
}

func TestNames(t *testing.T) {
	for s, ok := range map[string]bool{"D-1.1": true, "D-12.345": true, "D-01.1": false, "D-1.01": false, "D-1": false, "D-1.0": false, "d-1.1": false, "D-1.1.1": false, "D-1.1/x": false, "": false} {
		id, err := ParseID(s)
		if (err == nil) != ok || ok && id.String() != s {
			t.Errorf("%q: %v, %v", s, id, err)
		}
	}
	ids := []ID{{"D-10", 1}, {"D-2", 11}, {"D-2", 2}}
	slices.SortFunc(ids, ID.Compare)
	if ids[0].String() != "D-2.2" || ids[2].String() != "D-10.1" {
		t.Error(ids)
	}
}

// One policy holds for all who work: a model's tools, the steps of plans, what programs
// and MCP clients call (UOW-3, PLAN-10).
func TestGuardKnowsKinds(t *testing.T) {
	template := []string{"read_file", "write_file", "bash"}
	for name, c := range map[string]struct {
		sequence []string
		calls    string
		blocked  string // the call that is out of order, "" for none
	}{
		"a model":               {template, "read_file read_file write_file bash read_file", ""},
		"a plan":                {template, "set_plan read_file list_files create_file_with_block rename_file run_in_bash_session submit", ""},
		"a plan writes first":   {template, "create_file_with_block", "create_file_with_block"},
		"a plan skips":          {template, "grep run_in_bash_session", "run_in_bash_session"},
		"Claude Code":           {template, "TodoWrite Read Grep Edit Bash", ""},
		"Claude Code runs":      {template, "Read Bash", "Bash"},
		"Codex":                 {template, "command_execution", "command_execution"},
		"opencode over MCP":     {template, "ward_read_file write ward_bash", ""},
		"MCP":                   {template, "mcp__ward__read_file mcp__ward__write_file mcp__ward__bash", ""},
		"MCP out of order":      {template, "mcp__ward__bash", "mcp__ward__bash"},
		"what nobody names":     {template, "message_user plan_step_complete mcp__ward__task", ""},
		"named tools are exact": {[]string{"create_file_with_block", "overwrite_file_with_block"}, "create_file_with_block create_file_with_block overwrite_file_with_block", ""},
		"of another stage":      {[]string{"create_file_with_block", "overwrite_file_with_block"}, "overwrite_file_with_block", "overwrite_file_with_block"},
		"beside named ones":     {[]string{"list_files", "create_file_with_block"}, "read_file delete_file list_files", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g, blocked := NewGuard(Policy{Sequence: c.sequence}), ""
			for call := range strings.FieldsSeq(c.calls) {
				if err := g.Call(call); err != nil {
					blocked = call
					break
				}
			}
			if blocked != c.blocked {
				t.Errorf("blocked %q, want %q", blocked, c.blocked)
			}
		})
	}
}
