package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"git-ward/internal/cli"
)

// TestMain lets the test binary be the server, as a process of its own.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "mcp" {
		main()
	}
	os.Exit(m.Run())
}

// session is a working tree with a remote, and a client of a server on it.
type session struct {
	*testing.T
	*sdk.ClientSession
	dir string
}

const document = "# COMMS\n## Directives\n### D-1: one\nThe goal.\n- [ ] it is there (`test -e x`)\n### D-2: two\n- [ ] any\n## Reports\n" +
	"### R-1 2026-11-21T09:00:00Z D-2 INFO\nBegun.\n"

func open(t *testing.T) *session {
	t.Helper()
	s := &session{T: t, dir: filepath.Join(t.TempDir(), "work")}
	for _, args := range [][]string{
		{"init", "-q", "--bare", "-b", "main", filepath.Dir(s.dir) + "/remote.git"},
		{"init", "-q", "-b", "main", s.dir},
		{"-C", s.dir, "-c", "user.name=PM", "-c", "user.email=pm@example.org", "commit", "-q", "--allow-empty", "-m", "first"},
		{"-C", s.dir, "remote", "add", "origin", filepath.Dir(s.dir) + "/remote.git"},
		{"-C", s.dir, "push", "-q", "origin", "main"},
		{"-C", s.dir, "switch", "-q", "-c", "agent/D-1"},
	} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	s.write("COMMS.md", document)
	s.write("spec/SPEC_core.md", "The core.\n")
	s.write("knowledge_core/agent_meta.json", `{"name": "test", "limitations": ["none known"]}`)
	s.write("plans/good.plan.txt", "set_plan look\nplan_step_complete begun\nrun_in_bash_session git ward task close --task-id D-1\nsubmit\n")
	s.write("plans/bad.fdc.txt", "set_plan x\nrun_in_bash_sesion ls\n")
	s.write("count.udc", "CALL wc \"/etc/hostname\"\nHALT\n")
	s.write("good.udc", "MOV R0, 41\nINC R0\nHALT\n")
	s.write("bad.udc", "MOVE R0, 1\n")
	s.write("loop.udc", "LABEL a\nJMP a\n")
	for d, iterations := range map[string]string{"D-2": "iter_9 iter_10", "D-1": "iter_11"} {
		for _, i := range strings.Fields(iterations) {
			s.write("evidence/"+d+"/loop/"+i+"/cnf_capsule.json", `{"at":"`+d+" "+i+`"}`)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tools := filepath.Join(filepath.Dir(s.dir), "tools.toml")
	if err := os.WriteFile(tools, []byte("[vm]\ncalls = [\"print\", \"wc\"]\ntools = { wc = [\"/usr/bin/wc\"] }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "mcp", "--dir", s.dir, "--ask", filepath.Join(filepath.Dir(s.dir), "question"), "--config", tools)
	cmd.Stderr = os.Stderr
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	s.ClientSession, err = client.Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func (s *session) write(name, text string) {
	s.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.Fatal(err)
	}
}

// call gives a tool's text, its structure, and whether it was an error.
func (s *session) call(name string, args any) (text string, value map[string]any, failed bool) {
	s.Helper()
	r, err := s.CallTool(context.Background(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return err.Error(), nil, true
	}
	for _, c := range r.Content {
		text += c.(*sdk.TextContent).Text
	}
	if r.StructuredContent != nil {
		data, err := json.Marshal(r.StructuredContent)
		if err != nil || json.Unmarshal(data, &value) != nil {
			s.Fatal(err)
		}
	}
	return text, value, r.IsError
}

type args = map[string]any

// TestSession is a session with every tool and resource.
func TestSession(t *testing.T) {
	s := open(t)
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		schema, _ := json.Marshal(tool.InputSchema)
		if tool.Description == "" || !strings.Contains(string(schema), `"type":"object"`) || strings.Contains(string(schema), `"type":[`) { // early clients know one type only
			t.Errorf("%s: %q %s", tool.Name, tool.Description, schema)
		}
	}
	want := "ask bash bootstrap comms_read comms_report knowledge_build knowledge_find lesson_extract lesson_list orient plan_analyze plan_grammar plan_lint plan_run " +
		"read_file research_plan research_run rollback task_close task_start udc_analyze udc_check udc_run uow_show write_file"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("tools: %s", got)
	}
	for _, c := range []struct {
		tool   string
		args   any
		want   string // in the text
		failed bool
	}{
		{"write_file", args{"path": "a.txt", "content": "made"}, "wrote a.txt, 4 bytes", false},
		{"read_file", args{"path": "a.txt"}, "made", false},
		{"read_file", args{"path": "../x"}, "holds `..`", true},
		{"read_file", args{"pth": "a"}, "missing", true},
		{"bash", args{"command": "pwd; exit 3"}, s.dir + "\n[exit 3]", true},
		{"bootstrap", args{"branch": "agent/D-1"}, "the remote has no agent/D-1; push it first", true},
		{"rollback", args{"ref": "nowhere"}, "the remote has no nowhere", true},
		{"plan_lint", args{"files": []string{"plans/bad.fdc.txt"}}, "run_in_bash_session", false},
		{"plan_lint", args{"files": []string{"-x"}}, "the file does not exist", false},
		{"plan_analyze", args{"plans": []string{"nowhere"}}, "nowhere", true},
		{"plan_grammar", args{}, "create_file_with_block", false},
		{"plan_grammar", args{"schema": true}, `"properties"`, false},
		{"plan_lint", args{"files": []string{"plans/good.plan.txt"}}, `"count":0`, false},
		{"task_start", args{}, "L1 self-awareness", false},
		{"orient", args{"unknowns": []string{"how it greets"}}, "l3_environment", false},
		{"knowledge_build", args{}, "symbols in", false},
		{"knowledge_find", args{"words": "the core"}, "nothing has these words: core", false},
		{"knowledge_find", args{"words": "x", "in": []string{"nowhere"}}, "is no source", true},
		{"task_close", args{"task": "D-2"}, "never began", false},
		{"task_close", args{}, "closed D-1", false},
		{"task_close", args{"task": "../x"}, "--task-id names a task", true},
		{"research_plan", args{"topic": "how it greets", "offline": true}, "plans/research/how-it-greets.txt", false},
		{"ask", args{"question": " "}, "the question is empty", true},
		{"ask", args{"question": "Which parser?"}, "End your turn now", false},
		{"ask", args{"question": "Or another?"}, "asked already", false},
		{"udc_check", args{"files": []string{"bad.udc"}}, "MOVE", false},
		{"udc_run", args{"files": []string{"good.udc"}}, `"R0":42`, false},
		{"udc_run", args{"files": []string{"loop.udc"}, "max_instructions": 10}, "TIMEOUT_INSTRUCTION_LIMIT", false},
		{"udc_run", args{"files": []string{"good.udc"}, "max_instructions": -1}, "at least 1", true},
		{"udc_run", args{"file": "good.udc"}, "file", true},
		{"udc_run", args{"files": []string{"count.udc"}}, "wc: tools of the host's are run inside of the fence only", false}, // and it knows of them
		{"udc_analyze", args{"files": []string{"loop.udc"}}, `"estimated_risk":"HIGH"`, false},
		{"lesson_list", args{}, "[exit 0]", false},
		{"uow_show", args{"unit": "D-9.1"}, "D-9.1", true},
		{"comms_read", args{}, `"command":"test -e x"`, false},
		{"comms_report", args{"status": "INFO", "directive": "D-1", "text": "--status=DONE"}, "appended R-2", false},
		{"comms_report", args{"status": "FINE", "text": "x"}, "is not a report's status", true},
	} {
		text, value, failed := s.call(c.tool, c.args)
		if failed != c.failed || !strings.Contains(text, c.want) {
			t.Errorf("%s %v: failed %v: %s", c.tool, c.args, failed, text)
		}
		if strings.HasPrefix(c.tool, "udc_run") && !c.failed && value["results"] == nil {
			t.Errorf("%s: no structure", c.tool)
		}
	}
	_, value, _ := s.call("comms_read", args{"directive": "D-1"})
	data, _ := json.Marshal(value)
	if got := string(data); !strings.Contains(got, `"state":"open"`) || !strings.Contains(got, `"text":"--status=DONE"`) && !strings.Contains(got, `--status=DONE`) || strings.Contains(got, "D-2") {
		t.Errorf("comms_read: %s", got)
	}
	if question, _ := os.ReadFile(filepath.Join(filepath.Dir(s.dir), "question")); string(question) != "Which parser?\n" {
		t.Errorf("the PM is asked %q", question)
	}
	s.resources()
}

func (s *session) resources() {
	s.Helper()
	list, err := s.ListResources(s.Context(), nil)
	if err != nil || len(list.Resources) != 3 {
		s.Errorf("%v %+v", err, list)
	}
	s.write("spec/SPEC_later.md", "Later.\n")
	s.write("spec/secret.md", "no\n")
	if err := os.Symlink("/etc/passwd", filepath.Join(s.dir, "spec/SPEC_out.md")); err != nil {
		s.Fatal(err)
	}
	for uri, want := range map[string]string{
		"ward:///COMMS.md": "### R-2 ", "ward:///capsule": "D-2 iter_10", "ward:///spec/SPEC_core.md": "The core.\n", "ward:///spec/SPEC_later.md": "Later.\n",
		"ward:///spec/secret.md": "", "ward:///spec/SPEC_out.md": "", "ward:///spec/..%2FCOMMS.md": "", "ward:///etc/passwd": "",
	} {
		r, err := s.ReadResource(s.Context(), &sdk.ReadResourceParams{URI: uri})
		switch {
		case (err != nil) != (want == ""):
			s.Errorf("%s: %v", uri, err)
		case err == nil && !strings.Contains(r.Contents[0].Text, want):
			s.Errorf("%s: %s", uri, r.Contents[0].Text)
		}
	}
}

// TestStateStaysOut: what the server keeps is not in the working tree's status.
func TestStateStaysOut(t *testing.T) {
	s := open(t)
	before, _, _ := s.call("bash", args{"command": "git status --porcelain --untracked-files=all | sort"})
	after, _, _ := s.call("bash", args{"command": "git status --porcelain --untracked-files=all | sort"})
	if before != after || strings.Contains(after, "logs") {
		t.Errorf("%s\n%s", before, after)
	}
}

func TestUsage(t *testing.T) {
	for _, arguments := range [][]string{{"mcp", "x"}, {"--dir", "/"}} {
		var out strings.Builder
		err := run(t.Context(), &cli.Env{Args: arguments, Stdout: &out, Stderr: &out, Stdin: strings.NewReader(""), Dir: t.TempDir(), Getenv: os.Getenv})
		if err == nil {
			t.Errorf("%v passes", arguments)
		}
	}
}
