package activity

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// validate holds every line of a log to the schema and returns the entries.
func validate(t *testing.T, path string) []Entry {
	t.Helper()
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("urn:activity", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("urn:activity")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []Entry
	for line := range bytes.Lines(data) {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if err := compiled.Validate(value); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

func TestLog(t *testing.T) {
	dir := t.TempDir() + "/logs"
	l, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	l.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2", "[secret]") }
	ok := Outcome{Status: Success, Message: "done"}
	long := strings.Repeat("x", maxText+10)
	for _, e := range []Entry{
		{Phase: "EXECUTING", Action: Action{Type: Info}, Outcome: ok},
		{ID: UUID("a"), Phase: "EXECUTING", Task: Task{"D-1", "plans/D-1.plan.txt#3"}, Evidence: []string{"a hunter2"}, Execution: Execution{[]string{"p#1", "q#2"}},
			Action: Action{ToolExec, map[string]any{"args": "say hunter2", "list": []string{"hunter2"}, "bytes": 3}}, Outcome: Outcome{Failure, "", "hunter2 " + long}},
		{Phase: "PLANNING", Action: Action{CriticFeedback, map[string]any{"text": []string{long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long}}}, Outcome: ok},
	} {
		if err := l.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	all := validate(t, l.path)
	if len(all) != 3 || all[0].Session != all[2].Session || all[1].ID != UUID("a") || all[0].ID == all[2].ID {
		t.Errorf("%+v", all)
	}
	if data, _ := os.ReadFile(l.path); bytes.Contains(data, []byte("hunter2")) || !bytes.Contains(data, []byte("say [secret]")) {
		t.Errorf("%s", data)
	}
	for id, want := range map[string]bool{UUID("a"): true, UUID("b"): false} {
		if has, err := l.Has(id); has != want || err != nil {
			t.Errorf("%s: %v, %v", id, has, err)
		}
	}
}

// TestCutLine: what a crash left does not spoil the line after it.
func TestCutLine(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/"+Name, []byte(`{"log_id":"cut of`), 0o644)
	l, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Append(Entry{Phase: "START", Action: Action{Type: Info}, Outcome: Outcome{Status: Success}}); err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(l.path)
	if lines := strings.Split(string(data), "\n"); len(lines) != 3 || lines[0] != `{"log_id":"cut of` || !json.Valid([]byte(lines[1])) {
		t.Errorf("%q", data)
	}
}
