package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"git-ward/internal/configtest"
	"git-ward/internal/gittest"
	"git-ward/internal/modeltest"
	"git-ward/internal/tier"
	"git-ward/protocols/uow"
)

// planPath is where a prompt says that a plan is expected.
var planPath = regexp.MustCompile(`[\w./-]*D-1\.iter_[0-9]+\.plan\.txt`)

// plans plays a model by what it is asked: a plan where a prompt names its path, last
// words after that, and a review where it has no tools.
func plans(r *modeltest.Request) modeltest.Turn {
	path := planPath.FindString(r.User)
	switch {
	case len(r.Tools) == 0:
		return modeltest.Turn{Text: `{"tried":["made a file"],"succeeded":[],"failed":[],"open":[],"diagnosis":"none"}`}
	case path != "":
		return modeltest.Turn{Text: "I plan.", Calls: []modeltest.Call{call("write_file", map[string]string{"path": path, "content": plan})}}
	}
	return modeltest.Turn{Text: "made.txt is there."}
}

// journal is the steps of D-1.1: "event STATE REASON", a line each.
func (h *host) journal() string {
	h.test.Helper()
	var b strings.Builder
	for id := range strings.FieldsSeq(h.bare("rev-list", "--reverse", uow.RefPrefix+"D-1.1")) {
		var r uow.Record
		if err := json.Unmarshal([]byte(h.bare("show", id+":"+uow.File)), &r); err != nil {
			h.test.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s %s\n", r.Event, r.State, r.ReasonCode)
	}
	return b.String()
}

// bare is what git says of the repository itself.
func (h *host) bare(args ...string) string {
	h.test.Helper()
	return h.Run(h.Work, "git", append([]string{"--git-dir", h.Bare}, args...)...)
}

// TestKilled: a program that a signal ends is tried again in the iteration in which it was, on what
// it had. One that is always killed, or always kills its agent, is given up when its retries are
// spent; the report says why, and nothing is run after that.
func TestKilled(t *testing.T) {
	tier.Full(t, "agents that run for many seconds")
	const program, agent = "The command of [model] command failed: killed by signal 9, killed.", "The last 2 workers ended badly: what they ran may have killed them."
	for name, c := range map[string]struct{ script, end, why string }{
		"twice":  {`echo x >>tries; test $(wc -l <tries) -gt 2 || kill -9 $$; rm tries; echo made >made.txt`, "archive ARCHIVED ANALYSIS_DONE\n", ""},
		"child":  {`echo x >>tries; test $(wc -l <tries) -gt 2 || sh -c 'kill -9 $$' || exit; rm tries; echo made >made.txt`, "archive ARCHIVED ANALYSIS_DONE\n", ""},
		"always": {`echo half >made.txt; kill -9 $$`, "exhaust ZOMBIED_DEAD RETRIES_SPENT\n", program},
		// A program that kills its agent, which can say nothing then.
		"its agent thrice": {`echo x >>../../../tries; test $(wc -l <../../../tries) -gt 3 || kill -9 $PPID; echo made >made.txt`, "archive ARCHIVED ANALYSIS_DONE\n", ""},
		"its agent always": {`echo half >made.txt; kill -9 $PPID`, "exhaust ZOMBIED_DEAD RETRIES_SPENT\n", agent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, greets, map[string]string{"model.name": `"exec"`, "model.command": `["sh", "-c", '''` + c.script + `''']`, "model.prompt": `"stdin"`, "agent.retry_pause": `"1s"`})
			log := h.launch()
			journal := h.journal()
			if !strings.HasSuffix(journal, c.end) || strings.Count(journal, "iterate ") != 1 || !strings.Contains(journal, "block ZOMBIED_SOFT PROGRAM_KILLED\nretry ACTIVE RETRY_POLICY\n") {
				t.Errorf("the journal:\n%s\n%s", journal, log)
			}
			if runs := strings.Count(log, "INF the command begins "); c.why == program && runs != 4 || c.why == agent && runs != 8 {
				t.Errorf("it ran %d times\n%s", runs, log)
			}
			if c.why == "" {
				h.halted("EXIT_CONVERGED", "EXACT_CERTIFICATE", 1)
				return
			}
			if _, text := h.report(); !strings.Contains(text, "git ward uow cancel --failed D-1.1") || !strings.Contains(text, c.why) || !strings.Contains(h.Run(h.Work, "git-ward", "uow", "show", "D-1.1"), c.why) {
				t.Errorf("%s\n%s", text, log)
			}
		})
	}
}

// TestKillsWithoutPush: a program that always kills its agent is given up within a bound, too, where
// nothing is pushed between two deaths: without the loop, after the PM's word, and where the unit
// seems to be left.
func TestKillsWithoutPush(t *testing.T) {
	tier.Full(t, "agents that run for many seconds")
	for name, c := range map[string]struct {
		script   string // BARE is the bare repository
		settings map[string]string
		end      string
		runs     int // of the program
	}{
		"no loop":       {`kill -9 $PPID`, map[string]string{"agent.loop": "false"}, "", 2},
		"the PM's word": {`PATH=BIN:$PATH git-ward uow resume --pulse D-1.1 --bare BARE >BARE/../said 2>&1; kill -9 $PPID`, nil, "exhaust ZOMBIED_DEAD RETRIES_SPENT\n", 8},
		"left":          {`kill -9 $PPID`, map[string]string{"agent.stale": `"1s"`}, "exhaust ZOMBIED_DEAD RETRIES_SPENT\n", 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, greets, map[string]string{"agent.retry_pause": `"1s"`})
			bin, err := gittest.Bin()
			if err != nil {
				t.Fatal(err)
			}
			set := map[string]string{"model.name": `"exec"`, "model.command": `["sh", "-c", '''` + strings.NewReplacer("BARE", h.Bare, "BIN", bin).Replace(c.script) + `''']`, "model.prompt": `"stdin"`}
			maps.Copy(set, c.settings)
			for key, literal := range set {
				configtest.Set(t, h.Bare, fmt.Sprintf("[%s] %s = %s", strings.Split(key, ".")[0], strings.Split(key, ".")[1], literal))
			}
			log, _ := h.try()
			if runs := strings.Count(log, "INF the command begins "); runs != c.runs {
				t.Errorf("it ran %d times\n%s", runs, log)
			}
			if c.end != "" && !strings.HasSuffix(h.journal(), c.end) {
				t.Errorf("the journal:\n%s\n%s", h.journal(), log)
			}
			if said, err := os.ReadFile(filepath.Join(h.dir, "said")); strings.Contains(c.script, "pulse") && (err != nil || !strings.HasPrefix(string(said), "D-1.1: ")) {
				t.Errorf("the PM's word: %s %v", said, err)
			}
			if _, text := h.report(); !strings.Contains(text, "workers ended badly: what they ran may have killed them.") {
				t.Errorf("%s\n%s", text, log)
			}
		})
	}
}

// TestStandIn: where the first model is away, the next of [model] also goes on, with what the first
// had said; the journal and the report say so.
func TestStandIn(t *testing.T) {
	tier.Full(t, "agents that run for many seconds")
	for name, fault := range map[string]modeltest.Fault{
		"overloaded": {Status: 529, Type: "overloaded_error", Message: "Overloaded", RetryAfter: "3600"},
		"not there":  {Status: 404, Type: "not_found_error", Message: "model: claude-test"},
		"down":       {Status: 503, Type: "api_error", Message: "no"},
		"hangs up":   {Cut: -1},
		"mute":       {Silent: -1},
		"breaks off": {Cut: 2},
		"silent":     {Silent: 2},
	} {
		for _, settings := range []string{"anthropic", "responses"} {
			t.Run(name+" "+settings, func(t *testing.T) {
				t.Parallel()
				set := map[string]string{"model.also": `["other-test"]`, "model.patience": `"2s"`, "model.tries": "2", "model.silence": `"1s"`}
				maps.Copy(set, thinking[settings])
				h := newHost(t, func(r *modeltest.Request) modeltest.Turn {
					if r.Model != "other-test" && r.N > 1 {
						return modeltest.Turn{Fault: fault}
					}
					return plans(r)
				}, set)
				log := h.launch()
				status, text := h.report()
				note := h.bare("log", "--format=%B", uow.RefPrefix+"D-1.1") + h.Run(h.Work, "git-ward", "uow", "show", "D-1.1")
				want := "Another model goes on: other-test, for " + strings.Trim(set["model.id"], `"`) + " is away: "
				if status != "EXIT_CONVERGED" || !strings.Contains(text, want) || !strings.Contains(note, want) {
					t.Errorf("%s\n%s\n%s\n%s", status, text, note, log)
				}
				if strings.Contains(h.journal(), "ZOMBIED") {
					t.Errorf("the unit waited:\n%s", h.journal())
				}
			})
		}
	}
}

// TestStory21 has the API fail in each way for some time: what happens is told as
// backpressure, what was done is kept, and the directive ends as if nothing had been.
func TestStory21(t *testing.T) {
	tier.Full(t, "outages of many seconds")
	status := func(code int, kind string) modeltest.Fault {
		return modeltest.Fault{Status: code, Type: kind, Message: "no"}
	}
	for name, o := range map[string]modeltest.Outage{
		"503 before anything is done":                 {For: 4 * time.Second, Faults: []modeltest.Fault{status(503, "unavailable")}},
		"503 before the last words":                   {After: 2, For: 4 * time.Second, Faults: []modeltest.Fault{status(503, "unavailable"), status(500, "api_error"), status(529, "overloaded_error")}},
		"answers that break":                          {After: 1, For: 5 * time.Second, Faults: []modeltest.Fault{{Cut: 3}, {Error: "api_error"}, {Malformed: 2}, {}}},
		"a rate limit for longer than patience lasts": {For: 3 * time.Second, Faults: []modeltest.Fault{{Status: 429, Type: "rate_limit_error", Message: "slow down", RetryAfter: "3600"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, o.Around(plans), map[string]string{"model.name": `"anthropic"`, "model.id": `"claude-test"`,
				"model.tries": "2", "model.patience": `"2s"`, "agent.retry_pause": `"1s"`})
			log := h.launch()
			status, text := h.report()
			if status != "EXIT_CONVERGED" {
				t.Errorf("%s\n%s\n%s\n%s", status, text, h.journal(), log)
			}
			journal := h.journal()
			if !strings.Contains(journal, "block ZOMBIED_SOFT TRANSIENT_FAILURE") || !strings.Contains(journal, "retry ACTIVE RETRY_POLICY") ||
				strings.Contains(journal, "ZOMBIED_DEAD") {
				t.Errorf("the journal:\n%s", journal)
			}
			comms := h.Git("show", "origin/main:COMMS.md")
			if n := strings.Count(comms, "Backpressure (API_rate_limit_exceeded) on D-1.1: "); n != 1 {
				t.Errorf("COMMS.md tells of it %d times:\n%s", n, comms)
			}
			if tree := h.Git("ls-tree", "--name-only", "origin/agent/D-1"); strings.Contains(tree, "cut") {
				t.Errorf("half a call was run:\n%s", tree)
			}
			h.merge()
			if testing.Verbose() {
				fmt.Println(name + "\n" + journal)
			}
		})
	}
}
