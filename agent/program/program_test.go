package program

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"git-ward/agent/gateway"
	"git-ward/agent/model"
	"git-ward/agent/preset"
	"git-ward/agent/prompt"
	"git-ward/agent/stop"
	"git-ward/internal/config"
	"git-ward/internal/gittest"
	"git-ward/protocols/comms"
)

// newProgram runs a line of sh in a working tree that orientation has nothing against.
func newProgram(t *testing.T, line string) *Program {
	dir := t.TempDir()
	meta := filepath.Join(dir, "knowledge_core", "agent_meta.json")
	if err := errors.Join(os.Mkdir(filepath.Dir(meta), 0o755), os.WriteFile(meta, []byte(`{"name": "test", "limitations": ["none known"]}`), 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "--quiet", "--initial-branch=main"}, {"add", "--all"}, {"-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "--quiet", "--message=first"}, {"remote", "add", "origin", "."},
		{"fetch", "--quiet", "origin"}, {"config", "ward.record", ".ward"}, {"config", "core.excludesFile", filepath.Join(dir, ".git", "papers")}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	c := config.Default()
	c.Model.Command, c.Model.Prompt = []string{"sh", "-c", line}, "stdin"
	doc, _ := comms.Parse([]byte("# COMMS\n\n## Directives\n\n### D-1: greet\n\nSay hello.\n\n## Reports\n"))
	if err := os.WriteFile(filepath.Join(dir, ".git", "papers"), []byte("/.ward/\n"), 0o644); err != nil { // as in an agent's clone
		t.Fatal(err)
	}
	return &Program{
		Config: c, Dir: dir, AskGrace: 100 * time.Millisecond, Unit: "D-1.1", State: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}, Log: zerolog.Nop(),
		Getenv: getenv(nil),
		Prompt: prompt.Prompt{System: "The system.\n\n", Directive: doc.Directives[0], Guidance: "# What the project says\n\nTabs.\n", Lessons: "# Lessons\n\n- L-1\n", Branch: "agent/D-1"},
	}
}

// getenv is an environment that orientation has nothing against.
func getenv(more map[string]string) func(string) string {
	return func(name string) string {
		if name == "PATH" || name == "HOME" {
			return os.Getenv(name)
		}
		return more[name]
	}
}

func TestSolve(t *testing.T) {
	missing := func(code int) string {
		return fmt.Sprintf("The command of [model] command failed: exit %d. That is how a shell says that a program is missing, or cannot be executed, where the worker runs.", code)
	}
	for name, c := range map[string]struct {
		line  string
		words string // the beginning
		kind  stop.Kind
		why   string // the beginning of it, and a part of its output
		last  string
	}{
		"words":         {line: "echo the last words", words: "the last words\n\n(It took "},
		"silence":       {line: "true", words: "The command printed nothing.\n\n(It took "},
		"the prompt":    {line: "sed -n 's/^# Your directive: //p'", words: "D-1\n\n(It took "},
		"child killed":  {line: "sh -c 'kill -9 $$'; exit $?", kind: stop.Killed, why: "The command of [model] command failed: exit 137, for what it ran was killed.", last: "illed"},
		"killed":        {line: "kill -9 $$", kind: stop.Killed, why: "The command of [model] command failed: killed by signal 9, killed."},
		"a failure":     {line: "echo why; exit 3", kind: stop.Unfinished, why: "The command of [model] command failed: exit 3.", last: "    why\n"},
		"in silence":    {line: "exit 3", kind: stop.Unfinished, why: "The command of [model] command failed: exit 3."},
		"not there":     {line: "no-such-program-of-mine --print", kind: stop.Missing, why: missing(127), last: "no-such-program-of-mine"},
		"not runnable":  {line: "/etc/passwd", kind: stop.Missing, why: missing(126), last: "/etc/passwd"},
		"a half":        {line: "echo half >half; no-such-program-of-mine", kind: stop.Unfinished, why: "The command of [model] command failed: exit 127.", last: "no-such-program-of-mine"},
		"trouble":       {line: "echo 'unknown option --print' >&2; exit 2", kind: stop.Denied, why: "The command of [model] command failed: exit 2. That is how a program says that it is called wrongly, or is in trouble itself.", last: "unknown option"},
		"half, trouble": {line: "echo half >half; exit 2", kind: stop.Unfinished, why: "The command of [model] command failed: exit 2."},
		// What a program prints of money decides nothing.
		"a tale": {line: "echo 'ward: the budget of D-1 is spent'; exit 1", kind: stop.Unfinished, why: "The command of [model] command failed: exit 1.", last: "the budget"},
	} {
		t.Run(name, func(t *testing.T) {
			done, err := newProgram(t, c.line).Solve(t.Context(), "")
			if !strings.HasPrefix(done.Words, c.words) || done.Tally.Calls != 1 || stop.KindOf(err) != c.kind {
				t.Fatalf("%+v, %v", done, err)
			}
			if s := stop.Of(err); s != nil && (s.Why != c.why || !strings.Contains(s.Output, c.last) || (s.Output == "") != (c.last == "")) {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestAbsent: a command of the settings that is not in the tree, though the agent began, waits for
// who can bring it: it is no trouble of the agent's, which another try ends.
func TestAbsent(t *testing.T) {
	p := newProgram(t, "")
	p.Config.Model.Command = []string{"./tools/no-such-program"}
	if _, err := p.Solve(t.Context(), ""); !stop.Is(err, stop.Missing) || !strings.HasPrefix(err.Error(), "[model] command: ./tools/no-such-program does not start: ") {
		t.Error(err)
	}
}

// TestSpent: the gateway's account tells a program that was not paid for from one
// that failed.
func TestSpent(t *testing.T) {
	unpaid := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/anthropic/v1/messages" {
			unpaid++
			w.WriteHeader(http.StatusPaymentRequired)
			return
		}
		io.WriteString(w, map[bool]string{true: `{"unpaid": 1, "why": "the budget of D-1 is spent"}`, false: `{"unpaid": 0, "why": ""}`}[unpaid > 0])
	}))
	defer server.Close()
	p := newProgram(t, "exit 1")
	p.Getenv = getenv(map[string]string{gateway.Anthropic: server.URL + "/anthropic"})
	if _, err := p.Solve(t.Context(), ""); !stop.Is(err, stop.Unfinished) {
		t.Errorf("it made no call: %v", err)
	}
	p.Config.Model.Command = []string{"sh", "-c", "curl --silent --data {} $" + gateway.Anthropic + "/v1/messages; exit 1"}
	if _, err := p.Solve(t.Context(), ""); !stop.Is(err, stop.Spent) || !strings.HasPrefix(err.Error(), "The model is not paid for any more. The command of") {
		if unpaid == 0 {
			t.Skip("SKIPPED: curl is not installed, which the command calls the gateway by")
		}
		t.Errorf("its call was not paid for: %v", err)
	}
}

// TestUnlisted: a program that asked for a model which the settings do not name, and failed, waits
// for the admin; one that came to its end with another model does not.
func TestUnlisted(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"barred": %d, "unlisted": "claude-new"}`, asked)
		asked++ // the program's call, between two accounts
	}))
	defer server.Close()
	for line, kind := range map[string]stop.Kind{"exit 1": stop.Denied, "kill -9 $$": stop.Denied, "true": 0} {
		p := newProgram(t, line)
		p.Getenv = getenv(map[string]string{gateway.Anthropic: server.URL + "/anthropic"})
		_, err := p.Solve(t.Context(), "")
		if stop.KindOf(err) != kind || kind != 0 && !strings.Contains(err.Error(), "asks for the model claude-new, which the host's settings do not name: the admin adds it to [model] also") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// TestAlso: where the model of a known program is away, the program is told to use the next one,
// and that is said; a key that is refused is refused to all.
func TestAlso(t *testing.T) {
	bin := t.TempDir()
	asked := filepath.Join(bin, "asked")
	script := "#!/bin/sh\n[ \"$1\" = --help ] && echo --model && exit\ncat >" + bin + "/prompt\ncase \"$*\" in *'--model one'*) echo >>" + asked + "; echo >made; exit 1;; esac\n" +
		`echo '{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"as you said","usage":{"input_tokens":3,"output_tokens":1}}'` + "\n"
	gittest.Program(t, filepath.Join(bin, "claude"), script)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for _, c := range []struct {
		code  string
		names []string
		kind  stop.Kind
		told  string
	}{
		{"503", []string{"one", "two"}, 0, model.Instead + "two, for one is away: The model did not answer the calls of claude-code (503)"},
		{"404", []string{"one", "two"}, 0, model.Instead + "two, for one is away: The model's provider does not have the model that claude-code asks for (404)"},
		{"404", []string{"one"}, stop.Denied, ""},
		{"503", []string{"one"}, stop.Outage, ""},
		{"401", []string{"one", "two"}, stop.Denied, ""},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			calls, _ := os.ReadFile(asked)
			fmt.Fprintf(w, `{"failed": %d, "trouble": %q}`, len(calls), c.code)
		}))
		defer server.Close()
		p := newProgram(t, "")
		p.Config.Model.Name, p.Preset = "claude-code", preset.Of("claude-code")
		p.Getenv = getenv(map[string]string{gateway.Anthropic: server.URL + "/anthropic", gateway.OpenAI: server.URL + "/openai/v1"})
		told := ""
		p.Models = &model.Order{Names: c.names, Note: func(text string) { told += text }}
		done, err := p.Solve(t.Context(), "")
		if stop.KindOf(err) != c.kind || c.kind == 0 && !strings.HasPrefix(done.Words, "as you said") || !strings.HasPrefix(told, c.told) || (told == "") != (c.told == "") {
			t.Errorf("%s, %v: %q, %v; %q", c.code, c.names, done.Words, err, told)
		}
		if prompt, _ := os.ReadFile(filepath.Join(bin, "prompt")); c.kind == 0 && !strings.Contains(string(prompt), "Changes of the last worker") {
			t.Errorf("the second does not know that there is work of the first:\n%s", prompt)
		}
	}
}

// TestInvocation: what the command gets, and that it is stopped in time.
func TestInvocation(t *testing.T) {
	p := newProgram(t, "")
	p.Config.Model.Command, p.Config.Model.Prompt = []string{"sh", "-c", "cat $1 >told; echo $2 $JAVA_HOME >args", "sh", "{prompt}", "for-{directive}"}, "file"
	p.Getenv = getenv(map[string]string{"JAVA_HOME": "/java", "SECRET": "x"})
	if _, err := p.Solve(t.Context(), "a:1: no\n"); err != nil {
		t.Fatal(err)
	}
	args, _ := os.ReadFile(filepath.Join(p.Dir, "args"))
	told, err := p.Told("told")
	if string(args) != "for-D-1 /java\n" || err != nil {
		t.Errorf("%q, %v", args, err)
	}
	for _, want := range []string{"The system.\n\n# Your directive: D-1\n", "Say hello.", "\n# What the project says\n\nTabs.\n", "\n# Lessons\n\n- L-1\n",
		"The push of agent/D-1 was refused:\n\na:1: no\n", "on the branch agent/D-1."} {
		if !strings.Contains(told, want) {
			t.Errorf("the prompt lacks %q:\n%s", want, told)
		}
	}
	if left, _ := os.ReadDir(filepath.Join(p.State, "prompt")); len(left) > 0 {
		t.Errorf("the prompt is left: %v", left)
	}
	p.Config.Model.Command, p.Config.Model.Timeout.Duration = []string{"sleep", "60"}, 100*time.Millisecond
	if _, err := p.Solve(t.Context(), ""); !stop.Is(err, stop.Unfinished) || !strings.Contains(err.Error(), "stopped") {
		t.Error(err)
	}
	p.Config.Model.Command = []string{"there-is-no-such-program"}
	if _, err := p.Solve(t.Context(), ""); !stop.Is(err, stop.Missing) {
		t.Errorf("a missing program waits for the admin: %v", err)
	}
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*config.Config)
		want   string // of the error, "" for none
	}{
		"a command":     {func(c *config.Config) { c.Model.Command = []string{"x"} }, ""},
		"none":          {func(c *config.Config) {}, "which is empty"},
		"an empty word": {func(c *config.Config) { c.Model.Command = []string{""} }, "which is empty"},
		"no place":      {func(c *config.Config) { c.Model.Command, c.Model.Prompt = []string{"x"}, "file" }, "holds {prompt}"},
		"a place":       {func(c *config.Config) { c.Model.Command, c.Model.Prompt = []string{"x", "--in={prompt}"}, "file" }, ""},
		"needs an id":   {func(c *config.Config) { c.Model.Name = "opencode" }, "needs [model] id"},
		"is not there":  {func(c *config.Config) { c.Model.Name = "codex" }, "the program codex is not there"},
		"no command":    {func(c *config.Config) { c.Model.Command = []string{"absent"} }, `"absent": executable file not found`},
		"no file":       {func(c *config.Config) { c.Model.Command = []string{"/nowhere/x"} }, "no such file"},
		"no node":       {func(c *config.Config) { c.Model.Command = []string{"script"} }, "script is a script of absent, which is not there"},
		"the project's": {func(c *config.Config) { c.Model.Command = []string{"./x"} }, ""},
	} {
		bin := t.TempDir()
		t.Setenv("PATH", bin)
		for name, text := range map[string]string{"x": "\x7fELF", "script": "#!/usr/bin/env absent\n"} {
			gittest.Program(t, filepath.Join(bin, name), text)
		}
		set := config.Default()
		set.Model.Name, set.Model.Prompt = "exec", "stdin"
		c.change(set)
		if err := Check(set); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
