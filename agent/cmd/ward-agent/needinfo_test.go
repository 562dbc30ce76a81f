package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/tier"
	"git-ward/protocols/comms"
	"git-ward/protocols/record"
)

// TestNeedInfoLeavesItsFiles: a directive without a criterion asks before anything is
// begun, and its record says so in 003's files; the PM's edit is the answer, and the same
// unit goes on to its end.
func TestNeedInfoLeavesItsFiles(t *testing.T) {
	tier.Full(t, "an agent that runs for many seconds")
	t.Parallel()
	h := newHost(t, plans, thinking["anthropic"])
	const criterion = "- [ ] it is there (`test -e made.txt`)\n- work: made.txt\n"
	edit := func(old, text string) {
		t.Helper()
		h.Git("pull", "--quiet", "--ff-only")
		data, err := os.ReadFile(filepath.Join(h.Work, comms.Path))
		if err != nil {
			t.Fatal(err)
		}
		h.Write(comms.Path, strings.Replace(string(data), old, text, 1))
		h.Git("commit", "--quiet", "--all", "--message", "D-1")
		h.Git("push", "--quiet", "origin", "main")
	}
	edit(criterion, "")
	log := h.launch()
	if status, text := h.report(); status != "EXIT_NEED_INFO" {
		t.Fatalf("%s\n%s\n%s", status, text, log)
	}
	const want = "agents_md_final.md budget_log.json halting_report.json manifest.json"
	ref := record.Prefix + "D-1.1"
	if got := strings.Join(strings.Fields(h.bare("ls-tree", "--name-only", ref+":evidence/D-1/loop")), " "); got != want {
		t.Errorf("the record has %s, want %s", got, want)
	}
	report := h.bare("show", ref+":evidence/D-1/loop/halting_report.json")
	for _, member := range []string{`"status":"EXIT_NEED_INFO"`, `"stop_reason":"NULL_INPUT"`, `"missing_fields":["acceptance_criteria"`, `"safe_partials":"Nothing was changed.`} {
		if !strings.Contains(report, member) {
			t.Errorf("the report lacks %s:\n%s", member, report)
		}
	}
	edit("Make made.txt.\n", "Make made.txt.\n\n"+criterion)
	log = h.launch()
	if status, text := h.report(); status != "EXIT_CONVERGED" || strings.Count(h.journal(), "\n") == 0 {
		t.Fatalf("%s\n%s\n%s\n%s", status, text, h.journal(), log)
	}
	h.merge()
}

// TestCancelledAtItsQuestion: a unit that asked, and that the PM cancels, is reported as cancelled;
// the report before it says nothing that is still true.
func TestCancelledAtItsQuestion(t *testing.T) {
	tier.Full(t, "an agent that runs for many seconds")
	t.Parallel()
	h := newHost(t, plans, thinking["anthropic"])
	data, err := os.ReadFile(filepath.Join(h.Work, comms.Path))
	if err != nil {
		t.Fatal(err)
	}
	h.Write(comms.Path, strings.Replace(string(data), "- [ ] it is there (`test -e made.txt`)\n", "", 1))
	h.Git("commit", "--quiet", "--all", "--message", "D-1")
	h.Git("push", "--quiet", "origin", "main")
	h.launch()
	h.Git("pull", "--quiet", "--ff-only")
	h.Run(h.Work, "git-ward", "uow", "cancel", "--reason", "OUT_OF_SCOPE", "D-1.1")
	log := h.launch()
	h.Git("fetch", "--quiet")
	if status, text := h.report(); status != "EXIT_CANCELLED" || !strings.Contains(text, "Cancelled after 0 iterations: the PM ended it, out of scope.") || strings.Contains(text, "Not begun") {
		t.Errorf("%s\n%s\n%s", text, h.journal(), log)
	}
	if journal := h.journal(); !strings.HasSuffix(journal, "archive ARCHIVED ANALYSIS_DONE\n") {
		t.Error(journal)
	}
}
