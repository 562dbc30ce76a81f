package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/modeltest"
	"git-ward/internal/tier"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
)

// thinking are the settings of the models by their SDKs.
var thinking = map[string]map[string]string{
	"anthropic": {"model.name": `"anthropic"`, "model.id": `"claude-test"`},
	"responses": {"model.name": `"openai"`, "model.id": `"gpt-test"`},
	"chat":      {"model.name": `"openai"`, "model.id": `"gpt-test"`, "model.api": `"chat"`},
}

// plan is what the model writes.
const plan = "set_plan make a file\n---\nplan_step_complete\nNow the file.\n---\noverwrite_file_with_block made.txt\n<made> & done\n---\n" +
	"run_in_bash_session\nenv\n---\nrun_in_bash_session git ward task close --task-id D-1\n---\nsubmit\n"

// call makes a call of a tool.
func call(name string, args map[string]string) modeltest.Call {
	data, _ := json.Marshal(args) // texts: cannot fail
	return modeltest.Call{Name: name, Args: string(data)}
}

// worksInTurns plays a model that looks for keys, writes a plan by parallel calls, gets
// a call wrong, is stopped by faults, and has last words.
func worksInTurns(r *modeltest.Request) modeltest.Turn {
	switch r.N {
	case 1:
		return modeltest.Turn{Fault: modeltest.Fault{Status: 529, Type: "overloaded_error", Message: "Overloaded", RetryAfter: "0.1"}}
	case 2:
		return modeltest.Turn{Text: "I look.", Thinking: "Where are keys?", Calls: []modeltest.Call{
			call("bash", map[string]string{"command": `env; cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | grep -a '^WARD_CALL'; for p in /proc/[0-9]*; do tr '\0' ' ' <$p/cmdline; done 2>/dev/null | grep -ao 'ward-[a-z]* .*' | head -c 4000`}),
			call("write_file", map[string]string{"path": "plans/D-1.iter_0.plan.txt", "content": plan})}}
	case 3:
		return modeltest.Turn{Text: "cut", Fault: modeltest.Fault{Cut: 3}}
	case 4:
		return modeltest.Turn{Calls: []modeltest.Call{{Name: "bash", Args: `{"command": oops`}}}
	}
	if len(r.Tools) == 0 {
		return modeltest.Turn{Text: `{"tried":["made a file"],"succeeded":[],"failed":[],"open":[],"diagnosis":"none"}`} // the Skeptic
	}
	return modeltest.Turn{Text: "made.txt is there.", Input: 12_345, Output: 8}
}

// TestThinkingModels is a directive from push to certificate by each model behind
// the gateway, through faults; the PM merges it; and no key is anywhere that the
// agent can see.
func TestThinkingModels(t *testing.T) {
	tier.Full(t, "three agents that run for many seconds")
	for name, settings := range thinking {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, worksInTurns, settings)
			log := h.launch()
			status, text := h.report()
			if status != "EXIT_CONVERGED" {
				t.Fatalf("%s\n%s\n%s", status, text, log)
			}
			if got := h.Git("show", "origin/agent/D-1:made.txt"); got != "<made> & done\n" {
				t.Errorf("made.txt: %q", got)
			}
			for _, want := range []string{"the model is asked again", "529 overloaded_error: Overloaded", "nothing was run: the arguments are not a JSON object", "input=12345"} {
				if !strings.Contains(log, want) {
					t.Errorf("the log lacks %q:\n%s", want, log)
				}
			}
			for _, r := range h.Requests() {
				if sent := r.Header.Get("X-Api-Key") + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "); sent != key {
					t.Errorf("the provider got the key %q", sent)
				}
				if bytes.Contains(r.Body, []byte(key)) {
					t.Errorf("the model was told the key: %.2000s", r.Body)
				}
			}
			transcript := h.recorded(loop.IterationDir("D-1", 0) + "/" + loop.TranscriptFile)
			gittest.InOrder(t, transcript, "I look.", "> bash ", "\n< failed: nothing was run: ", "> plans/D-1.iter_0.plan.txt#", "* All steps of the plan are done.", "made.txt is there.")
			gittest.InOrder(t, h.postMortem(), "Iteration 0: ", "A made.txt", "> made.txt is there.", "it came to its own end", "bash {}: nothing was run: ")
			h.merge()
			h.noKey(log)
		})
	}
}

// merge takes the work as the PM.
func (h *host) merge() {
	h.test.Helper()
	h.Git("merge", "--quiet", "--ff-only", "origin/main")
	h.Git("merge", "--quiet", "--no-edit", "origin/agent/D-1")
	h.Git("push", "--quiet", "origin", "main")
	h.Fsck()
}

// noKey searches all that a launch leaves behind, packed objects inflated.
func (h *host) noKey(log string) {
	h.test.Helper()
	if strings.Contains(log, key) {
		h.test.Error("the key is in the log")
	}
	err := filepath.WalkDir(h.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(key)) {
			h.test.Errorf("the key is in %s", path)
		}
		return err
	})
	if err != nil {
		h.test.Error(err)
	}
	state := filepath.Join(h.dir, "state")
	clones, _ := filepath.Glob(filepath.Join(state, "*", "*", "*", ".git"))
	for _, repo := range append(clones, h.Bare, filepath.Join(h.Work, ".git")) {
		if all := h.Run(h.Work, "git", "--git-dir", repo, "cat-file", "--batch-all-objects", "--batch"); strings.Contains(all, key) {
			h.test.Errorf("the key is in an object of %s", repo)
		}
	}
}

// TestNoKeyInProcesses looks into every process while the model works: command
// lines and environments of the forwarder, the agent and its commands.
func TestNoKeyInProcesses(t *testing.T) {
	tier.Full(t, "an agent that runs for many seconds")
	var found []string
	var seen int
	h := newHost(t, worksInTurns, thinking["anthropic"])
	stop, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			f, n := processesWith(h.dir, key)
			found, seen = append(found, f...), max(seen, n)
		}
	}()
	h.launch()
	close(stop)
	<-done
	if seen < 4 {
		t.Errorf("only %d processes of the run were seen", seen)
	}
	if found != nil {
		t.Errorf("the key is in %v", found)
	}
	for _, r := range h.Requests()[2:3] { // what the model found
		if text := fmt.Sprint(r.Results); !strings.Contains(text, "WARD_CALL=") || strings.Contains(text, "API_KEY") {
			t.Errorf("a command's environment: %s", text)
		}
	}
}

// processesWith looks into the processes that run below a directory.
func processesWith(below, secret string) (found []string, seen int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		line, _ := os.ReadFile(dir + "/cmdline")
		cwd, _ := os.Readlink(dir + "/cwd")
		if !strings.HasPrefix(cwd, below) {
			continue
		}
		seen++
		environ, _ := os.ReadFile(dir + "/environ")
		if bytes.Contains(line, []byte(secret)) || bytes.Contains(environ, []byte(secret)) {
			found = append(found, fmt.Sprintf("%s %q", dir, line))
		}
	}
	return found, seen
}

// spender plays a model that plans to make a file, and whose second turn takes all
// that the budget holds.
func spender(file string) func(*modeltest.Request) modeltest.Turn {
	return modeltest.Script(
		modeltest.Turn{Calls: []modeltest.Call{
			call("write_file", map[string]string{"path": "plans/D-1.iter_0.plan.txt", "content": strings.ReplaceAll(plan, "made.txt", file)})}},
		modeltest.Turn{Text: "That is the plan.", Input: 30_000_000},
	)
}

// TestEnds: a spent budget and a refusal are reported as what they are. A budget
// that is spent in the middle of the work ends the loop after it, and what was
// done is on the branch, judged: a certificate comes before it.
func TestEnds(t *testing.T) {
	tier.Full(t, "six agents that run for many seconds")
	for _, c := range []struct {
		name, status, reason, text string
		iterations                 int
		play                       func(*modeltest.Request) modeltest.Turn
		settings                   map[string]string
		file                       string // on the branch, or a paper on the record
	}{
		{"budget", "EXIT_BUDGET_EXCEEDED", "MAX_TOOL_CALLS", "402 billing_error: ward: the budget of D-1", 1, worksInTurns, map[string]string{"budget.tokens": "100"}, "LEARNINGS.md"},
		{"cost", "EXIT_BUDGET_EXCEEDED", "MAX_TOOL_CALLS", "402 billing_error: ward: the budget of D-1", 1, worksInTurns, map[string]string{"budget.cost": `"0.001"`}, "LEARNINGS.md"},
		{"amid", "EXIT_BUDGET_EXCEEDED", "MAX_TOOL_CALLS", "while the residual was 1 (The model is not paid for any more", 1, spender("other.txt"), map[string]string{}, "other.txt"},
		{"command", "EXIT_BUDGET_EXCEEDED", "MAX_TOOL_CALLS", "The model is not paid for any more. The command of [model] command failed", 1, worksInTurns, map[string]string{"budget.tokens": "100", "model.name": `"exec"`,
			"model.command": `["sh", "-c", '''echo part >part.txt; curl --silent --data '{"model":"claude-test","messages":[],"max_tokens":1000}' $ANTHROPIC_BASE_URL/v1/messages; exit 1''']`}, "part.txt"},
		{"refused", "EXIT_BUDGET_EXCEEDED", "MAX_TOOL_CALLS", "was refused 1 time", 0, worksInTurns, map[string]string{"budget.tokens": "100", "model.name": `"exec"`,
			"model.command": `["sh", "-c", '''echo { >knowledge_core/agent_meta.json; curl --silent --data '{"model":"claude-test","messages":[],"max_tokens":1000}' $ANTHROPIC_BASE_URL/v1/messages; exit 1''']`}, "LEARNINGS.md"},
		{"enough", "EXIT_CONVERGED", "EXACT_CERTIFICATE", "every criterion is met", 1, spender("made.txt"), map[string]string{}, "made.txt"},
		// A link is work like any other, and what is written beside the work goes with the claim.
		{"beside", "EXIT_CONVERGED", "EXACT_CERTIFICATE", "every criterion is met", 1, worksInTurns, map[string]string{"model.name": `"exec"`,
			"model.command": `["sh", "-c", "echo made >made.txt; ln -s made.txt link; mkdir -p .ward/research; echo late >.ward/research/late.md"]`}, "research/late.md"},
		{"refusal", "EXIT_BLOCKED", "EVIDENCE_INCOMPLETE", "refused to go on", 1, func(*modeltest.Request) modeltest.Turn {
			return modeltest.Turn{Text: "Not that.", Stop: modeltest.Refused}
		}, map[string]string{}, "LEARNINGS.md"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath("curl"); err != nil && strings.Contains(c.settings["model.command"], "curl") {
				t.Skip("SKIPPED: curl is not installed, which the command calls the gateway by")
			}
			if c.settings["model.id"] = `"claude-test"`; c.settings["model.name"] == "" {
				c.settings["model.name"] = `"anthropic"`
			}
			h := newHost(t, c.play, c.settings)
			log := h.launch()
			status, text := h.report()
			if status != c.status || !strings.Contains(text, c.text) {
				t.Errorf("%s\n%s\n%s", status, text, log)
			}
			h.halted(c.status, c.reason, c.iterations)
			if record.Listed("D-1", c.file) {
				h.recorded(c.file)
			} else {
				h.Git("show", "origin/agent/D-1:"+c.file)
			}
			h.Fsck()
		})
	}
}

// recorded is a file on the record of D-1's first unit.
func (h *host) recorded(path string) string {
	h.test.Helper()
	return h.Run(h.Bare, "git", "show", record.Prefix+"D-1.1:"+path)
}

// postMortem is all that the post-mortems on the record of D-1's first unit say.
func (h *host) postMortem() string {
	h.test.Helper()
	return h.Run(h.Bare, "git", "grep", "-h", "-e", "", record.Prefix+"D-1.1", "--", record.PostMortems)
}

// halted checks the halting report on the record of D-1, and that its unit is at
// its end, unless it was blocked.
func (h *host) halted(status, reason string, iterations int) {
	h.test.Helper()
	var r loop.Report
	text := h.recorded(loop.Dir("D-1") + "/" + loop.ReportFile)
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		h.test.Fatal(err)
	}
	if string(r.Status) != status || string(r.StopReason) != reason || r.Iterations != iterations {
		h.test.Errorf("the halting report says %s, %s after %d iterations:\n%s", r.Status, r.StopReason, r.Iterations, text)
	}
	units := h.Run(h.Bare, "git-ward", "uow", "show", "--all")
	if ended := strings.Contains(units, "archived"); ended != (status != "EXIT_BLOCKED") {
		h.test.Errorf("units: %s", units)
	}
}
