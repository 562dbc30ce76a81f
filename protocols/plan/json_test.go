package plan

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"git-ward/internal/diag"
)

// What a model writes as JSON is the plan that it means, whichever member it put the text in.
func TestFromJSON(t *testing.T) {
	for _, test := range []struct{ name, json, want string }{
		{"as the schema has it", `{"steps":[{"tool":"set_plan","block":"Say hello."},
			{"tool":"plan_step_complete","arguments":"read","evidence":["README.md:1","L-3"]},
			{"tool":"create_file_with_block","arguments":"a.txt","block":"a\n---\nb\n"},{"tool":"submit"}]}`,
			"set_plan\nSay hello.\n---\n# Evidence: README.md:1\n# Evidence: L-3\nplan_step_complete read\n---\ncreate_file_with_block a.txt <<END\na\n---\nb\nEND\n---\nsubmit\n"},
		{"headers", `{"fsm":"research","model":"A","steps":[{"tool":"set_plan"}]}`, "# FSM: research\n# Model: A\nset_plan\n---\n"},
		{"an array of steps", `[{"tool":"set_plan","arguments":"x"},{"tool":"submit"}]`, "set_plan x\n---\nsubmit\n"},
		{"steps as a string", `{"steps":"[{\"tool\":\"submit\"}]"}`, "submit\n---\n"},
		{"evidence as a string", `{"steps":[{"tool":"submit","evidence":"a.go:1\n"}]}`, "# Evidence: a.go:1\nsubmit\n---\n"},
		{"a file in the arguments", `[{"tool":"create_file_with_block","arguments":"a.txt\nline 1\nline 2"},{"tool":"submit"}]`, "create_file_with_block a.txt\nline 1\nline 2\n---\nsubmit\n"},
		{"a heredoc", `[{"tool":"create_file_with_block","arguments":"a.txt <<EOF","block":"x\nEOF\n"},{"tool":"submit"}]`, "create_file_with_block a.txt\nx\n---\nsubmit\n"},
		{"a shell's heredoc", `[{"tool":"run_in_bash_session","arguments":"cat <<EOF","block":"x\nEOF"},{"tool":"submit"}]`, "run_in_bash_session\ncat <<EOF\nx\nEOF\n---\nsubmit\n"},
		{"a command of many lines", `[{"tool":"run_in_bash_session","arguments":"cd a\nmake"},{"tool":"submit"}]`, "run_in_bash_session\ncd a\nmake\n---\nsubmit\n"},
		{"tool and arguments in one", `[{"tool":"read_file README.md"},{"tool":"submit"}]`, "read_file README.md\n---\nsubmit\n"},
		{"loops", `[{"tool":"for_each_file","arguments":"*.md","body":[{"tool":"for_each_file","arguments":"*.go","body":[{"tool":"read_file","arguments":"{file2}"}]},{"tool":"read_file","arguments":"{file1}"}]},{"tool":"submit"}]`,
			"for_each_file *.md\n  for_each_file *.go\n    read_file {file2}\n  read_file {file1}\n---\nsubmit\n"},
		{"members that are null", `[{"tool":"submit","arguments":null,"block":null,"evidence":null,"body":null}]`, "submit\n---\n"},
	} {
		p, err := FromJSON([]byte(test.json))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		} else if got := p.String(); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}

// What no plan can be made of is an error that names the member.
func TestFromJSONRefuses(t *testing.T) {
	deep := strings.Repeat(`[{"tool":"for_each_file","arguments":"*","body":`, 12) + `[]` + strings.Repeat(`}]`, 12)
	for _, test := range []struct{ json, want string }{
		{``, "not valid JSON"},
		{`7`, "an object belongs"},
		{`{}`, "no steps"},
		{`{"steps":[]}`, "no steps"},
		{`{"steps":[{"tool":"submit","argumants":"x"}]}`, "unknown member /steps/0/argumants"},
		{`{"steps":[{"tool":"sumbit"}]}`, `/steps/0/tool: "sumbit" is not a tool`},
		{`{"steps":[{"tool":"read_file","arguments":{"path":"x"}}]}`, "a string belongs"},
		{`[{"tool":"submit","body":[{"tool":"submit"}]}]`, "/steps/0/body"},
		{`[{"tool":"for_each_file","arguments":"*","body":[{"tool":"set_plan","block":"x"}]}]`, "/steps/0/body/0/block"},
		{deep, "loops inside each other"},
	} {
		if _, err := FromJSON([]byte(test.json)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", diag.Cut(test.json, 80), err, test.want)
		}
	}
}

// Grammar names every tool, and its example is sound in a tree that has what it cites.
func TestGrammar(t *testing.T) {
	for _, tool := range tools {
		if !strings.Contains(Grammar(), "`"+tool.Usage+"`: ") || tool.Does == "" {
			t.Errorf("the grammar does not say what %s does", tool.Name)
		}
	}
	if found, err := NewLinter(mapTree{"README.md": "hello", "plan.txt": Example()}, nil).Lint("plan.txt"); err != nil || len(found) > 0 {
		t.Errorf("the example: %v %v", found, err)
	}
	if p, _ := Parse([]byte(Example()), "plan.txt"); p.Task() != "D-1" || p.String() != Example() {
		t.Errorf("the example is printed as\n%s", p)
	}
}

// The schema is JSON, and offers what FromJSON reads.
func TestSchema(t *testing.T) {
	var schema struct {
		Properties struct {
			Steps struct {
				Items struct {
					Properties map[string]struct{ Enum []string }
				}
			}
		}
		Defs map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	step := schema.Properties.Steps.Items.Properties
	var read []string
	for f := range reflect.TypeFor[jsonStep]().Fields() {
		read = append(read, f.Tag.Get("json"))
		if _, ok := step[f.Tag.Get("json")]; !ok {
			t.Errorf("the schema lacks %s", f.Tag.Get("json"))
		}
	}
	if len(step) != len(read) || !reflect.DeepEqual(step["tool"].Enum, toolNames()) || schema.Defs["inner"] == nil {
		t.Errorf("%s", Schema())
	}
}

// FuzzFromJSON: what comes back is what its text parses to, and no text is lost.
func FuzzFromJSON(f *testing.F) {
	f.Add("read_file", "a.md", "", "x:1")
	f.Add("create_file_with_block", "a <<END", "---\nEND\nx", "")
	f.Add("run_in_bash_session", "cat <<A\nb\nA", "c", "# FSM: sub")
	f.Add("set_plan", "\n\n", "---", "\r")
	f.Fuzz(func(t *testing.T, tool, arguments, block, evidence string) {
		data, err := json.Marshal([]jsonStep{{Tool: tool, Arguments: arguments, Block: block, Evidence: textList{evidence}}, {Tool: Submit}})
		if err != nil {
			t.Fatal(err)
		}
		p, err := FromJSON(data)
		if err != nil {
			return
		}
		again, _ := Parse([]byte(p.String()), "plan")
		if !reflect.DeepEqual(bare(p), bare(again)) {
			t.Errorf("%q reads as %#v, not as %#v", p, bare(again), bare(p))
		}
		if words, kept := strings.TrimSpace(block), p.String(); utf8.ValidString(words) && byName[tool] != nil && byName[tool].block && !strings.Contains(arguments, "<<") && !strings.Contains(kept, words) {
			t.Errorf("the block %q is lost in\n%s", words, kept)
		}
	})
}

// TestDocumentShowsTheExample: docs/agent.md shows the plan that Grammar shows.
func TestDocumentShowsTheExample(t *testing.T) {
	data, err := os.ReadFile("../../docs/agent.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), "\n"+Example()+"```\n") {
		t.Error("docs/agent.md shows another plan than git ward plan lint --grammar --example")
	}
}
