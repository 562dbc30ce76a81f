package main

import (
	"strings"
	"testing"
	"time"

	"git-ward/internal/modeltest"
	"git-ward/internal/tier"
	"git-ward/protocols/comms"
)

// TestWithoutLoop: without the bounded loop a question and an outage are no trouble of the
// agent's either: the question is asked and waits for an edit, the outage is told, and the
// next launch goes on (WORK-1, WORK-4).
func TestWithoutLoop(t *testing.T) {
	tier.Full(t, "two agents that run for many seconds")
	settings := map[string]string{"model.name": `"anthropic"`, "model.id": `"claude-test"`, "agent.loop": "false", "model.patience": `"1s"`, "model.tries": "1"}
	document := func(h *host) string { return h.Git("show", "origin/main:"+comms.Path) }
	t.Run("asks", func(t *testing.T) {
		t.Parallel()
		h := newHost(t, modeltest.Persona(modeltest.Asks), settings)
		h.wants("")
		log := h.launch()
		status, text := h.report()
		if status != "EXIT_NEED_INFO" || !strings.Contains(text, "Edit D-1 to have it taken up again.") || !strings.Contains(document(h), "### Q-1 ") || !strings.Contains(document(h), "hich word shall note.txt hold?") {
			t.Fatalf("%s\n%s\n%s", document(h), text, log)
		}
		asked := len(h.Requests())
		if h.launch(); len(h.Requests()) != asked {
			t.Error("it does not wait for the answer")
		}
		h.Fsck()
	})
	t.Run("an outage", func(t *testing.T) {
		t.Parallel()
		outage := modeltest.Outage{For: time.Hour, Faults: []modeltest.Fault{{Status: 503, Type: "unavailable", Message: "no"}}}
		h := newHost(t, outage.Around(modeltest.Persona(modeltest.List)), settings)
		h.wants("plum")
		log := h.launch()
		if status, text := h.report(); status != "INFO" || !strings.Contains(text, "Backpressure") || !strings.Contains(text, "tried again by itself") || strings.Contains(log, "not gone on with in this pass") {
			t.Fatalf("%s\n%s\n%s", status, text, log)
		}
		before := document(h)
		if h.launch(); document(h) != before {
			t.Errorf("it is told again:\n%s", document(h))
		}
		h.Fsck()
	})
}
