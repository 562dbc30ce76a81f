package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/agent/preset"
	"git-ward/internal/modeltest"
)

// versions are the real programs that the presets are tried with.
var versions = map[string]string{"@anthropic-ai/claude-code": "2.1.330", "@openai/codex": "0.169.0", "opencode-ai": "1.18.33"}

// npmCache keeps installed programs for the next run: they take a gigabyte.
const npmCache = "/var/tmp/git-ward-test/npm"

// install puts a preset's real program where npm puts it, and gives the directory
// for PATH.
func install(t testing.TB, p *preset.Preset) string {
	t.Helper()
	if testing.Short() {
		t.Skip("slow")
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("SKIPPED, out loud: npm is not installed, so no real program can be tried")
	}
	version := versions[p.Package]
	dir := filepath.Join(npmCache, strings.ReplaceAll(strings.TrimPrefix(p.Package, "@"), "/", "-")+"-"+version)
	bin := filepath.Join(dir, "node_modules", ".bin")
	if _, err := os.Stat(filepath.Join(bin, p.Program)); err == nil {
		return bin
	}
	if err := os.MkdirAll(npmCache, 0o755); err != nil {
		t.Fatal(err)
	}
	temp, err := os.MkdirTemp(npmCache, "new-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temp)
	if out, err := exec.Command(npm, "install", "--prefix", temp, "--no-audit", "--no-fund", p.Package+"@"+version).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED, out loud: npm install %s: %v\n%s", p.Package, err, out)
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		t.Fatal(err)
	}
	os.Rename(temp, dir) // another test may have been first
	return bin
}

// byProgram plays a model for any of the programs: it works by the program's own
// tool, reads Ward's documents by the MCP server if there is one, and ends.
func byProgram(r *modeltest.Request) modeltest.Turn {
	const work = `echo "$(git config user.name) in $HOME" >made.txt && git add -A && git commit -qm by-program && echo left >left.txt`
	shell := modeltest.Call{Name: "Bash", Args: `{"command":` + quoted(work) + `,"description":"work"}`}
	switch {
	case len(r.Tools) == 0:
		return modeltest.Turn{Text: "a title"} // a side job
	case r.Has("exec_command"):
		shell = modeltest.Call{Name: "exec_command", Args: `{"cmd":` + quoted(work) + `}`}
	case r.Has("bash"):
		shell.Name = "bash"
	}
	if r.Turns == 0 {
		return modeltest.Turn{Text: "I work.", Calls: []modeltest.Call{shell}}
	}
	return modeltest.Turn{Text: "made.txt is there.\nThat is all."}
}

func quoted(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }

// ids are the models that the programs are told to use.
var ids = map[string]string{"claude-code": `"claude-test"`, "codex": `"gpt-test"`, "opencode": `"anthropic/claude-test"`}

// TestPrograms is a directive from push to report by each real program, behind
// the gateway and its stand-in.
func TestPrograms(t *testing.T) {
	for _, p := range preset.All() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			bin := install(t, p)
			h := newHost(t, byProgram, unlimited, map[string]string{"name": `"` + p.Name + `"`, "id": ids[p.Name]})
			h.bin = bin
			h.publish(single)
			log := h.run()
			status, text := h.report()
			if status != "DONE" || !strings.Contains(text, "made.txt is there.\nThat is all.\n\n(") || !strings.Contains(text, "1 call of tools, ") {
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
