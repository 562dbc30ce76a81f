package main

import (
	"path/filepath"
	"strings"
	"testing"

	"git-ward/agent/preset"
	"git-ward/internal/modeltest"
)

// ids are the models that the programs are told to use.
var ids = map[string]string{"claude-code": `"claude-test"`, "codex": `"gpt-test"`, "opencode": `"anthropic/claude-test"`}

// TestPrograms is a directive from push to report by each real program, behind
// the gateway and its stand-in.
func TestPrograms(t *testing.T) {
	for _, p := range preset.All() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			bin := filepath.Join(modeltest.Install(t, p.Package), "node_modules", ".bin")
			h := newHost(t, modeltest.ByProgram, unlimited, map[string]string{"name": `"` + p.Name + `"`, "id": ids[p.Name]})
			h.bin = bin
			h.publish(single)
			log := h.run()
			status, text := h.report()
			if status != "DONE" || !strings.Contains(text, "made.txt is there.\nD-1 says: make a file.\n\n(") || !strings.Contains(text, "2 calls of tools, ") {
				t.Errorf("%s\n%s\n%s\n%s", status, text, log, &h.log)
			}
			t.Logf("%s\n%s", text, log)
			made := h.git("-C", "remote.git", "show", "agent/D-1:made.txt")
			if made != "Ward Agent in "+h.path("state/home-"+p.Name)+"\n" {
				t.Errorf("made.txt: %q", made)
			}
			if left := h.git("-C", "remote.git", "show", "agent/D-1:left.txt"); left != "left\n" {
				t.Errorf("left.txt: %q", left)
			}
			if files := h.git("-C", "remote.git", "ls-tree", "-r", "--name-only", "agent/D-1"); files != "COMMS.md\nSYSTEM.md\nleft.txt\nmade.txt\nscript.jsonl\n" {
				t.Errorf("the program left behind:\n%s", files)
			}
			for _, r := range h.Requests() {
				if r.Model != "claude-test" && r.Model != "gpt-test" {
					t.Errorf("a model was asked that nobody chose: %s", r.Model)
				}
			}
			h.noKey(log)
		})
	}
}
