package lesson

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/diag"
	"git-ward/protocols/charter"
	"git-ward/protocols/fsm"
	"git-ward/protocols/plan"
)

const postMortem = `# Post-mortem of D-1

**Task ID:** ` + "`D-1`" + `
**Completion Date:** 2026-11-21

## 4. What went well

1. **Lesson:** not in the section

## 5. Corrective Actions & Lessons Learned

1. **Lesson:** The registry can be listed,
   which nobody knew.
   **Action:** add tool 'git ward plan show' to protocol 'p-1'

2. **Lesson:** An old tool misleads.
   **Action:** Deprecate tool 'old' from protocol 'p-1'.
3. **Lesson:** The rule is unclear.
   - **Action:** update rule 'r-1' in protocol 'p-1' to 'Don't guess:
     look it up.'
- **Lesson:** greet.sh greets nobody.

  **Action:** PROPOSE_CODE_CHANGE 'greet.sh'
  ` + "```diff" + `
  <<<<<<< SEARCH
  echo "Hello, $1."
    # indented
  =======
  echo "Hello, ${1:-you}."
  >>>>>>> REPLACE
  ` + "```" + `
- **Lesson:** People are slow.
  **Action:** be patient
- **Lesson:** A bad diff.
  **Action:** PROPOSE_CODE_CHANGE 'greet.sh'
` + "```" + `
+ echo
` + "```" + `
- **Lesson:**
  **Action:**

### a deeper heading belongs to the section

* **Lesson:** The protocols are not code.
  **Action:** PROPOSE_CODE_CHANGE 'protocols/x.protocol.json'
~~~

## 6. Sign-off

**Lesson:** not here either
`

func extract(t testing.TB, text string) []Lesson {
	t.Helper()
	list, found := Extract("postmortems/x.md", []byte(text))
	if len(found) > 0 {
		t.Fatal(found)
	}
	return list
}

func TestExtract(t *testing.T) {
	var got []string
	for _, l := range extract(t, postMortem) {
		if l.TaskID != "D-1" || l.Date != "2026-11-21" || l.ID != l.ContentID() {
			t.Errorf("%+v", l)
		}
		got = append(got, fmt.Sprintf("%s | %s %s %+v | %s %s", l.Lesson, l.Action.Type, l.Action.Command, l.Action.Parameters, l.Status, l.Reason))
	}
	want := []string{
		"The registry can be listed, which nobody knew. | UPDATE_PROTOCOL add-tool {Protocol:p-1 Tool:git ward plan show Rule: Description: File: Diff: Text:} | pending ",
		"An old tool misleads. | UPDATE_PROTOCOL remove-tool {Protocol:p-1 Tool:old Rule: Description: File: Diff: Text:} | pending ",
		"The rule is unclear. | UPDATE_PROTOCOL update-rule {Protocol:p-1 Tool: Rule:r-1 Description:Don't guess: look it up. File: Diff: Text:} | pending ",
		"greet.sh greets nobody. | PROPOSE_CODE_CHANGE replace_with_git_merge_diff {Protocol: Tool: Rule: Description: File:greet.sh Diff:<<<<<<< SEARCH\necho \"Hello, $1.\"\n  # indented\n=======\necho \"Hello, ${1:-you}.\"\n>>>>>>> REPLACE\n Text:} | pending ",
		"People are slow. | none  {Protocol: Tool: Rule: Description: File: Diff: Text:be patient} | noted no program understands the action: it is kept for readers",
		"A bad diff. | none  {Protocol: Tool: Rule: Description: File: Diff: Text:PROPOSE_CODE_CHANGE 'greet.sh'} | noted the merge diff is none: line 1: \"+ echo\" stands where \"<<<<<<< SEARCH\" belongs",
		"The protocols are not code. | none  {Protocol: Tool: Rule: Description: File: Diff: Text:PROPOSE_CODE_CHANGE 'protocols/x.protocol.json' ~~~} | noted a code change is PROPOSE_CODE_CHANGE 'path' and one code block with a merge diff",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if again := extract(t, strings.ReplaceAll(postMortem, "\n", "\r\n")); !slices.Equal(again, extract(t, postMortem)) {
		t.Error("line ends matter")
	}
}

func TestPostMortemsThatCannotBeRead(t *testing.T) {
	const head = "**Task ID:** D-1\n**Date:** 2026-11-21\n## Corrective Actions & Lessons Learned\n"
	for text, want := range map[string]string{
		"# nothing\n": `postmortem/section`,
		"## Corrective Actions & Lessons Learned\n**Lesson:** x\n**Action:** y": `postmortem/task postmortem/date`,
		head + "**Lesson:** x\n":                                                   `4:postmortem/item`,
		head + "**Action:** x\n":                                                   `4:postmortem/item`,
		head + "**Lesson:** x\n**Action:** y\n**Action:** z\n":                     `6:postmortem/item`,
		head + "**Lesson:**\n**Action:** y\n":                                      `4:postmortem/item`,
		head + "**Lesson:** \u202e\n**Action:** y\n":                               `4:postmortem/item`,
		head + "**Lesson:** x\n**Action:** y\n```\n## not a heading\n":             `4:postmortem/item`,
		head + "## 2. Corrective actions & lessons learned\n":                      `4:postmortem/section`,
		head + "**Lesson:** " + strings.Repeat("x", MaxLine) + "\n**Action:** y\n": `4:postmortem/item`,
		"\xff":                               `postmortem/utf8`,
		strings.Repeat("x", MaxPostMortem+1): `postmortem/size`,
		head:                                 "",
	} {
		_, found := Extract("p.md", []byte(text))
		var got []string
		for _, d := range found {
			place := ""
			if d.Line > 0 {
				place = fmt.Sprintf("%d:", d.Line)
			}
			got = append(got, place+d.Rule)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%.200q: %s, want %s", text, s, want)
		}
	}
}

func TestFile(t *testing.T) {
	list := extract(t, postMortem)
	data := Format(list)
	again, found := Parse(data)
	if len(found) > 0 || !slices.Equal(again, list) || !bytes.Equal(Format(again), data) {
		t.Fatal(found)
	}
	same, n, err := Add(data, list)
	if err != nil || n != 0 || !bytes.Equal(same, data) {
		t.Errorf("adding what is there: %d, %v", n, err)
	}
	marked, err := Mark(data, list[1].ID, Applied, "")
	if err != nil || bytes.Count(marked, []byte(`"applied"`)) != 1 {
		t.Errorf("%v\n%s", err, marked)
	}
	if back, _ := Mark(marked, list[1].ID, Pending, ""); !bytes.Equal(back, data) {
		t.Error("Mark changed more than it should")
	}
	now, _ := Parse(marked)
	if found := CheckUpdate(list, now, marked); len(found) > 0 {
		t.Error(found)
	}
	merged, err := Merge(list[:3], now, list)
	if err != nil || !slices.Equal(merged, now) {
		t.Errorf("%v: %+v", err, merged)
	}
	both, err := MergeFiles(Format(list[:2]), marked)
	if err != nil || !bytes.Equal(both, marked) {
		t.Errorf("%v\n%s", err, both)
	}
	if both, err = MergeFiles(append(marked, Format([]Lesson{{ID: "L-x", TaskID: "D-2", Date: "2026-11-21", Lesson: "x", Action: Action{Type: None}, Status: Noted}})...), data); err != nil || !bytes.HasPrefix(both, marked) || bytes.Count(both, []byte("\n")) != len(list)+1 {
		t.Errorf("%v\n%s", err, both)
	}
	now[1].Lesson = "another"
	if _, err := MergeFiles(data, Format(now)); err == nil {
		t.Error("merged two lessons of one id")
	}
	if found := CheckUpdate(list, now[1:], Format(now[1:])); len(found) != 2 || found[1].Line != 1 || found[0].Rule != ruleFixed {
		t.Error(found)
	}
	if _, err := Merge(list, now); err == nil {
		t.Error("two lessons of one id")
	}
	if _, err := Mark(data, "L-0", Applied, ""); err == nil {
		t.Error("marked what is not there")
	}
}

func TestFaults(t *testing.T) {
	line := func(action, rest string) string {
		return `{"lesson_id":"L-1","task_id":"D-1","date":"2026-11-21","lesson":"x","action":` + action + `,"status":"pending","reason":""` + rest + "}\n"
	}
	none := `{"type":"none","command":"","parameters":{}}`
	for text, want := range map[string]string{
		line(none, ""):                  "",
		line(none, "") + "{}":           "2:1 the last line has no newline; 2:1 the member lesson_id is missing or empty",
		line(none, "") + line(none, ""): `2:1 lesson_id "L-1" stands on line 1 already`,
		line(none, `,"note":1`):         "1:",
		"\n":                            "1:1 not valid JSON: unexpected EOF",
		"// a comment\n":                "1:1 not valid JSON",
		strings.Replace(line(none, ""), "L-1", "../x", 1):                                                                           `1:1 "../x" is not the id of a lesson`,
		strings.Replace(line(none, ""), "2026-11-21", "today", 1):                                                                   `1:1 the date "today"`,
		strings.Replace(line(none, ""), "pending", "done", 1):                                                                       `1:1 the status "done"`,
		line(`{"type":"none","command":"rm","parameters":{}}`, ""):                                                                  `1:1 there is no action "none" with the command "rm"`,
		line(`{"type":"UPDATE_PROTOCOL","command":"add-tool","parameters":{}}`, ""):                                                 "1:1 the action lacks protocol_id or tool_name",
		line(`{"type":"UPDATE_PROTOCOL","command":"update-rule","parameters":{"protocol_id":"p"}}`, ""):                             "1:1 the action lacks protocol_id, rule_id",
		line(`{"type":"UPDATE_PROTOCOL","command":"add-tool","parameters":{"protocol_id":"p","tool_name":"t","diff":"x"}}`, ""):     "1:1 the action has parameters that",
		line(`{"type":"PROPOSE_CODE_CHANGE","command":"replace_with_git_merge_diff","parameters":{"filepath":"../x"}}`, ""):         `1:1 the path "../x" is not the plain path`,
		line(`{"type":"PROPOSE_CODE_CHANGE","command":"replace_with_git_merge_diff","parameters":{"filepath":"AGENTS.md"}}`, ""):    `1:1 the path "AGENTS.md" is not changed by a diff`,
		line(`{"type":"PROPOSE_CODE_CHANGE","command":"replace_with_git_merge_diff","parameters":{"filepath":"a/.GIT/x"}}`, ""):     `leads into .git`,
		line(`{"type":"PROPOSE_CODE_CHANGE","command":"replace_with_git_merge_diff","parameters":{"filepath":"x","diff":"y"}}`, ""): "1:1 the diff is no merge diff: line 1",
		"\xff\n":                              "1:1 not valid JSON",
		strings.Repeat("x", MaxLine+1) + "\n": "1:1 the lesson has 65538 bytes",
		strings.Repeat("\n", MaxBytes+1):      "0:0 the file has",
	} {
		_, found := Parse([]byte(text))
		var got []string
		for _, d := range found {
			got = append(got, fmt.Sprintf("%d:%d %s", d.Line, d.Col, d.Message))
		}
		if s := strings.Join(got, "; "); (want == "") != (s == "") || !strings.Contains(s, want) {
			t.Errorf("%.100q:\n%s\nwant %s", text, s, want)
		}
	}
}

// replayTree is a small repository.
func replayTree() Tree {
	files := map[string][]byte{"greet.sh": []byte("#!/bin/sh\necho \"Hello, $1.\"\n  # indented\n")}
	return Tree{
		Protocols: []charter.File{
			{Path: "protocols/a.protocol.md", Data: []byte("# A\n")},
			{Path: "protocols/p.protocol.json", Data: []byte(`{"protocol_id":"p-1","description":"d","rules":[{"rule_id":"r-1","description":"old","enforcement":"e"}],"associated_tools":["old"]}`)},
		},
		File: func(p string) ([]byte, error) { return files[p], nil },
	}
}

func TestReplay(t *testing.T) {
	tree := replayTree()
	for i, l := range extract(t, postMortem) {
		changed, err := l.Replay(tree)
		var cannot *CannotApply
		switch {
		case l.Action.Type == None && errors.As(err, &cannot):
			continue
		case err != nil || len(changed) != 2:
			t.Errorf("%d: %v, %v", i, changed, err)
			continue
		case l.Action.Type == CodeChange:
			if changed[0].Path != l.PlanPath() || changed[1].Path != "greet.sh" || !strings.Contains(string(changed[1].Data), "${1:-you}") {
				t.Errorf("%s", changed)
			}
			continue
		}
		tree.Protocols[1] = changed[1]
		compiled, _ := charter.Compile(tree.Protocols)
		if changed[0].Path != charter.Compiled || !bytes.Equal(changed[0].Data, compiled) {
			t.Errorf("%d: AGENTS.md is not compiled", i)
		}
		again, err := l.Replay(tree)
		if gone := l.Action.Command == string(charter.RemoveTool); len(again) > 0 || errors.As(err, &cannot) != gone {
			t.Errorf("%d: replayed twice: %v, %v", i, again, err)
		}
	}
	p, _ := charter.Parse(tree.Protocols[1])
	if p.Rules[0].Description != "Don't guess: look it up." || !slices.Equal(p.Tools, []string{"git ward plan show"}) {
		t.Errorf("%+v", p)
	}
}

// TestPlan: the plan says what the lesson says, whatever lines the diff has.
func TestPlan(t *testing.T) {
	l := Lesson{ID: "L-1", Action: Action{CodeChange, DiffTool, Parameters{File: "a/b.txt",
		Diff: "<<<<<<< SEARCH\n---\nEND\n=======\n# FSM: fdc\n---\n>>>>>>> REPLACE\n"}}}
	p, found := plan.Parse(l.Plan(), l.PlanPath())
	if len(found) > 0 || p.Machine() != fsm.Sub || len(p.Steps) != 1 || p.Steps[0].Block != l.Action.Parameters.Diff || p.Steps[0].Args != "a/b.txt" {
		t.Errorf("%v: %+v", found, p)
	}
	if bad, err := l.lint(replayTree()); bad == "" || err != nil {
		t.Errorf("a plan for a file that is not there passes lint: %v", err)
	}
}

// TestCannotApply: nothing is changed, and the reason names what is wrong.
func TestCannotApply(t *testing.T) {
	const head = "**Task ID:** D-1\n**Date:** 2026-11-21\n## Corrective Actions & Lessons Learned\n**Lesson:** x\n**Action:** "
	const diff = "\n```\n<<<<<<< SEARCH\nnowhere\n=======\n>>>>>>> REPLACE\n```\n"
	for action, want := range map[string]string{
		"add tool 't' to protocol 'p-2'":             `there is no protocol "p-2"; the nearest is "p-1"`,
		"update rule 'r-2' in protocol 'p-1' to 'x'": `protocol "p-1" has no rule "r-2"; the nearest is "r-1"`,
		"PROPOSE_CODE_CHANGE 'nofile'" + diff:        "there is no file nofile",
		"PROPOSE_CODE_CHANGE 'greet.sh'" + diff:      `greet.sh: hunk 1: its lines are not in the file: "nowhere"`,
	} {
		changed, err := extract(t, head+action)[0].Replay(replayTree())
		var cannot *CannotApply
		if !errors.As(err, &cannot) || cannot.Reason != want || changed != nil {
			t.Errorf("%s: %v, %v", action, changed, err)
		}
	}
	trouble := errors.New("disk")
	tree := replayTree()
	tree.File = func(string) ([]byte, error) { return nil, trouble }
	if _, err := extract(t, head+"PROPOSE_CODE_CHANGE 'greet.sh'"+diff)[0].Replay(tree); !errors.Is(err, trouble) {
		t.Error(err)
	}
}

func FuzzExtract(f *testing.F) {
	f.Add([]byte(postMortem))
	f.Add([]byte("**Task ID:** a\n**Date:** 2026-11-21\n# 1. Corrective Actions & Lessons Learned\n**Lesson:** x\n**Action:** add tool ''' to protocol '''"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, found := Extract("p.md", data)
		for _, d := range found {
			if d.Line < 0 || d.Line > 1+bytes.Count(data, []byte("\n")) || d.Message == "" || d.Hint == "" {
				t.Fatalf("%+v", d)
			}
		}
		if diag.HasErrors(found) {
			return
		}
		again, found := Parse(Format(list))
		if len(found) > 0 || !slices.Equal(again, list) {
			t.Fatalf("%v: %+v came back as %+v", found, list, again)
		}
		for _, l := range list {
			l.Replay(replayTree())
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"lesson_id":"L-1","task_id":"D-1","date":"2026-11-21","lesson":"x","action":{"type":"none","command":"","parameters":{}},"status":"pending","reason":""}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, found := Parse(data)
		again, _ := Parse(Format(list))
		if !slices.Equal(again, list) {
			t.Fatalf("%+v came back as %+v", list, again)
		}
		if diag.HasErrors(found) {
			return
		}
		if _, err := Merge(list, list); err != nil {
			t.Fatal(err)
		}
		for _, l := range list {
			marked, err := Mark(data, l.ID, Failed, "no")
			if err != nil {
				t.Fatal(err)
			}
			if after, bad := Parse(marked); len(bad) > 0 || len(CheckUpdate(list, after, marked)) > 0 {
				t.Fatalf("%q became %q: %v", data, marked, bad)
			}
		}
	})
}
