package main

import (
	"strings"
	"sync/atomic"
	"testing"

	"git-ward/internal/modeltest"
	"git-ward/internal/tier"
)

// TestDenied: a wrong key blocks no directive for good. The unit says what is to be mended,
// in the journal, where it waits and once in COMMS.md, and `git ward uow retry` goes on
// where it stood. One that is ended instead is reported.
func TestDenied(t *testing.T) {
	tier.Full(t, "an agent that runs for many seconds")
	var mended atomic.Bool
	h := newHost(t, func(r *modeltest.Request) modeltest.Turn {
		if !mended.Load() {
			return modeltest.Turn{Fault: modeltest.Fault{Status: 401, Type: "authentication_error", Message: "invalid x-api-key"}}
		}
		return plans(r)
	}, map[string]string{"model.name": `"anthropic"`, "model.id": `"claude-test"`})
	log := h.launch()
	if journal := h.journal(); !strings.HasSuffix(journal, "block ZOMBIED_SOFT MODEL_DENIED\n") {
		t.Fatalf("%s\n%s", journal, log)
	}
	if out := h.launch(); strings.Contains(h.journal(), "retry") {
		t.Errorf("it is tried again with the key that was refused:\n%s", out)
	}
	h.Git("pull", "--quiet")
	const waits = "you, the model refuses the key or may not be asked, or the worker's program is in trouble, until the admin corrects [model] in config.toml, its command, key file, id or also, and launches again: git ward uow retry D-1.1"
	comms := h.Git("show", "origin/main:COMMS.md")
	if n := strings.Count(comms, waits); n != 1 || !strings.Contains(comms, "anthropic_key_file") {
		t.Errorf("COMMS.md says it %d times:\n%s", n, comms)
	}
	if list := h.Run(h.Work, "git-ward", "uow", "show"); !strings.Contains(list, waits) {
		t.Errorf("uow list:\n%s", list)
	}
	mended.Store(true)
	h.Run(h.Work, "git-ward", "uow", "retry", "D-1.1")
	log = h.launch()
	if status, text := h.report(); status != "EXIT_CONVERGED" {
		t.Errorf("%s\n%s\n%s\n%s", status, text, h.journal(), log)
	}
}

// TestCalledWrongly: a program that is called wrongly, and changed nothing, waits for the admin; the PM
// is asked for no words that it will not read.
func TestCalledWrongly(t *testing.T) {
	tier.Full(t, "an agent that runs for seconds")
	h := newHost(t, greets, map[string]string{"model.name": `"exec"`, "model.command": `["grep", "--no-such-option"]`, "model.prompt": `"stdin"`})
	log := h.launch()
	if journal := h.journal(); !strings.HasSuffix(journal, "block ZOMBIED_SOFT MODEL_DENIED\n") {
		t.Errorf("%s\n%s", journal, log)
	}
	if status, text := h.report(); status != "INFO" || !strings.Contains(text, "exit 2") || !strings.Contains(text, "its command") || !strings.Contains(text, "git ward uow retry D-1.1") || strings.Contains(text, "clarify") {
		t.Errorf("%s\n%s", status, text)
	}
}
