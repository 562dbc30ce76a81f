package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/agent/preset"
	"git-ward/internal/config"
	"git-ward/internal/modeltest"
	"git-ward/internal/tier"
)

// ids are the models that the programs are told to use.
var ids = map[string]string{"claude-code": `"claude-test"`, "codex": `"gpt-test"`, "opencode": `"anthropic/claude-test"`}

// TestProgramsSpent: each of them passes on what the gateway says of a budget that
// is spent, and its directive ends so.
func TestProgramsSpent(t *testing.T) {
	tier.Full(t, "real command-line agents")
	for _, p := range programs() {
		t.Run(p.Name, func(t *testing.T) {
			bin := filepath.Join(modeltest.Install(t, p.Package), "node_modules", ".bin")
			t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
			h := newHost(t, modeltest.ByProgram, map[string]string{"model.name": `"` + p.Name + `"`, "model.id": ids[p.Name], "budget.tokens": "100"})
			log := h.launch()
			if status, text := h.report(); status != "EXIT_BUDGET_EXCEEDED" || !strings.Contains(text, "The model is not paid for any more. "+p.Name) {
				t.Errorf("%s\n%s\n%s", status, text, log)
			}
		})
	}
}

// programs are the presets of all programs that are known.
func programs() (list []*preset.Preset) {
	for _, w := range config.Workers() {
		if w.Kind == config.Program {
			list = append(list, preset.Of(w.Name))
		}
	}
	return list
}
