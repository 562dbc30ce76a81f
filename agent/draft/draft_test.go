package draft

import (
	"strings"
	"testing"
)

const steps = "set_plan\nSay hello.\n---\nplan_step_complete it is read\n---\ncreate_file_with_block hello.sh\necho hello\n---\nsubmit\n"

// TestFind: a plan is found however it is wrapped, and nothing is taken for one that is
// none, or two.
func TestFind(t *testing.T) {
	list := "Here is what I will do:\n\n1. **set_plan** Say hello.\n2. `plan_step_complete it is read`\n3. create_file_with_block `hello.sh`:\n\n   ```sh\n   echo hello\n   ```\n\nThen I hand it in:\n\n4. submit\n"
	indented := "- set_plan Say hello.\n- plan_step_complete: it is read\n- [ ] create_file_with_block hello.sh\n    echo hello\n- submit\n"
	for name, c := range map[string]struct {
		text string
		want string // the plan, "" for none
	}{
		"as it is":                         {steps, steps},
		"with a comment":                   {"# FSM: fdc\n" + steps, "# FSM: fdc\n" + steps},
		"in line form":                     {"set_plan x\nsubmit\n", "set_plan x\nsubmit\n"},
		"in a fence":                       {"My plan:\n\n```plan\n" + steps + "```\n\nThat is it.\n", steps},
		"in a longer fence":                {"````\n" + steps + "````", steps},
		"a fence at the end, never closed": {"Look:\n~~~\n" + steps, steps},
		"beside other code":                {"First ```ls``` and\n```sh\nls -l\n```\nthen\n```\n" + steps + "```\n", steps},
		"two":                              {"```\n" + steps + "```\nor\n```\n" + steps + "```\n", ""},
		"JSON":                             {`{"steps": [{"tool": "set_plan", "block": "Say hello.\n"}, {"tool": "submit"}]}`, "set_plan\nSay hello.\n---\nsubmit\n"},
		"JSON in a fence":                  {"So:\n```json\n[{\"tool\": \"set_plan\", \"arguments\": \"x\"}, {\"tool\": \"submit\"}]\n```\n", "set_plan x\n---\nsubmit\n"},
		"a list":                           {list, "set_plan Say hello.\n---\nplan_step_complete it is read\n---\ncreate_file_with_block hello.sh\necho hello\n---\nsubmit\n"},
		"an indented block":                {indented, "set_plan Say hello.\n---\nplan_step_complete it is read\n---\ncreate_file_with_block hello.sh\necho hello\n---\nsubmit\n"},
		"prose":                            {"I will create hello.sh and then submit it.\n", ""},
		"a list of prose":                  {"1. Create hello.sh\n2. Run it\n", ""},
		"other JSON":                       {`{"name": "x"}`, ""},
		"a shell script":                   {"```sh\ngrep x\nls\n```", ""},
		"a word of a tool":                 {"submit\n", ""},
		"nothing":                          {"", ""},
	} {
		got, ok := Find(c.text)
		if string(got) != c.want || ok != (c.want != "") {
			t.Errorf("%s: %v\n%q, want\n%q", name, ok, got, c.want)
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add("1. set_plan\n```\n" + steps)
	f.Add("````\n```\n- submit")
	f.Fuzz(func(t *testing.T, text string) {
		if data, ok := Find(text); ok && len(strings.TrimSpace(string(data))) == 0 {
			t.Errorf("an empty plan in %q", text)
		}
	})
}
