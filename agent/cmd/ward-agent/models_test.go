package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/modeltest"
	"git-ward/sandbox/gateway"
)

// single is a document with one directive.
const single = "# COMMS\n## Directives\n### D-1: make a file\nMake made.txt.\n- [ ] it is there (`test -e made.txt`)\n## Reports\n"

// thinking are the settings of the models by their SDKs.
var thinking = map[string]map[string]string{
	"anthropic": {"name": `"anthropic"`, "id": `"claude-test"`},
	"responses": {"name": `"openai"`, "id": `"gpt-test"`},
	"chat":      {"name": `"openai"`, "id": `"gpt-test"`, "api": `"chat"`},
}

// worker plays a model that tries to find keys, works, is stopped by faults, and
// ends.
func worker(r *modeltest.Request) modeltest.Turn {
	switch r.N {
	case 1:
		return modeltest.Turn{Fault: modeltest.Fault{Status: 529, Type: "overloaded_error", RetryAfter: "0.1"}}
	case 2:
		return modeltest.Turn{Text: "I look.", Thinking: "Where are keys?", Calls: []modeltest.Call{
			{Name: "bash", Args: `{"command":"env; cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -a '^WARD_CALL' ; ps -ewwo args"}`},
			{Name: "write_file", Args: `{"path":"made.txt","content":"<made> & done\n"}`}}}
	case 3:
		return modeltest.Turn{Text: "cut", Fault: modeltest.Fault{Cut: 3}}
	case 4:
		return modeltest.Turn{Calls: []modeltest.Call{{Name: "bash", Args: `{"command": oops`}}}
	}
	return modeltest.Turn{Text: "made.txt is there.", Input: 1_234_567, Output: 8}
}

// TestThinkingModels is a directive from push to report by each model behind the
// gateway, through faults; and no key is anywhere that the agent can see.
func TestThinkingModels(t *testing.T) {
	for name, settings := range thinking {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, worker, unlimited, settings)
			h.publish(single)
			log := h.run()
			status, text := h.report()
			if status != "DONE" || !strings.Contains(text, "made.txt is there.\n\n(3 turns, 3 calls of tools, 1,2") {
				t.Errorf("%s\n%s\n%s", status, text, log)
			}
			if got := h.git("-C", "remote.git", "show", "agent/D-1:made.txt"); got != "<made> & done\n" {
				t.Errorf("made.txt: %q", got)
			}
			for _, want := range []string{"the model is asked again", "529 overloaded_error", "nothing was run: the arguments are not a JSON object"} {
				if !strings.Contains(log, want) {
					t.Errorf("the log lacks %q:\n%s", want, log)
				}
			}
			for _, r := range h.Requests() {
				sent := r.Header.Get("X-Api-Key") + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
				if sent != key {
					t.Errorf("the provider got the key %q", sent)
				}
				if bytes.Contains(r.Body, []byte(key)) {
					t.Errorf("the model was told the key: %.2000s", r.Body)
				}
			}
			h.noKey(log)
		})
	}
}

// noKey searches all that an agent leaves behind, packed objects inflated.
func (h *host) noKey(log string) {
	h.Helper()
	if strings.Contains(log, key) || strings.Contains(h.log.String(), key) {
		h.Error("the key is in a log")
	}
	err := filepath.WalkDir(h.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(key)) {
			h.Errorf("the key is in %s", path)
		}
		return err
	})
	if err != nil {
		h.Error(err)
	}
	for _, repo := range []string{"remote.git", "state/main/remote", "state/agent/D-1/remote"} {
		if all := h.git("-C", repo, "cat-file", "--batch-all-objects", "--batch"); strings.Contains(all, key) {
			h.Errorf("the key is in an object of %s", repo)
		}
	}
}

// TestNoKeyInProcesses looks into every process while the model works: command
// lines and environments of the forwarder, the agent and its commands.
func TestNoKeyInProcesses(t *testing.T) {
	var found []string
	var seen int
	h := newHost(t, nil, unlimited, thinking["anthropic"])
	h.Server.Play(func(r *modeltest.Request) modeltest.Turn {
		if r.Turns == 0 {
			return modeltest.Turn{Calls: []modeltest.Call{{Name: "bash", Args: `{"command":"for i in 1 2 3; do cat /proc/self/environ; sleep 0.1; done"}`}}}
		}
		return modeltest.Turn{Text: fmt.Sprintf("The environment was %q.", r.Results[0].Text)}
	})
	h.publish(single)
	stop, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			f, n := h.processesWith(key)
			found, seen = append(found, f...), max(seen, n)
		}
	}()
	h.run()
	close(stop)
	<-done
	if seen < 4 {
		t.Errorf("only %d processes of the run were seen", seen)
	}
	if found != nil {
		t.Errorf("the key is in %v", found)
	}
	if _, text := h.report(); !strings.Contains(text, "WARD_CALL=") || strings.Contains(text, "API_KEY") {
		t.Errorf("a command's environment: %s", text)
	}
}

// processesWith looks into the processes that run in this site.
func (h *host) processesWith(secret string) (found []string, seen int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		line, _ := os.ReadFile(dir + "/cmdline")
		cwd, _ := os.Readlink(dir + "/cwd")
		if !strings.HasPrefix(cwd, h.dir) {
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

// TestEnds: a spent budget, a refusal and a conversation that never ends are
// reported as what they are.
func TestEnds(t *testing.T) {
	for _, c := range []struct {
		name, status, text string
		budget             gateway.Budget
		play               func(*modeltest.Request) modeltest.Turn
		settings           map[string]string
	}{
		{name: "budget", status: "EXIT_BUDGET_EXCEEDED", text: "The model is not paid for any more: 402 billing_error: ward: the budget of D-1 ",
			budget: gateway.Budget{Tokens: 100, Cost: gateway.Unlimited}, play: worker},
		{name: "refusal", status: "EXIT_BLOCKED", text: "refused to go on. What it had so far is on agent/D-1.\n\nIt said:\n\n    Not that.", budget: unlimited,
			play: modeltest.Script(modeltest.Turn{Text: "Not that.", Stop: modeltest.Refused})},
		{name: "truncated", status: "DONE", text: "the rest", budget: unlimited,
			play: modeltest.Script(modeltest.Turn{Text: "half", Stop: modeltest.Truncated}, modeltest.Turn{Text: "the rest"})},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, c.play, c.budget, thinking["anthropic"])
			h.publish(single)
			log := h.run()
			if status, text := h.report(); status != c.status || !strings.Contains(text, c.text) {
				t.Errorf("%s\n%s\n%s", status, text, log)
			}
		})
	}
}
