package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/gittest"
)

// TestFind: who works is whom the person named, else a program whose key is here; one on PATH
// goes before one that npm brings. The key is what the launch reads, and in no message.
func TestFind(t *testing.T) {
	bin := t.TempDir()
	program := func(name string) {
		gittest.Program(t, filepath.Join(bin, name), "\x7fELF")
	}
	t.Setenv("PATH", bin)
	try := func(o options, env map[string]string) (worker, error) {
		return find(o, func(name string) string { return env[name] })
	}
	claude, codex := map[string]string{"CLAUDE_CODE_OAUTH_TOKEN": "sk-one"}, map[string]string{"OPENAI_API_KEY": "sk-two"}
	if _, err := try(options{}, claude); err == nil || strings.Contains(err.Error(), "sk-one") || !strings.Contains(err.Error(), "npm") {
		t.Errorf("neither the program nor npm is here: %v", err)
	}
	program("npm")
	if w, err := try(options{}, claude); err != nil || w.Name != "claude-code" || w.path != "" {
		t.Errorf("npm brings it: %v, %v", w, err)
	}
	program("codex")
	both := map[string]string{"CLAUDE_CODE_OAUTH_TOKEN": "sk-one", "OPENAI_API_KEY": "sk-two"}
	if w, err := try(options{}, both); err != nil || w.Name != "codex" {
		t.Errorf("one that is here goes first: %v, %v", w, err)
	}
	program("claude")
	if w, err := try(options{}, both); err != nil || w.Name != "claude-code" || strings.Join(w.key, " ") != "ANTHROPIC_API_KEY=sk-one" {
		t.Errorf("a token stands where a key does: %v, %v, %q", w, err, w.key)
	}
	if w, err := try(options{model: "codex"}, both); err != nil || w.Name != "codex" {
		t.Errorf("the person's word: %v, %v", w, err)
	}
	if _, err := try(options{model: "codex"}, claude); err == nil || !strings.Contains(err.Error(), "OPENAI_API_KEY") {
		t.Errorf("its key is not here: %v", err)
	}
	if w, err := try(options{model: "openai", id: "gpt-5"}, codex); err != nil || w.Name != "openai" {
		t.Errorf("a model by its API: %v, %v", w, err)
	}
	if w, err := try(options{script: "x"}, nil); err != nil || w.Name != "script" || w.key != nil {
		t.Errorf("a script: %v, %v", w, err)
	}
}

// TestBring: a native program is copied, and nothing else of where it lies.
func TestBring(t *testing.T) {
	from, dir := t.TempDir(), t.TempDir()
	path := filepath.Join(from, "claude")
	gittest.Program(t, path, "\x7fELF and more")
	if err := os.Chmod(path, 0o700); err != nil { // its owner's alone
		t.Fatal(err)
	}
	w := &trial{dir: dir, worker: worker{path: path}}
	w.worker.Program = "claude"
	for range 2 {
		programs, err := w.bring()
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(programs, "bin/claude"))
		if err != nil || info.Mode() != 0o755 || info.Size() != 13 {
			t.Errorf("%v, %v", info, err)
		}
		if left, err := os.ReadDir(filepath.Join(programs, "bin")); len(left) != 1 {
			t.Errorf("%v, %v", left, err)
		}
	}
	t.Setenv("PATH", dir)
	gittest.Program(t, path, "#!/usr/bin/env node\n")
	w.dir = t.TempDir()
	if _, err := w.bring(); err == nil || !strings.Contains(err.Error(), "npm") {
		t.Errorf("a script of node's without npm: %v", err)
	}
}

// TestGuess: the command is the project's own; a project that says none has none.
func TestGuess(t *testing.T) {
	for _, tc := range [][3]string{
		{"go.mod", "module x\n", "go test ./..."},
		{"package.json", `{"scripts":{"test":"node --test"}}`, "npm test"},
		{"package.json", `{"scripts":{"build":"x"}}`, ""},
		{"package.json", `{`, ""},
		{"Makefile", "all:\n\ntest: all\n", "make test"},
		{"Makefile", "all:\n", ""},
		{"Cargo.toml", "", "cargo test"},
		{"pyproject.toml", "", "python3 -m pytest"},
		{"README", "go.mod", ""},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, tc[0]), []byte(tc[1]), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(guess(dir), ","); got != tc[2] {
			t.Errorf("%s %q: %q, want %q", tc[0], tc[1], got, tc[2])
		}
	}
	// What npm installed beside a clone is not in its commits; npm ci installs it from the lockfile.
	locked := t.TempDir()
	for name, text := range map[string]string{"package.json": `{"scripts":{"test":"tape"}}`, "package-lock.json": "{}"} {
		if err := os.WriteFile(filepath.Join(locked, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(guess(locked), ","); got != "npm ci && npm test" {
		t.Errorf("a project with a lockfile: %q", got)
	}
	// A Python project's Makefile makes a virtual environment and runs pip, which has no network.
	dir := t.TempDir()
	for name, text := range map[string]string{"setup.py": "", "Makefile": "test: install\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(guess(dir), ","); got != "python3 -m pytest" {
		t.Errorf("a Python project with a Makefile: %q", got)
	}
}
