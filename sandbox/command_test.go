package sandbox

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/cli"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/sandbox/fence"
)

// TestRefusals: every refusal is exit 2, says why, and what to do.
func TestRefusals(t *testing.T) {
	tier.First(t, "it launches real processes")
	t.Parallel()
	bare := func(h *house) []string { return []string{"--bare", h.bare} }
	fencedScript := func(h *house) []string { return append(bare(h), "--model", "script") }
	unfenced := func(h *house) []string { return []string{"--bare", h.bare, "--unfenced"} }
	model := func(name string) func(h *house) []string {
		return func(h *house) []string { return append(unfenced(h), "--model", name) }
	}
	for _, test := range []struct {
		name  string
		spoil func(h *house)
		args  func(h *house) []string
		want  []string
	}{
		{"no model", nil, bare, []string{"error: no model is configured: [model] name in ", "hint: set it to one of anthropic, openai, claude-code, codex, opencode, exec, script"}},
		// Where no fence can be made, launch refuses and never falls back (SBX-8).
		{"no fence", (*house).withoutPodman, fencedScript, []string{"error: podman is not there", "hint: on Debian: apt-get install podman "}},
		{"an unknown model", nil, func(h *house) []string { return append(bare(h), "--model", "clever") }, []string{`error: unknown model "clever"`, "hint: [model] name is one of anthropic, openai, claude-code, codex, opencode, exec, script"}},
		{"a real model", nil, model("anthropic"), []string{`error: the model "anthropic" needs the fence`, "hint: `--model script`"}},
		{"a real model in the settings", func(h *house) { h.edit(`name = ""`, `name = "openai"`) }, unfenced, []string{`error: the model "openai" needs the fence`, "hint: `--model script`"}},
		{"no --bare", nil, func(*house) []string { return nil }, []string{"is not in a git repository", "hint: go into a repository of Ward's or a clone of it, or name it: --bare DIR"}},
		{"an argument", nil, func(h *house) []string { return append(unfenced(h), "--", "sh") }, []string{"error: a command (sh) runs fenced", "usage:"}},
		{"nothing there", nil, func(h *house) []string { return []string{"--bare", h.bare + "x"} }, []string{"no such file", "hint: `git ward init --bare DIR`"}},
		{"no settings", func(h *house) { os.Remove(filepath.Join(h.bare, "ward/config.toml")) }, unfenced, []string{"config.toml is missing", "git ward init --bare"}},
		{"a limit switched off", func(h *house) { h.edit("per_minute = 30", "per_minute = 0") }, unfenced, []string{"config.toml: door.per_minute must be at least 1"}},
		{"a secret in the config", func(h *house) { h.git("config", "http.https://example.com.extraHeader", "Authorization: basic eHg=") }, fencedScript,
			[]string{"config: http.https://example.com.extraheader holds a secret, and the agent can read it", "hint: git -C "}},
		{"a password in the config", func(h *house) {
			h.git("config", "remote.up.url", "https://me:hunter2@example.com/x")
			h.git("config", "url.https://me:hunter2@example.com/.insteadOf", "up:")
			h.git("config", "credential.helper", "store")
		}, fencedScript, []string{"config: remote.up.url holds", "config: url.https://***@example.com/.insteadof holds", "config: credential.helper holds"}},
		{"objects elsewhere", func(h *house) { h.write("objects/info/alternates", "/srv/other.git/objects\n", 0o644) }, fencedScript,
			[]string{"objects/info/alternates: objects are kept in other repositories", "repack -a -d"}},
		{"open key", func(h *house) { os.Chmod(filepath.Join(h.bare, "ward/door.key"), 0o644) }, unfenced, []string{"has mode 0644, not 0600", "hint: `git ward init --bare "}},
		{"another's", func(h *house) {
			if os.Geteuid() != 0 {
				h.t.Skip("SKIPPED: only root can give files away")
			}
			os.Chown(h.bare, 65534, 65534)
		}, unfenced, []string{"belongs to user nobody, not to you", "hint: run it as the owner: `sudo -u nobody git ward launch --bare "}},
		{"no room for all agents", func(h *house) {
			if os.Geteuid() != 0 {
				h.t.Skip("SKIPPED: an ordinary user's /bot is in memory")
			}
			h.edit("state_size = 10_737_418_240", "state_size = 1_125_899_906_842_624")
			h.edit("agents = 1", "agents = 3")
		}, fencedScript, []string{"GiB free, and the directory /bot of 3 agents may take 3145728.0 GiB of it", ", beside 1.0 GiB of [limits] disk_free", "lower [sandbox] state_size (1048576.0 GiB each) or [launch] agents"}},
		{"no agent", func(h *house) { os.Remove(filepath.Join(h.bin, fence.AgentProgram)) }, unfenced, []string{"the program ward-agent is neither beside the running one nor on PATH", "hint: run scripts/build"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, "")
			if test.spoil != nil {
				test.spoil(h)
			}
			l := h.start(test.args(h)...)
			if code := l.exit(); code != 2 {
				t.Errorf("exit %d", code)
			}
			for _, want := range test.want {
				if !strings.Contains(l.err.String(), want) {
					t.Errorf("stderr lacks %q:\n%s", want, &l.err)
				}
			}
			if strings.Contains(l.err.String(), "hunter2") {
				t.Errorf("stderr holds a password:\n%s", &l.err)
			}
			if strings.Contains(l.out.String(), "agent's output") {
				t.Error("the agent ran")
			}
		})
	}
}

// withoutPodman leaves git alone on PATH.
func (h *house) withoutPodman() {
	h.t.Helper()
	git, err := exec.LookPath("git")
	h.path = h.t.TempDir()
	if err == nil {
		err = os.Symlink(git, filepath.Join(h.path, "git"))
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// git runs git in the repository.
func (h *house) git(args ...string) {
	h.t.Helper()
	if out, err := exec.Command("git", append([]string{"-C", h.bare}, args...)...).CombinedOutput(); err != nil {
		h.t.Fatalf("%v\n%s", err, out)
	}
}

// edit changes the repository's settings.
func (h *house) edit(old, new string) {
	h.t.Helper()
	path := filepath.Join(h.bare, "ward/config.toml")
	data, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(data, []byte(old)) {
		h.t.Fatalf("%v: no %q in the settings", err, old)
	}
	h.write("ward/config.toml", strings.Replace(string(data), old, new, 1), 0o644)
}

// TestOneStateDirectory: a repository has one, however it is called.
func TestOneStateDirectory(t *testing.T) {
	tier.First(t, "it launches real processes")
	t.Parallel()
	h := newHouse(t, "")
	link := h.bare + "-link"
	if err := os.Symlink(h.bare, link); err != nil {
		t.Fatal(err)
	}
	for range 2 { // by the link too it is the same directory
		l := h.start("--bare", link, "--unfenced", "--once")
		if code := l.exit(); code != 0 {
			t.Fatalf("exit %d\n%s", code, &l.err)
		}
		link = h.bare
	}
	made, _ := filepath.Glob(filepath.Join(filepath.Dir(h.bare), ".local/state/ward/*"))
	if len(made) != 1 || !strings.HasPrefix(filepath.Base(made[0]), "repo-") {
		t.Errorf("state directories: %v", made)
	}
}

// TestAgentOnPath: without an agent beside the launcher the one on PATH runs.
func TestAgentOnPath(t *testing.T) {
	dir := t.TempDir()
	gittest.Program(t, filepath.Join(dir, fence.AgentProgram), "#!/bin/sh\n")
	t.Setenv("PATH", dir)
	if got, err := cli.Program(fence.AgentProgram); err != nil || got != filepath.Join(dir, fence.AgentProgram) {
		t.Errorf("%q, %v", got, err)
	}
}
