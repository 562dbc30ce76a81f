package plan

import (
	"slices"
	"testing"
)

// TestRecordLinter: a plan of a record is judged in the tree of the work, with the
// record's papers below .ward/; what is registered is read from control only.
func TestRecordLinter(t *testing.T) {
	const sub = "# FSM: sub\nrun_in_bash_session true\n"
	papers := mapTree{
		"plans/own.txt":       sub,
		"plans/shared.txt":    "not a plan", // control's is called by its name, and this one by nobody
		"postmortems/2026.md": "",
	}
	work := mapTree{"main.go": "", "plans/projects.txt": sub, "plans/roadmap.md": "", RegistryPath: `{"x": "main.go"}`}
	control := mapTree{
		RegistryPath:       `{"shared": "plans/shared.txt"}`,
		"plans/shared.txt": sub,
		"COMMS.md":         "",
		"machines/m.json":  `{"name": "m"}`,
	}
	for steps, want := range map[string][]string{
		"read_file main.go":                             nil,
		"read_file COMMS.md":                            {RuleMissing},
		"read_file postmortems/2026.md":                 {RuleMissing},
		"read_file .ward/postmortems/2026.md":           nil,
		"read_file .ward/main.go":                       {RuleMissing},
		"list_files .ward":                              nil,
		"list_files .ward/plans":                        nil,
		"create_file_with_block main.go\nx":             {RuleExists},
		"create_file_with_block plans/own.txt\nx":       nil, // the work has none there
		"create_file_with_block plans/roadmap.md\nx":    {RuleExists},
		"overwrite_file_with_block .ward/plans\nx":      {RuleExists},
		"call_plan plans/own.txt":                       nil,
		"call_plan plans/projects.txt":                  nil,
		"call_plan shared":                              nil,
		"call_plan plans/shared.txt":                    nil,
		"call_plan x":                                   {RuleCall},
		"delete_file main.go\n---\nread_file main.go\n": {RuleGone},
	} {
		text := "# FSM: sub\n" + steps + "\n---\nrun_in_bash_session true\n"
		l := NewRecordLinter(papers, work, control)
		found, err := l.LintText("plans/work.plan.txt", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var rules []string
		for _, f := range found {
			rules = append(rules, f.Rule)
		}
		if !slices.Equal(rules, want) {
			t.Errorf("%s: %v, not %v", steps, found, want)
		}
	}
}
