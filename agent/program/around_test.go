package program

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/agent/activity"
	"git-ward/agent/gateway"
	"git-ward/agent/interaction"
	"git-ward/agent/preset"
	"git-ward/agent/stop"
	"git-ward/internal/gittest"
)

// newClaude is Claude Code in whose place a script of sh prints the stream.
func newClaude(t *testing.T, script string) *Program {
	t.Helper()
	p := newProgram(t, "")
	bin := t.TempDir()
	gittest.Program(t, filepath.Join(bin, "claude"), "#!/bin/sh\n[ \"$1\" = --help ] && echo --strict-mcp-config --model && exit\ncat >prompt.md\n"+script)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	p.Config.Model.Name, p.Preset = "claude-code", preset.Of("claude-code")
	p.Getenv = getenv(map[string]string{gateway.Anthropic: "http://127.0.0.1:9/anthropic", gateway.OpenAI: "http://127.0.0.1:9/openai/v1"})
	p.Iteration, p.Gate = "0", &interaction.Gate{MaxCalls: 3}
	return p
}

// stream prints events as Claude Code does.
func stream(events ...string) string {
	return "cat <<'END'\n" + strings.Join(events, "\n") + "\nEND\n"
}

func call(id int, tool, input string) string {
	return fmt.Sprintf(`{"type":"assistant","message":{"id":"m%d","content":[{"type":"tool_use","id":"c%d","name":%q,"input":%s}]}}`, id, id, tool, input)
}

func answer(id int, text string, failed bool) string {
	return fmt.Sprintf(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c%d","content":%q,"is_error":%v}]}}`, id, text, failed)
}

const ended = `{"type":"result","subtype":"success","num_turns":2,"result":"All is done.","usage":{"input_tokens":100,"output_tokens":34}}`

// TestAround: what the protocols want of whoever works is there, though the program
// knows nothing of it (WORK-1).
func TestAround(t *testing.T) {
	p := newClaude(t, "echo made >made.txt\n"+stream(call(1, "Read", `{"file_path":"x"}`), answer(1, "its text", false), call(2, "Bash", `{"command":"make"}`), answer(2, "make: not found", true), ended))
	p.Prompt.Capsule, p.Prompt.CapsulePath = `{"iteration":1}`, ".ward/capsule.json"
	p.Prompt.Clarifications = []string{"use the second parser"}
	done, err := p.Solve(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(done.Words, "All is done.") || done.Tally.Calls != 2 || done.Tally.Usage.Input != 100 || p.Gate.Calls() != 2 {
		t.Errorf("%+v, %d at the gate", done, p.Gate.Calls())
	}
	told, _ := os.ReadFile(filepath.Join(p.Dir, "prompt.md"))
	for _, want := range []string{"L1 self-awareness", "L3 environment", `{"iteration":1}`, "use the second parser", "Say hello.", p.askPath()} {
		if !strings.Contains(string(told), want) {
			t.Errorf("the prompt lacks %q:\n%s", want, told)
		}
	}
	const want = "> Read {\"file_path\":\"x\"}\n< its text\n> Bash {\"command\":\"make\"}\n< failed: make: not found\n"
	if done.Transcript != want {
		t.Errorf("transcript:\n%s", done.Transcript)
	}
	// Between its begin and the program's own calls stands what orientation read.
	log := strings.Join(logged(t, p), ", ")
	if !strings.HasPrefix(log, "TASK_START SUCCESS, ") || !strings.HasSuffix(log, ", FILE_READ SUCCESS, TOOL_EXEC FAILURE, POST_MORTEM SUCCESS, TASK_END SUCCESS") {
		t.Errorf("log: %s", log)
	}
	found, _ := filepath.Glob(filepath.Join(p.Dir, ".ward", "postmortems", "*-D-1.md"))
	if len(found) != 1 {
		t.Fatalf("post-mortems: %q", found)
	}
	text, _ := os.ReadFile(found[0])
	for _, want := range []string{"claude-code worked for", "with 2 calls of tools", "A made.txt", "> All is done.", "it came to its own end", "make: not found"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the post-mortem lacks %q:\n%s", want, text)
		}
	}
}

// logged is "TYPE STATUS" of each line of the activity log.
func logged(t *testing.T, p *Program) (list []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.State, "logs", activity.Name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var e activity.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Task.ID != "D-1" {
			t.Fatalf("%v %s", err, line)
		}
		list = append(list, string(e.Action.Type)+" "+string(e.Outcome.Status))
	}
	return list
}

// TestEnded: why a program was ended before its time, what it had said and done by then
// is kept, and nothing of it goes on.
func TestEnded(t *testing.T) {
	many := stream(call(1, "Bash", "{}"), call(2, "Bash", "{}"), call(3, "Bash", "{}"), call(4, "Bash", "{}")) + "sleep 60\n"
	for name, c := range map[string]struct {
		script string
		kind   stop.Kind
		why    string
	}{
		"too many calls":     {many, stop.Unfinished, "max_tool_calls_per_iteration"},
		"a question":         {`echo "Which parser?" >$WARD_ASK; sleep 60`, stop.Asked, "Which parser?"},
		"a question, ended":  {`echo "Which parser?" >$WARD_ASK` + "\n" + stream(ended), stop.Asked, "Which parser?"},
		"in its last words":  {"rm prompt.md\n" + stream(strings.Replace(ended, "All is done.", "Shall I go on? **Which one?**", 1)), stop.Asked, "Shall I go on? **Which one?**"},
		"no result":          {stream(call(1, "Bash", "{}")), stop.Unfinished, "ended without a result"},
		"a link for an ask":  {`ln -s /etc/passwd $WARD_ASK` + "\n" + stream(ended), stop.None, ""},
		"a long question":    {`head -c 100000 /dev/zero | tr '\0' x >$WARD_ASK.whole; mv $WARD_ASK.whole $WARD_ASK` + "\n" + stream(ended), stop.Asked, strings.Repeat("x", interaction.MaxQuestion)},
		"a pipe for an ask":  {`mkfifo $WARD_ASK` + "\n" + stream(ended), stop.None, ""},
		"changes and asks":   {"echo >made.txt\n" + stream(strings.Replace(ended, "All is done.", "Done. Anything else?", 1)), stop.None, ""},
		"left in background": {"sleep 1000 & setsid sleep 1000 &\n" + stream(ended), stop.None, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newClaude(t, c.script)
			done, err := p.Solve(t.Context(), "")
			if stop.KindOf(err) != c.kind || err != nil && !strings.Contains(err.Error(), c.why) {
				t.Errorf("%v: %+v", err, done)
			}
			if err == nil && c.kind != stop.None {
				t.Error(err)
			}
			if name == "too many calls" && (done.Tally.Calls != 4 || !strings.Contains(done.Transcript, "> Bash")) {
				t.Errorf("%+v", done)
			}
		})
	}
}

// TestBringHome: commits on a branch of the program's own are taken to the one that is
// pushed, unless some on that would be lost.
func TestBringHome(t *testing.T) {
	const commit = "GIT_CONFIG_NOSYSTEM=1 git -c user.name=x -c user.email=x@example.org commit --quiet --allow-empty --message=x\n"
	for name, c := range map[string]struct{ script, want string }{
		"a branch of its own": {"git checkout -q -b feature\n" + commit, "agent/D-1"},
		"no branch":           {"git checkout -q --detach\n" + commit, "agent/D-1"},
		"another history":     {commit + "git checkout -q -b feature main\n" + strings.Replace(commit, "=x\n", "=y\n", 1), "feature"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newClaude(t, "git checkout -q -b agent/D-1\n"+c.script+stream(ended))
			if _, err := p.Solve(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			if at, err := p.tree().Git(t.Context(), "rev-parse", "--abbrev-ref", "HEAD"); err != nil || strings.TrimSpace(at) != c.want {
				t.Errorf("%v: it is on %s", err, at)
			}
		})
	}
}
