package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ward/agent/preset"
	"git-ward/internal/modeltest"
	"git-ward/internal/tier"
)

// TestStory21Programs has the API fail while a released program works: whether its own
// retries bridge that or Ward's do, the directive ends as if nothing had been, in the
// iteration in which it began.
func TestStory21Programs(t *testing.T) {
	tier.Full(t, "real command-line agents, and their own retries")
	faults := map[string]modeltest.Fault{
		"claude-code": {Status: 503, Type: "overloaded_error", Message: "no"},
		"codex":       {Status: 429, Type: "rate_limit_exceeded", Message: "slow down", RetryAfter: "1"},
	}
	path := os.Getenv("PATH")
	list := slices.DeleteFunc(programs(), func(p *preset.Preset) bool { _, ok := faults[p.Name]; return !ok })
	for _, p := range list {
		path = filepath.Join(modeltest.Install(t, p.Package), "node_modules", ".bin") + ":" + path
	}
	t.Setenv("PATH", path)
	for _, p := range list {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			o := modeltest.Outage{After: 1, For: 20 * time.Second, Faults: []modeltest.Fault{faults[p.Name]}}
			h := newAdopted(t, o.Around(greets), map[string]string{"model.name": `"` + p.Name + `"`, "model.id": ids[p.Name], "agent.retry_pause": `"1s"`})
			log := h.launch()
			h.worked(log, 1)
			journal := h.journal()
			if strings.Contains(journal, "ZOMBIED_DEAD") || strings.Contains(journal, "LOOP_BLOCKED") || strings.Count(journal, "iterate ") != 1 {
				t.Errorf("the journal:\n%s\n%s", journal, log)
			}
			t.Log(journal)
		})
	}
}
