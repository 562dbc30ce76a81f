package config

import (
	"strings"
	"testing"
)

// TestPublic: what the audit keeps is settings that Parse reads, the same each time,
// and holds nothing of the host.
func TestPublic(t *testing.T) {
	c := Default()
	c.Model.AnthropicKeyFile, c.Model.AnthropicURL, c.Search.URL = "keys/anthropic", "models.example.org", "https://search.example.org/?q={query}"
	c.Sandbox.Image, c.Sandbox.Programs = "example.org/image:1", "/opt/programs"
	c.Verify.SecondImage, c.Verify.CacheSources = "example.org/image:2", []string{"GOPROXY=https://proxy.example.org", "GOPRIVATE=/srv/x"}
	c.Bootstrap.Run = []string{"bin/agent", "--state=/srv/state", "~/x", "PATH=a:/b"}
	c.Notify.Command = []string{"ntfy", "publish", "my-topic"}
	p := c.Public()
	for _, private := range []string{"my-topic", "ntfy", "keys/", "example.org", "/opt", "/srv", "~/x", ":/b"} {
		if strings.Contains(string(p.Text), private) {
			t.Errorf("it shows %q", private)
		}
	}
	_, err := Parse(p.Text, "config.toml")
	if err != nil {
		t.Fatal(err)
	}
	if c.Notify.Command[2] != "my-topic" || c.Bootstrap.Run[1] != "--state=/srv/state" || c.Sandbox.Programs != "/opt/programs" {
		t.Error("the settings themselves were changed")
	}
	if other := Default(); other.Public().SHA256 == p.SHA256 || other.Public().SHA256 != Default().Public().SHA256 {
		t.Error("the hash does not follow the settings")
	}
}

func TestForeign(t *testing.T) {
	for prefix, good := range map[string]bool{
		"refs/pull/": true, "refs/tags/": true, "refs/x/y/": true,
		"refs/heads/": false, "refs/heads/x/": false, "refs/notes/": false, "refs/ward/": false, "refs/ward/uow/": false, "refs/replace/": false,
		"refs/": false, "refs": false, "": false, "refs/pull": false, "/refs/pull/": false, "refs//pull/": false, "*": false,
	} {
		_, err := Parse([]byte("[audit]\nforeign = [\""+prefix+"\"]\n"), "c")
		if (err == nil) != good {
			t.Errorf("%q: %v", prefix, err)
		}
	}
	if c := Default(); !c.Foreign("refs/pull/1/head") || c.Foreign("refs/heads/main") || c.Foreign("refs/pull") {
		t.Error("the defaults")
	}
}

func BenchmarkPublic(b *testing.B) {
	c := Default()
	for b.Loop() {
		c.Public()
	}
}
