package preset

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"git-ward/agent/activity"
	"git-ward/agent/model"
	"git-ward/internal/config"
	"git-ward/internal/gittest"
)

// streams are what the real programs said in a short run, shortened.
var streams = map[string]string{
	"claude-code": `{"type":"system","subtype":"init","tools":["Bash"],"mcp_servers":[],"model":"claude-test"}
{"type":"assistant","message":{"content":[{"text":"I work.","type":"text"}],"id":"msg_1","usage":{"input_tokens":100,"output_tokens":1}}}
{"type":"assistant","message":{"content":[{"id":"c","input":{"command":"true"},"name":"Bash","type":"tool_use"}],"id":"msg_1","usage":{"input_tokens":100,"cache_read_input_tokens":3,"output_tokens":30}}}
{"type":"user","message":{"role":"user","content":[{"tool_use_id":"c","type":"tool_result","content":[{"type":"text","text":"no output"}],"is_error":true}]}}
{"type":"assistant","message":{"content":[{"text":"All is done.","type":"text"}],"id":"msg_2","usage":{"input_tokens":20,"output_tokens":4}}}
{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"All is done.","usage":{"input_tokens":100,"cache_creation_input_tokens":20,"cache_read_input_tokens":3,"output_tokens":34}}
`,
	"codex": `{"type":"thread.started","thread_id":"01"}
{"type":"item.completed","item":{"id":"item_0","type":"error","message":"Model metadata not found."}}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"I work."}}
{"type":"item.started","item":{"id":"item_2","type":"command_execution","command":"true","status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_2","type":"command_execution","command":"true","aggregated_output":"no output","exit_code":0,"status":"completed"}}
{"type":"error","message":"Reconnecting... 1/5"}
{"type":"item.completed","item":{"id":"item_3","type":"agent_message","text":"All is done."}}
{"type":"turn.completed","usage":{"input_tokens":123,"cached_input_tokens":3,"output_tokens":34}}
`,
	"opencode": `{"type":"step_start","part":{"type":"step-start"}}
{"type":"text","part":{"type":"text","text":"I work."}}
{"type":"tool_use","part":{"type":"tool","tool":"bash","callID":"c","state":{"status":"completed","input":{"command":"true"},"output":"no output"}}}
{"type":"step_finish","part":{"reason":"tool-calls","type":"step-finish","tokens":{"input":60,"output":20,"reasoning":4,"cache":{"write":0,"read":1}},"cost":0}}
{"type":"text","part":{"type":"text","text":"All is done."}}
{"type":"step_finish","part":{"reason":"stop","type":"step-finish","tokens":{"input":40,"output":10,"reasoning":0,"cache":{"write":20,"read":2}},"cost":0}}
`,
}

// early is what Codex said before it told of items.
const early = `{"approval":"never","sandbox":"danger-full-access","workdir":"/work","provider":"ward","model":"gpt-test"}
{"prompt":"make a file\n"}
{"id":"1","msg":{"type":"task_started"}}
{"id":"1","msg":{"type":"agent_message","message":"I work."}}
{"id":"1","msg":{"type":"exec_command_begin","call_id":"c1","command":["true"],"cwd":"/work"}}
{"id":"1","msg":{"type":"exec_command_end","call_id":"c1","stdout":"no output","stderr":"","exit_code":0,"duration":{"secs":0,"nanos":13493375}}}
{"id":"1","msg":{"type":"token_count","input_tokens":60,"cached_input_tokens":1,"output_tokens":24,"reasoning_output_tokens":0,"total_tokens":84}}
{"id":"1","msg":{"type":"token_count","input_tokens":63,"cached_input_tokens":2,"output_tokens":10,"reasoning_output_tokens":0,"total_tokens":73}}
{"id":"1","msg":{"type":"agent_message","message":"All is done."}}
`

// TestStreams reads them whole and byte by byte, with what else a program may
// print between its events.
func TestStreams(t *testing.T) {
	for _, p := range all() {
		testStream(t, p, streams[p.Name])
	}
	testStream(t, Of("codex"), early)
	// Claude Code had no sum at its end at first.
	claude := streams["claude-code"]
	testStream(t, Of("claude-code"), claude[:strings.LastIndex(claude, `,"usage"`)]+"}\n")
}

func testStream(t *testing.T, p *Preset, text string) {
	t.Helper()
	for _, size := range []int{1, 7, 1 << 20} {
		var told []Event
		s := &Stream{Preset: p}
		s.Reading.Told = func(e Event) { told = append(told, e) }
		for chunk := range slices.Chunk([]byte("warning: {\n\nnot JSON\n[1]\n"+text), size) {
			s.Write(chunk)
		}
		r := s.Reading
		if !r.Ended || r.Words != "All is done." || r.Calls != 1 || !r.Known || r.Failed != "" {
			t.Errorf("%s, %d: %+v", p.Name, size, r)
		}
		if len(told) != 4 || told[0] != (Event{Kind: Said, Text: "I work."}) || told[1].Kind != Called || !strings.Contains(told[1].Text, "true") ||
			told[2].Kind != Answered || told[2].Tool != told[1].Tool || told[2].Text != "no output" || told[3].Text != "All is done." {
			t.Errorf("%s: %+v", p.Name, told)
		}
		if want := (model.Usage{Input: 123, Cached: 3, Output: 34}); r.Usage != want {
			t.Errorf("%s: %+v", p.Name, r.Usage)
		}
		// Cut anywhere it has not ended.
		cut := &Stream{Preset: p}
		cut.Write([]byte(text[:len(text)-2]))
		if cut.Reading.Ended {
			t.Errorf("%s: a stream that was cut has ended", p.Name)
		}
	}
}

func TestFailures(t *testing.T) {
	for line, want := range map[string]string{
		`claude-code {"type":"result","subtype":"error_max_turns","is_error":true}`:                              "error_max_turns",
		`claude-code {"type":"result","subtype":"success","is_error":true,"result":"API Error: 402"}`:            "API Error: 402",
		`claude-code {"type":"result","subtype":"error_during_execution","is_error":true,"errors":["no model"]}`: "no model",
		`codex {"type":"turn.failed","error":{"message":"402 ward: spent"}}`:                                     "402 ward: spent",
		`opencode {"type":"error","error":{"name":"APIError","data":{"message":"spent"}}}`:                       "spent",
	} {
		name, event, _ := strings.Cut(line, " ")
		s := &Stream{Preset: Of(name)}
		s.Write([]byte(event + "\n"))
		if s.Reading.Ended || s.Reading.Failed != want {
			t.Errorf("%s: %+v", line, s.Reading)
		}
	}
}

// TestUsageOfOneThatWasKilled: what a message used is told again with each of its parts,
// and counts once (WORK-1).
func TestUsageOfOneThatWasKilled(t *testing.T) {
	s := &Stream{Preset: Of("claude-code")}
	whole := streams["claude-code"]
	s.Write([]byte(whole[:strings.Index(whole, `{"type":"result"`)]))
	if want := (model.Usage{Input: 123, Cached: 3, Output: 34}); s.Reading.Usage != want || !s.Reading.Known || s.Reading.Turns != 2 {
		t.Errorf("%+v", s.Reading)
	}
	unknown := &Stream{Preset: Of("codex")}
	unknown.Write([]byte(`{"type":"turn.started"}` + "\n"))
	if unknown.Reading.Known {
		t.Error("nobody has told of tokens")
	}
}

// TestAction: what a program calls its tools is told apart by what they do (LOG-1).
func TestAction(t *testing.T) {
	for name, want := range map[string]activity.Type{
		"Read": activity.FileRead, "mcp__ward__read_file": activity.FileRead, "ward.write_file": activity.FileWrite, "ward_bash": activity.ToolExec,
		"file_change": activity.FileWrite, "edit": activity.FileWrite, "WebFetch": activity.ExternalRAGQuery, "Bash": activity.ToolExec, "": activity.ToolExec,
	} {
		if got := Action(name); got != want {
			t.Errorf("%q: %s", name, got)
		}
	}
}

// FuzzStream: no stream makes a reader panic, and how it is cut into pieces does
// not matter.
func FuzzStream(f *testing.F) {
	for _, s := range streams {
		f.Add(s, uint8(3))
	}
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		for _, p := range all() {
			whole, pieces := &Stream{Preset: p}, &Stream{Preset: p}
			whole.Write([]byte(text))
			for chunk := range slices.Chunk([]byte(text), int(size)+1) {
				pieces.Write(chunk)
			}
			a, _ := json.Marshal(whole.Reading.Words)
			b, _ := json.Marshal(pieces.Reading.Words)
			if string(a) != string(b) || whole.Reading.Calls != pieces.Reading.Calls || whole.Reading.Usage != pieces.Reading.Usage {
				t.Errorf("%+v\n%+v", whole.Reading, pieces.Reading)
			}
		}
	})
}

// TestPrepare: the home begins empty, belongs to nobody else, and what is in it
// leads to the gateway.
func TestPrepare(t *testing.T) {
	bin, home := t.TempDir(), filepath.Join(t.TempDir(), "home")
	t.Setenv("PATH", bin)
	for _, p := range all() {
		if _, _, err := p.Prepare(Setup{Home: home}); err == nil {
			t.Errorf("%s is not there", p.Name)
		}
		gittest.Program(t, filepath.Join(bin, p.Program), "")
		if err := os.MkdirAll(home+"/old", 0o755); err != nil {
			t.Fatal(err)
		}
		args, env, err := p.Prepare(Setup{Home: home, ID: "claude-x", Anthropic: "http://127.0.0.1:9/anthropic", OpenAI: "http://127.0.0.1:9/openai/v1",
			Server: []string{"/ward/bin/git-ward-mcp", "mcp", "--dir", `/a "b"`}})
		if err != nil || args[0] != filepath.Join(bin, p.Program) || !slices.Contains(env, "HOME="+home) {
			t.Errorf("%v %q %q", err, args, env)
		}
		if _, err := os.Stat(home + "/old"); err == nil {
			t.Errorf("%s: the home is an old one", p.Name)
		}
		if info, err := os.Stat(home); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%v %v", info.Mode(), err)
		}
		all := strings.Join(append(args, env...), "\n")
		files, _ := filepath.Glob(home + "/*")
		for _, f := range files {
			data, _ := os.ReadFile(f)
			all += string(data)
		}
		for _, want := range []string{"http://127.0.0.1:9/", "claude-x", "/ward/bin/git-ward-mcp", `/a \"b\"`} {
			if !strings.Contains(all, want) {
				t.Errorf("%s: no %s in\n%s", p.Name, want, all)
			}
		}
	}
}

// TestNative finds the program behind a script of node, wherever a release has it, and for no
// other machine. A package that the program's own package does not name is not searched.
func TestNative(t *testing.T) {
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	other := slices.Clone(self[:4<<10])
	other[18], other[19] = 0xff, 0xff // the machine
	arch := machines[runtime.GOARCH].name
	for place, program := range map[string]string{
		"@openai/codex-linux-x64/vendor/" + arch + "-unknown-linux-musl/bin/codex": "@openai/codex/bin/codex.js",
		"@openai/codex/vendor/" + arch + "-unknown-linux-musl/codex/codex":         "@openai/codex/bin/codex.js",
		"@openai/codex/bin/codex-" + arch + "-unknown-linux-musl":                  "@openai/codex/bin/codex.js",
		"opencode-ai/bin/.opencode":                                                "opencode-ai/bin/opencode", // an early release's
		"opencode-linux-x64/bin/opencode":                                          "opencode-ai/bin/opencode",
		"opencode-ai/node_modules/opencode-linux-x64/bin/opencode":                 "opencode-ai/bin/opencode",
	} {
		modules := filepath.Join(t.TempDir(), "lib", "node_modules")
		write := func(name string, data []byte) {
			t.Helper()
			path := filepath.Join(modules, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), gittest.WriteProgram(path, string(data))); err != nil {
				t.Fatal(err)
			}
		}
		name := strings.TrimSuffix(filepath.Base(program), ".js")
		write(program, []byte("#!/usr/bin/env node\n"))
		write(filepath.Join(filepath.Dir(program), "aaa", name), other)
		own := strings.TrimSuffix(filepath.Dir(program), "/bin")
		write(own+"/package.json", []byte(`{"optionalDependencies": {"@openai/codex-linux-x64": "1", "opencode-linux-x64": "1", "../../outside": "1"}}`))
		write("another/bin/"+name, self)
		write(filepath.Dir(own)+"/"+name+"-aaa/bin/"+name, self)
		write(own+"/node_modules/aaa/bin/"+name, self)
		write("../../outside/bin/"+name, self)
		write(place, self)
		if err := errors.Join(os.Mkdir(modules+"/.bin", 0o755), os.Symlink("../"+program, modules+"/.bin/"+name)); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", modules+"/.bin")
		if path, err := Of(name).Find(); err != nil || path != filepath.Join(modules, place) {
			t.Errorf("%s %v", path, err)
		}
	}
}

// TestMoved: npm's scripts link a program by an absolute path, and the fence has it elsewhere.
func TestMoved(t *testing.T) {
	modules := filepath.Join(t.TempDir(), "node_modules")
	program := modules + "/opencode-linux-x64/bin/opencode"
	if err := errors.Join(os.MkdirAll(filepath.Dir(program), 0o755), os.MkdirAll(modules+"/opencode-ai/bin", 0o755), os.Mkdir(modules+"/.bin", 0o755), gittest.WriteProgram(program, "\x7fELF"),
		os.Symlink("/gone/x/node_modules/opencode-linux-x64/bin/opencode", modules+"/opencode-ai/bin/opencode"), os.Symlink("../opencode-ai/bin/opencode", modules+"/.bin/opencode")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", modules+"/.bin")
	if path, err := Of("opencode").Find(); err != nil || path != program {
		t.Errorf("%s %v", path, err)
	}
	os.Remove(program)
	if path, err := Of("opencode").Find(); err == nil {
		t.Errorf("there is none: %s", path)
	}
}

// TestScript: a script whose interpreter is not there is told of before anybody works.
func TestScript(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	for text, want := range map[string]string{"#!/usr/bin/env node\n": "node", "#!/usr/bin/env -S node --x\n": "node", "#!/gone/node\n": "node", "#!/bin/sh\n": "", "": ""} {
		gittest.Program(t, bin+"/claude", text)
		_, err := Of("claude-code").Find()
		if e := Script(err); (e == nil) != (want == "") || e != nil && e.Interpreter != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestOptions: a release gets the options that it says it takes, and the model in its
// environment, too.
func TestOptions(t *testing.T) {
	bin, home := t.TempDir(), filepath.Join(t.TempDir(), "home")
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	for script, want := range map[string]string{
		"echo --print --model --strict-mcp-config": "--strict-mcp-config --model m", "echo --print --model": "--model m", "echo --print": "",
		"exit 1": "--strict-mcp-config --model m", // it says nothing
	} {
		gittest.Program(t, filepath.Join(bin, "claude"), "#!/bin/sh\n"+script+"\n")
		args, env, err := Of("claude-code").Prepare(Setup{Home: home, ID: "m"})
		if _, some, _ := strings.Cut(strings.Join(args, " "), "--disallowedTools=WebSearch"); err != nil || strings.TrimSpace(some) != want || !slices.Contains(env, "ANTHROPIC_MODEL=m") {
			t.Errorf("%q: %q, %q, %v", script, args, env, err)
		}
	}
}

// TestOptionsOnce: a program is asked what it takes once, however often it is prepared, and again
// when it is another one.
func TestOptionsOnce(t *testing.T) {
	bin, home := t.TempDir(), filepath.Join(t.TempDir(), "home")
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	asked := filepath.Join(t.TempDir(), "asked")
	for i, says := range []string{"--model", "--strict-mcp-config"} {
		gittest.Program(t, filepath.Join(bin, "claude"), fmt.Sprintf("#!/bin/sh\nprintf x >>%s\necho %s\n", asked, says))
		for range 3 {
			args, _, err := Of("claude-code").Prepare(Setup{Home: home, ID: "m"})
			if err != nil || !slices.Contains(args, says) {
				t.Errorf("%q, %v", args, err)
			}
		}
		if times, err := os.ReadFile(asked); len(times) != i+1 || err != nil {
			t.Errorf("%d programs were asked %d times, %v", i+1, len(times), err)
		}
	}
}

// all are the presets of every program in config's table: none may lack one.
func all() (list []*Preset) {
	for _, w := range config.Workers() {
		if w.Kind == config.Program {
			list = append(list, Of(w.Name))
		}
	}
	return list
}
