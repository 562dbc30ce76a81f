package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/modeltest"
	"git-ward/internal/tier"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
)

// told is what the prompts of all requests hold, the schemas of tools with them.
func (h *host) told() string {
	var b strings.Builder
	for _, r := range h.Requests() {
		b.Write(r.Body)
	}
	return b.String()
}

// wants makes D-1 the directive to write a word into note.txt, or one that names no word.
func (h *host) wants(word string) {
	h.test.Helper()
	goal := "Write the PM's favourite word into the file note.txt."
	if word != "" {
		goal = "Write the word " + word + " into the file note.txt."
	}
	document, err := os.ReadFile(filepath.Join(h.Work, comms.Path))
	if err != nil {
		h.test.Fatal(err)
	}
	h.Write(comms.Path, strings.Replace(string(document), "Make made.txt.\n\n- [ ] it is there (`test -e made.txt`)\n- work: made.txt\n", goal+"\n\n- [ ] it is there (`grep -qx plum note.txt`)\n- work: note.txt\n", 1))
	h.Git("commit", "--quiet", "--all", "--message", "D-1: a word")
	h.Git("push", "--quiet", "origin", "main")
}

// TestPersonas plays stories 12, 17 and 19: a model that never heard of Ward, in several
// tempers, ends with the work done and verified, or with an end that names what happened;
// and each was told what it had to know.
func TestPersonas(t *testing.T) {
	tier.Full(t, "agents that run for many seconds")
	for _, c := range []struct {
		temper modeltest.Temper
		status string
		text   string // in the report
		log    string // in the launch's log, besides
	}{
		{modeltest.Prose, "EXIT_CONVERGED", "note.txt holds the word plum.", "there is no plan at this path, and nothing was changed"},
		{modeltest.List, "EXIT_CONVERGED", "note.txt holds the word plum.", "the plan is executed"},
		{modeltest.JSONPlan, "EXIT_CONVERGED", "note.txt holds the word plum.", `\"make_file\" is not a tool`},
		{modeltest.WritesFirst, "EXIT_CONVERGED", "note.txt holds the word plum.", "work without a plan: Ward writes one"},
		{modeltest.OwnOrder, "EXIT_CONVERGED", "note.txt holds the word plum.", "what was changed before the plan is kept"},
		{modeltest.Silent, "EXIT_CONVERGED", "note.txt", "work without a plan: Ward writes one"},
		{modeltest.Half, "EXIT_CONVERGED", "note.txt holds the word plum.", "a step of the plan failed"},
		{modeltest.SaysDone, "EXIT_BLOCKED", "Done. Everything works.", "nothing was changed"},
		{modeltest.Stubborn, "EXIT_BLOCKED", "One would write the file", "nothing was changed"},
		{modeltest.Loops, "EXIT_BLOCKED", "The Guard ended the work, which made no progress", "Guard block: no progress"},
		{modeltest.Cuts, "EXIT_CONVERGED", "note.txt holds the word plum.", "the model is asked again"},
		{modeltest.Twice, "EXIT_CONVERGED", "note.txt holds the word plum.", "work without a plan: Ward writes one"},
		{modeltest.OtherTools, "EXIT_CONVERGED", "note.txt holds the word plum.", "str_replace_editor"},
		{modeltest.Foreign, "EXIT_CONVERGED", "note.txt holds the word plum.", "work without a plan: Ward writes one"},
		{modeltest.Declines, "EXIT_BLOCKED", "The model, or its provider, refused to go on.", "refused to go on"},
	} {
		t.Run(string(c.temper), func(t *testing.T) {
			t.Parallel()
			// Silence is asked again, ever later: twice shows what six times do.
			h := newHost(t, modeltest.Persona(c.temper), map[string]string{"model.name": `"anthropic"`, "model.id": `"claude-test"`, "agent.scout": "true", "model.tries": "2"})
			h.wants("plum")
			log := h.launch()
			status, text := h.report()
			if status != c.status || !strings.Contains(text, c.text) || !strings.Contains(log, c.log) {
				t.Errorf("%s\n%s\n%s", status, text, log)
			}
			told := h.told()
			for _, want := range []string{"Continue.", "# Orientation", "create_file_with_block PATH", "git ward task close --task-id D-1", `"name":"plan"`, `"name":"ask"`, "grep -qx plum note.txt"} {
				if !strings.Contains(told, want) {
					t.Errorf("nobody told it %q", want)
				}
			}
			gittest.InOrder(t, told, "You are the Scout", "# What the Scout found", "Nothing stands in the way.")
			gittest.InOrder(t, h.recorded(loop.IterationDir("D-1", 0)+"/"+loop.TranscriptFile), "== Scout ==", "* # Your directive: D-1", "== Solver ==")
			if got := h.postMortem(); strings.Contains(got, ": it came to its own end.") != (c.status == "EXIT_CONVERGED") || !strings.Contains(got, "\nIteration 0: ") {
				t.Errorf("the post-mortem:\n%s", got)
			}
			if c.status == "EXIT_CONVERGED" {
				if got := h.Git("show", "origin/agent/D-1:note.txt"); got != "plum\n" {
					t.Errorf("note.txt: %q", got)
				}
				if names := h.Git("diff", "--name-only", "origin/main...origin/agent/D-1"); names != "note.txt" && names != "note.txt\n" {
					t.Errorf("the work is %q", names)
				}
			}
			h.Fsck()
		})
	}
}

// TestStory13Asks: a model that asks gets its answer from the PM, in its next prompt, and
// goes on from there.
func TestStory13Asks(t *testing.T) {
	tier.Full(t, "agents that run for many seconds")
	for _, temper := range []modeltest.Temper{modeltest.Asks, modeltest.AsksInWords} {
		t.Run(string(temper), func(t *testing.T) {
			t.Parallel()
			h := newHost(t, modeltest.Persona(temper), map[string]string{"model.name": `"anthropic"`, "model.id": `"claude-test"`})
			h.wants("")
			log := h.launch()
			document := h.Git("show", "origin/main:"+comms.Path)
			if !strings.Contains(document, "hich word shall note.txt hold?") {
				t.Fatalf("nobody is asked:\n%s\n%s", document, log)
			}
			h.Run(h.Work, "git-ward", "uow", "approve", "D-1.1", "-m", "plum")
			log = h.launch()
			status, text := h.report()
			if status != "EXIT_CONVERGED" {
				t.Fatalf("%s\n%s\n%s", status, text, log)
			}
			if told := h.told(); !strings.Contains(told, `# What the PM says\n`) || !strings.Contains(told, `\n- plum\n`) {
				t.Error("its next prompt lacks the PM's words")
			}
			h.Fsck()
		})
	}
}
