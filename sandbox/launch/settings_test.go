package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"git-ward/internal/config"
	"git-ward/internal/scratch"
)

// TestSettingsStayOutside: whoever works has what it is shown of the settings, and nothing of
// the host's own: in podman and without a fence (one copy for both), in a pod, and on another
// machine, whose launcher is shown a little more than the agent in its fence.
func TestSettingsStayOutside(t *testing.T) {
	dir := t.TempDir()
	settings := config.Default()
	settings.Notify.Command = []string{"/usr/local/bin/ntfy", "my-topic"}
	settings.Model.AnthropicKeyFile, settings.Model.OpenAIURL = "/etc/ward/anthropic.key", "https://me:hunter2@models.example.org"
	settings.Identity.PM = []string{"pat"}
	settings.Verify.CacheSources = []string{"GOPROXY=https://me:hunter2@proxy.example.org"}
	settings.Kube.Gate, settings.Kube.HostKeyFile = "ssh://git@203.0.113.7:22/srv/git/project.git", "/srv/keys/host.pub"
	settings.Sandbox.Programs = "/opt/programs"
	settings.Agent.MaxTurns = 7
	bare := filepath.Join(dir, "bare.git")
	write(t, filepath.Join(bare, config.Path), whole(t, settings))
	settings, err := config.Load(bare)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}

	state := filepath.Join(dir, "state")
	if err := prepareState(state, bare); err != nil {
		t.Fatal(err)
	}
	shown["in podman and without a fence"] = read(t, configCopy(state))

	plan, err := PlanKube(t.Context(), &Spec{Bare: bare, Settings: settings}, Kube{Image: "ward"})
	if err != nil {
		t.Fatal(err)
	}
	shown["in a pod"] = plan.Config

	o, err := (&remoteWorker{launch: &launch{spec: Spec{Bare: bare, Settings: settings}}}).order(&worker{only: "D-1"}, []byte("key"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(o.Settings, "/opt/programs") {
		t.Error("the launcher of another machine is not shown where programs are")
	}
	shown["on another machine"] = strings.ReplaceAll(o.Settings, "/opt/programs", "")
	there, mirror := filepath.Join(dir, "away"), filepath.Join(dir, "mirror")
	made, err := scratch.Make(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	defer made.Remove()
	if _, err := (&remoteJob{order: o, dir: made, state: there, mirror: mirror}).prepare(); err != nil {
		t.Fatal(err)
	}
	shown["in its fence"] = read(t, configCopy(there))

	for where, text := range shown {
		for _, own := range []string{"ntfy", "my-topic", "anthropic.key", "hunter2", "example.org", "pat\"", "203.0.113.7", "/srv/", "/opt/programs", "[notify]", "[identity]"} {
			if strings.Contains(text, own) {
				t.Errorf("%s %q is shown", where, own)
			}
		}
		if !strings.Contains(text, "max_turns = 7") {
			t.Errorf("%s what the agent needs is not shown:\n%s", where, text)
		}
	}
}

// whole is a settings file that says them all.
func whole(t *testing.T, c *config.Config) string {
	t.Helper()
	var b strings.Builder
	if err := toml.NewEncoder(&b).Encode(c); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
