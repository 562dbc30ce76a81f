package doctor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/config"
)

func TestModel(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode)); err != nil { // whatever the umask
			t.Fatal(err)
		}
		return path
	}
	write("node_modules/.bin/claude", "", 0o755)
	write("bin/opencode", "", 0o755)
	good, open := write("key", "sk-"+"0123456789\n", 0o600), write("open", "sk-"+"0123456789\n", 0o644)
	for i, c := range []struct {
		set  func(*config.Config)
		env  string
		want string // findings, as "state thing"
	}{
		{func(c *config.Config) {}, "", "missing [model] name"},
		{func(c *config.Config) { c.Model.Name = "script" }, "", "fine [model] name"},
		{func(c *config.Config) { c.Model.Name, c.Egress.Allow = "script", []string{"*.co.uk"} }, "", "fine [model] name, missing [egress] allow"},
		{func(c *config.Config) { c.Model.Name = "anthropic" }, "", "fine [model] name, missing [model] id, missing anthropic's key, fine [egress] mode"},
		{func(c *config.Config) {
			c.Model.Name, c.Model.ID, c.Model.AnthropicKeyFile = "anthropic", "claude-x", good
		}, "",
			"fine [model] name, fine anthropic's key, fine [egress] mode"},
		{func(c *config.Config) {
			c.Model.Name, c.Model.ID, c.Model.AnthropicKeyFile = "anthropic", "claude-x", open
		}, "",
			"fine [model] name, missing anthropic's key, fine [egress] mode"},
		{func(c *config.Config) {
			c.Model.Name, c.Model.ID = "anthropic", "claude-x"
		}, "sk-" + "ant-oat01-0123456789",
			"fine [model] name, fine anthropic's key, warning anthropic's key, fine [egress] mode"},
		{func(c *config.Config) { c.Model.Name, c.Sandbox.Programs = "claude-code", dir }, "sk-" + "ant-oat01-0123456789",
			"fine [model] name, fine claude, fine anthropic's key, fine [egress] mode"},
		{func(c *config.Config) {
			c.Model.Name, c.Model.ID, c.Model.OpenAIURL = "openai", "local", "http://127.0.0.1:1/"
		}, "",
			"fine [model] name, warning [[prices]], fine openai's key, fine [egress] mode"},
		{func(c *config.Config) { c.Model.Name = "exec" }, "", "fine [model] name, warning [model] also"},
		{func(c *config.Config) { c.Model.Name, c.Model.Also = "exec", []string{"gpt-x", "claude-x"} }, "", "fine [model] name"},
		{func(c *config.Config) { c.Model.Name = "claude-code" }, "sk-0123456789",
			"fine [model] name, missing [sandbox] programs, fine anthropic's key, fine [egress] mode"},
		{func(c *config.Config) { c.Model.Name, c.Sandbox.Programs = "claude-code", dir }, "sk-0123456789",
			"fine [model] name, fine claude, fine anthropic's key, fine [egress] mode"},
		{func(c *config.Config) { c.Model.Name, c.Sandbox.Programs = "codex", dir }, "sk-0123456789",
			"fine [model] name, missing codex, fine openai's key, fine [egress] mode"},
		{func(c *config.Config) { c.Model.Name, c.Sandbox.Programs = "opencode", dir }, "sk-0123456789",
			"fine [model] name, missing [model] id, fine opencode, fine openai's key, fine [egress] mode"},
	} {
		settings := config.Default()
		c.set(settings)
		var got []string
		for _, f := range Model(settings, func(string) string { return c.env }) {
			got = append(got, fmt.Sprintf("%s %s", f.State, f.Thing))
			if f.State == Missing && f.Mend == "" || strings.Contains(f.Detail+f.Mend, "sk-0") {
				t.Errorf("%+v", f)
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%d: %v, want %s", i, got, c.want)
		}
	}
}
