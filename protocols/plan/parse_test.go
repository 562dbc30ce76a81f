package plan

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"git-ward/internal/diag"
)

// bare is a plan without the places that reading it from a text gave it.
func bare(p *Plan) *Plan {
	c := *p
	c.fsmLine = 0
	c.Steps = bareSteps(p.Steps)
	return &c
}

func bareSteps(steps []Step) []Step {
	var list []Step
	for _, s := range steps {
		s.Line, s.Col, s.argsAt = 0, 0, 0
		s.Body = bareSteps(s.Body)
		list = append(list, s)
	}
	return list
}

// checkInverse: a plan without errors prints to a text that is the same plan, and
// prints the same again.
func checkInverse(t interface {
	Helper()
	Fatalf(string, ...any)
}, p *Plan) {
	t.Helper()
	text := p.String()
	again, found := Parse([]byte(text), "p")
	if diag.HasErrors(found) {
		t.Fatalf("printed:\n%q\nreads with %v", text, found)
	}
	if !reflect.DeepEqual(bare(p), bare(again)) {
		t.Fatalf("printed:\n%q\nreads as\n%#v\nnot\n%#v", text, bare(again), bare(p))
	}
	if again.String() != text {
		t.Fatalf("printed again:\n%q\nnot\n%q", again.String(), text)
	}
}

func FuzzParse(f *testing.F) {
	archives, _ := filepath.Glob("testdata/*.txtar")
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			f.Add(file.Data)
		}
	}
	f.Add([]byte("---\n---\r\n# x\n---"))
	f.Add([]byte("overwrite_file_with_block a <<E\n---\nEND\n---\r\nE\n# t\n---\n# u"))
	f.Add([]byte("for_each_file *\n  for_each_file *\n  # c\n    list_files\n# d"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, found := Parse(data, "p")
		lines := strings.Split(string(data), "\n")
		for _, d := range found {
			if d.Path != "p" || d.Message == "" || d.Hint == "" || d.Line < 0 || d.Line > len(lines)+1 || d.Col < 0 {
				t.Fatalf("incomplete or out of range: %+v", d)
			}
		}
		if p.Len() == 0 && !diag.HasErrors(found) {
			t.Fatal("no step and no finding")
		}
		if _, err := NewLinter(mapTree{"p": string(data)}, nil).Lint("p"); err != nil {
			t.Fatal(err)
		}
		if !diag.HasErrors(found) {
			checkInverse(t, p)
		}
	})
}

func FuzzParseRegistry(f *testing.F) {
	f.Add([]byte(`{"a": "plans/a.txt", "b": "../x", "a": "y"}`))
	f.Add([]byte("{\n}"))
	f.Add([]byte(`[1]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, found := ParseRegistry(data)
		if len(found) > 0 {
			return
		}
		again, found := ParseRegistry(r.Format())
		if len(found) > 0 || len(again.Entries) != len(r.Entries) {
			t.Fatalf("%s: %v", r.Format(), found)
		}
		for i, e := range r.Entries {
			if again.Entries[i].Name != e.Name || again.Entries[i].Path != e.Path {
				t.Fatalf("%v, not %v", again.Entries[i], e)
			}
		}
	})
}

// TestGenerated prints and reads plans made of every tool in both forms.
func TestGenerated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &Plan{Form: rapid.SampledFrom([]Form{LineForm, BlockForm}).Draw(t, "form")}
		p.Steps = drawSteps(t, p.Form, 0)
		if rapid.Bool().Draw(t, "header") {
			p.FSM = rapid.SampledFrom([]string{"sub", "research", "machines/m.json"}).Draw(t, "fsm")
			p.Steps[0].Comments = append([]string{"# FSM: " + p.FSM}, p.Steps[0].Comments...)
		}
		if rapid.Bool().Draw(t, "trailing") {
			p.Trailing = []string{"# the end"}
		}
		checkInverse(t, p)
	})
}

func drawSteps(t *rapid.T, form Form, depth int) (steps []Step) {
	path := rapid.StringMatching(`[a-z]{1,3}(/[a-z.]{2,3}[a-z])?`)
	for range rapid.IntRange(1, 4).Draw(t, "steps") {
		s := Step{Tool: rapid.SampledFrom(toolNames()).Draw(t, "tool")}
		if rapid.Bool().Draw(t, "comment") {
			s.Comments = []string{"# " + rapid.StringMatching(`[a-z]{1,5}`).Draw(t, "comment")}
		}
		tool := byName[s.Tool]
		switch tool.args {
		case twoPaths:
			s.Args = path.Draw(t, "old") + " new/" + path.Draw(t, "new") // never the same, which is a finding
		case aWord:
			s.Args = "https://example.org/" + path.Draw(t, "url")
		case anyText, message:
			s.Args = rapid.StringMatching(`[a-z]([a-z{} -]{0,8}[a-z])?`).Draw(t, "text")
		default:
			s.Args = path.Draw(t, "path")
		}
		if form == LineForm || depth > 0 {
			if tool.required {
				s.Tool = ReadFile
			}
		} else if tool.block && s.Tool != Bash && (tool.required || rapid.Bool().Draw(t, "block")) {
			s.Block = rapid.StringMatching(`((---|END|END1|<<END|# x| |a  b|\t)\r?\n){1,4}`).Draw(t, "block")
		}
		if s.Tool == ForEachFile {
			if depth == 3 {
				s.Tool = ReadFile
			} else {
				s.Body = drawSteps(t, form, depth+1)
			}
		}
		steps = append(steps, s)
	}
	return steps
}

// TestHugePlans: a hundred thousand steps are read, one more is refused, and a
// flood of faults is a bounded list.
func TestHugePlans(t *testing.T) {
	text := "# FSM: sub\n" + strings.Repeat("read_file a\n", MaxSteps)
	tree := mapTree{"a": "", "p": text, "q": text + "read_file a\n", "r": strings.Repeat("what is this\n", MaxSteps)}
	l := NewLinter(tree, nil)
	for path, want := range map[string]string{"p": "", "q": "q: plan/size: the plan has 100001 steps", "r": "r:1:1: plan/unknown-tool"} {
		found, err := l.Lint(path)
		if err != nil || len(found) > 2*MaxFindings || !strings.HasPrefix(render(found), want) || (want == "") != (len(found) == 0) {
			t.Errorf("%s: %d findings, %v, %.200s", path, len(found), err, render(found))
		}
	}
	if _, found := Parse(make([]byte, MaxBytes+1), "p"); len(found) != 1 || found[0].Rule != RuleSize {
		t.Error(found)
	}
}

func TestMatchFile(t *testing.T) {
	for _, c := range []struct {
		glob, name string
		want       bool
	}{
		{"*.md", "a.md", true}, {"*.md", "d/a.md", false}, {"**/*.md", "a.md", true}, {"**/*.md", "d/e/a.md", true},
		{"d/**", "d/e/f", true}, {"d/**/f", "d/f", true}, {"d/**/f/*", "d/f/f/x", true}, {"d/**/f", "d/e/g", false},
		{"**", "x", true}, {"a", "a", true}, {"a", "ab", false}, {"[ab].go", "b.go", true}, {"a/b", "a", false}, {"a", "a/b", false},
	} {
		if got := MatchFile(c.glob, c.name); got != c.want {
			t.Errorf("%s %s: %v", c.glob, c.name, got)
		}
	}
}

func TestActions(t *testing.T) {
	for line, want := range map[string]Action{
		"set_plan x": PlanOp, "plan_step_complete": StepOp, "message_user x": StepOp, "submit": SubmitOp,
		"create_file_with_block a": WriteOp, "grep x": ReadOp, "delete_file a": DeleteOp, "rename_file a b": MoveOp,
		"run_in_bash_session ls": ToolExec, "run_in_bash_session git ward task close --task-id D-1": CloseOp,
		"run_in_bash_session git-ward  task close --task-id=D-1": CloseOp, "run_in_bash_session git ward task close --task-id": ToolExec,
		"run_in_bash_session git ward task close --task-id a b": ToolExec, "call_plan x.udc": ToolExec, "call_plan x": "", "for_each_file *": "",
	} {
		p, _ := Parse([]byte(line), "p")
		if got := p.Steps[0].Action(); got != want {
			t.Errorf("%s: %q, not %q", line, got, want)
		}
	}
}

func TestRegistry(t *testing.T) {
	r := new(Registry)
	for _, e := range [][2]string{{"b", "plans/b.txt"}, {"a", "plans/a.txt"}, {"b", "plans/c.txt"}} {
		if err := r.Set(e[0], e[1]); err != nil {
			t.Fatal(err)
		}
	}
	if got := string(r.Format()); got != "{\n  \"a\": \"plans/a.txt\",\n  \"b\": \"plans/c.txt\"\n}\n" {
		t.Error(got)
	}
	if !r.Remove("a") || r.Remove("a") {
		t.Error("remove")
	}
	for _, e := range [][2]string{{"a b", "x"}, {"a", "../x"}, {"a", "/x"}, {"a", RegistryPath}, {"", "x"}, {"a", ""}} {
		if r.Set(e[0], e[1]) == nil {
			t.Errorf("%q", e)
		}
	}
	_, found := ParseRegistry([]byte("{\n\"a\": \"../x\",\n\"b\": 1}"))
	if len(found) != 2 || !strings.Contains(render(found), RegistryPath+`:3:1: registry/schema: "b": a JSON number where the path belongs`) {
		t.Error(render(found))
	}
	if _, found = ParseRegistry([]byte("[]")); !strings.Contains(render(found), "a JSON [ where an object belongs") {
		t.Error(render(found))
	}
	r, found = ParseRegistry([]byte("{\n \"a\": \"../x\",\n  \"ok\": \"p\", \"self\": \"" + RegistryPath + "\"}"))
	if len(found) != 2 || found[0].Pos.String() != RegistryPath+":2:2" || len(r.Entries) != 1 {
		t.Error(render(found))
	}
	targets, err := CheckTargets(r, mapTree{})
	if err != nil || len(targets) != 1 || targets[0].Rule != RuleTarget || targets[0].Line != 3 {
		t.Error(targets, err)
	}
}

func TestAnalyze(t *testing.T) {
	tree := mapTree{
		"one":   "# FSM: sub\nread_file a\n",
		"loop":  "# FSM: sub\nfor_each_file *\n  call_plan one\n",
		"two":   "# FSM: sub\nfor_each_file *\n  call_plan loop\ncall_plan write\n",
		"write": "# FSM: sub\noverwrite_file_with_block a\n", "bash": "# FSM: sub\nrun_in_bash_session ls\n",
		"close": "set_plan x\nplan_step_complete\nrun_in_bash_session git ward task close --task-id D-1\nsubmit\n",
		"udc":   "# FSM: sub\ncall_plan x.udc\n", "x.udc": "",
	}
	l := NewLinter(tree, nil)
	for path, want := range map[string]string{
		"one": "Constant Read-Only 0 1", "loop": "Polynomial Read-Only 1 2", "two": "Exponential Read-Write 2 3",
		"write": "Constant Read-Write 0 1", "bash": "Constant Read-Write 0 1", "close": "Constant Read-Only 0 1", "udc": "Constant Read-Only 0 1",
	} {
		a, err := l.Analyze(path)
		if got := fmt.Sprintf("%s %s %d %d", a.Complexity, a.Modality, a.Loops, a.Depth); err != nil || got != want {
			t.Errorf("%s: %s, not %s", path, got, want)
		}
	}
}
