package main

import (
	"strings"
	"testing"

	"git-ward/internal/modeltest"
	"git-ward/internal/tier"
)

// TestStepLacksProgram: a plan whose step wants a program that is not there, and a program of the
// settings that is not in the tree, wait for the admin, who alone can bring it. Nothing is asked of
// the PM that no word of his mends.
func TestStepLacksProgram(t *testing.T) {
	tier.Full(t, "two agents that run for many seconds")
	t.Run("a step's", func(t *testing.T) {
		t.Parallel()
		lacks := strings.Replace(plan, "\nenv\n", "\nno-such-program-of-mine\n", 1)
		h := newHost(t, func(r *modeltest.Request) modeltest.Turn {
			if r.N%2 == 1 && r.N < 9 {
				return modeltest.Turn{Text: "I plan.", Calls: []modeltest.Call{call("write_file", map[string]string{"path": ".ward/plans/D-1.iter_0.plan.txt", "content": strings.Replace(lacks, "overwrite_file_with_block made.txt\n<made> & done\n---\n", "", 1)})}}
			}
			return modeltest.Turn{Text: "So it is."}
		}, thinking["anthropic"])
		log := h.launch()
		status, text := h.report()
		if status != "EXIT_BLOCKED" || !strings.Contains(text, "no-such-program-of-mine") || !strings.Contains(text, "Next: git ward uow retry D-1.1 (") || strings.Contains(text, "clarify") {
			t.Errorf("%s\n%s\n%s", status, text, log)
		}
		if journal := h.journal(); !strings.HasSuffix(journal, "block ZOMBIED_SOFT MISSING_TOOL\n") {
			t.Error(journal)
		}
		h.Fsck()
	})
	t.Run("the settings'", func(t *testing.T) {
		t.Parallel()
		h := newHost(t, greets, map[string]string{"model.name": `"exec"`, "model.command": `["./tools/no-such-program"]`, "model.prompt": `"stdin"`})
		log := h.launch()
		if journal := h.journal(); !strings.HasSuffix(journal, "block ZOMBIED_SOFT MISSING_TOOL\n") {
			t.Errorf("%s\n%s", journal, log)
		}
		if status, text := h.report(); status != "INFO" || !strings.Contains(text, "[model] command: ./tools/no-such-program does not start") || !strings.Contains(text, "git ward uow retry D-1.1") {
			t.Errorf("%s\n%s", status, text)
		}
		h.Fsck()
	})
}
