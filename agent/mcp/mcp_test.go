package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"git-ward/agent/tool"
	"git-ward/internal/worktree"
)

// connect is a client of a server on a directory with these files, in one process.
func connect(t *testing.T, commands map[string]Command, files map[string]string) *sdk.ClientSession {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	server := New(Options{Version: "1", Box: &tool.Box{Dir: dir, State: t.TempDir()}, Commands: commands})
	there, here := sdk.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), there, nil); err != nil {
		t.Fatal(err)
	}
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// TestArguments: each typed tool runs its command with these words; a file's name is
// never taken for an option.
func TestArguments(t *testing.T) {
	echo := func(word string) Command {
		return func(_ context.Context, args []string, stdout, _ io.Writer) int {
			fmt.Fprintln(stdout, word, strings.Join(args, " "))
			return 0
		}
	}
	commands := map[string]Command{}
	for _, word := range strings.Fields("plan udc lesson uow report task orient research knowledge") {
		commands[word] = echo(word)
	}
	client := connect(t, commands, nil)
	for _, c := range []struct{ tool, input, want string }{
		{"plan_lint", `{}`, "plan lint --json --"},
		{"plan_grammar", `{}`, "plan lint --grammar"},
		{"plan_grammar", `{"schema":true}`, "plan lint --grammar --schema"},
		{"plan_run", `{"plan":"--x"}`, "plan run -- --x"},
		{"task_start", `{"task":"D-2"}`, "task start --task-id=D-2"},
		{"task_close", `{}`, "task close"},
		{"orient", `{"unknowns":["--x","b c"]}`, "orient --json --unknown=--x --unknown=b c"},
		{"research_plan", `{"topic":"--offline","offline":true}`, "research plan --offline -- --offline"},
		{"research_run", `{"plan":"p.txt"}`, "research run -- p.txt"},
		{"knowledge_build", `{}`, "knowledge build"},
		{"knowledge_find", `{"words":"--deep"}`, "knowledge find -- --deep"},
		{"knowledge_find", `{"words":"who counts","in":["symbols","files"],"deep":true}`, "knowledge find --deep --in=symbols,files -- who counts"},
		{"lesson_extract", `{"post_mortem":"-m.md"}`, "lesson extract -- -m.md"},
		{"plan_lint", `{"files":["a","--fix"]}`, "plan lint --json -- a --fix"},
		{"plan_analyze", `{"plans":["p"]}`, "plan lint --analyze --json -- p"},
		{"udc_check", `{"files":["a.udc"]}`, "udc check --json -- a.udc"},
		{"udc_run", `{"files":["a.udc"],"max_instructions":5,"max_cells":6,"max_time":"1s"}`, "udc run --json --max-instructions=5 --max-cells=6 --max-time=1s -- a.udc"},
		{"udc_analyze", `{"files":["a.udc"]}`, "udc check --analyze --json -- a.udc"},
		{"lesson_list", `{}`, "lesson list --json"},
		{"lesson_list", `{"all":true}`, "lesson list --json --all"},
		{"uow_show", `{"unit":"D-1.1"}`, "uow show --json -- D-1.1"},
		{"comms_report", `{"status":"INFO","text":"-m=x"}`, "report --append --status=INFO -m=-m=x"},
		{"comms_report", `{"status":"INFO","directive":"D-1","text":"x"}`, "report --append --status=INFO -m=x --directive=D-1"},
	} {
		r, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: c.tool, Arguments: json.RawMessage(c.input)})
		if err != nil {
			t.Fatal(c.tool, err)
		}
		if got := r.StructuredContent.(map[string]any)["text"]; got != c.want+"\n" {
			t.Errorf("%s %s: %q, want %q", c.tool, c.input, got, c.want)
		}
	}
}

// TestMissingCommands: what the caller does not have is not offered.
func TestMissingCommands(t *testing.T) {
	list, err := connect(t, nil, nil).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	if got := strings.Join(names, " "); got != "bash bootstrap comms_read read_file rollback write_file" {
		t.Error(got)
	}
}

// TestRun: JSON objects become results, other lines and errors stay text, and an
// answer that no model could take is left out.
func TestRun(t *testing.T) {
	for name, c := range map[string]struct {
		exit           int
		stdout, stderr string
		results        string
		text           string
	}{
		"nothing":           {0, "", "", `[]`, ""},
		"lines and objects": {1, "{\"a\":1}\nplain\n{\"b\":2}\n", "", `[{"a":1},{"b":2}]`, "plain\n"},
		"64 bits":           {0, "{\"R0\":9007199254740993}\n", "", `[{"R0":9007199254740993}]`, ""},
		"half an object":    {0, "{\"a\":\n", "", `[]`, "{\"a\":\n"},
		"trouble":           {2, "", "git-ward: error: no\n", `[]`, "git-ward: error: no\n"},
		"too much":          {0, strings.Repeat("x", maxAnswer+1), "", `[]`, "the answer has 262145 bytes, more than 262144: ask for less at once\n"},
	} {
		a := run(t.Context(), func(_ context.Context, _ []string, stdout, stderr io.Writer) int {
			io.WriteString(stdout, c.stdout)
			io.WriteString(stderr, c.stderr)
			return c.exit
		}, nil)
		results, err := json.Marshal(a.Results)
		if strings.Contains(a.String(), `\"`) || a.String() == "" {
			t.Errorf("%s: %q is not to be read", name, a)
		}
		if err != nil || a.Exit != c.exit || string(results) != c.results || a.Text != c.text {
			t.Errorf("%s: exit %d, %s, %.80q %v", name, a.Exit, results, a.Text, err)
		}
	}
}

// TestReadComms: COMMS.md taken apart, of one directive where one is named, with
// what is wrong in it.
func TestReadComms(t *testing.T) {
	const document = "# COMMS\n## Directives\n### D-1: one\nThe goal.\n- [ ] it is there (`test -e x`)\n### D-2: two\n- [ ] any\n## Reports\n" +
		"### R-1 2026-11-21T09:00:00Z D-2 INFO\nBegun.\n"
	for _, c := range []struct{ only, directives, reports string }{
		{"", "D-1 open test -e x, D-2 open ", "R-1"},
		{"D-1", "D-1 open test -e x", ""},
		{"D-2", "D-2 open ", "R-1"},
		{"D-9", "", ""},
	} {
		out := readComms([]byte(document), c.only)
		var directives, reports []string
		for _, d := range out.Directives {
			directives = append(directives, d.Name+" "+d.State+" "+d.Criteria[0].Command)
		}
		for _, r := range out.Reports {
			reports = append(reports, r.Name)
		}
		if strings.Join(directives, ", ") != c.directives || strings.Join(reports, ", ") != c.reports || len(out.Findings) > 0 {
			t.Errorf("%q: %q %q %q", c.only, directives, reports, out.Findings)
		}
	}
	if out := readComms([]byte("# COMMS\n## Directives\n### D-x: one\n"), ""); len(out.Findings) == 0 {
		t.Error("a document that is wrong has no finding")
	}
}

// TestResources: what is below the directory and is meant to be read, and nothing else.
func TestResources(t *testing.T) {
	client := connect(t, nil, map[string]string{
		"COMMS.md": "# COMMS\n", "spec/SPEC_core.md": "The core.\n", "spec/secret.md": "no\n", "spec/SPEC_large.md": strings.Repeat("x", maxResource+1),
		"evidence/D-2/loop/iter_9/cnf_capsule.json": "9", "evidence/D-2/loop/iter_10/cnf_capsule.json": "10", "evidence/D-1/loop/iter_11/cnf_capsule.json": "11",
	})
	for uri, want := range map[string]string{
		"ward:///COMMS.md": "# COMMS\n", "ward:///spec/SPEC_core.md": "The core.\n", "ward:///capsule": "10",
		"ward:///spec/secret.md": "", "ward:///spec/SPEC_large.md": "", "ward:///spec/SPEC_none.md": "", "ward:///spec/..%2FCOMMS.md": "", "ward:///etc/passwd": "",
	} {
		r, err := client.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		switch {
		case (err != nil) != (want == ""):
			t.Errorf("%s: %v", uri, err)
		case err == nil && r.Contents[0].Text != want:
			t.Errorf("%s: %q", uri, r.Contents[0].Text)
		}
	}
}

// TestClone: in an agent's clone of an adopted project COMMS.md is control's, and the
// capsule is among the papers.
func TestClone(t *testing.T) {
	dir := t.TempDir()
	tree := &worktree.Tree{Dir: dir, Env: append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org")}
	write := func(name, text string) {
		t.Helper()
		if err := tree.Write(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		t.Helper()
		if _, err := tree.Git(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "--quiet", "--initial-branch=ward")
	write("COMMS.md", "# COMMS\n## Directives\n### D-1: control's\n## Reports\n")
	git("add", "--all")
	git("commit", "--quiet", "--message=control")
	git("update-ref", "refs/remotes/origin/ward", "HEAD")
	git("config", "ward.control", "ward")
	git("config", "ward.project", "master")
	git("config", "ward.record", ".ward")
	write("COMMS.md", "the project's own")
	write(".ward/evidence/D-1/loop/iter_2/cnf_capsule.json", "{}")
	o := &Options{Box: &tool.Box{Dir: dir}}
	if data, err := o.commsFile(t.Context()); err != nil || !strings.Contains(string(data), "control's") {
		t.Errorf("%q, %v", data, err)
	}
	if name, err := o.capsule(); err != nil || name != ".ward/evidence/D-1/loop/iter_2/cnf_capsule.json" {
		t.Errorf("%q, %v", name, err)
	}
}
