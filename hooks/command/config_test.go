package command

import (
	"strings"
	"testing"
)

// TestSetTo: a setting takes a value of TOML's, or the text as it was typed; who typed neither
// learns what it wants.
func TestSetTo(t *testing.T) {
	for typed, want := range map[string]string{
		"sandbox.image=ward:1":   "image = \"ward:1\"",
		"launch.agents=4":        "agents = 4",
		"sandbox.state_size=1GB": "sandbox.state_size is a text, and wants a whole number",
		"launch.agents=four":     "launch.agents is a text, and wants a whole number",
		"launch.agents=true":     "launch.agents is ",
	} {
		key, value, _ := strings.Cut(typed, "=")
		data, err := setTo([]byte("[launch]\n"), "config.toml", key, value)
		got := string(data)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) || strings.Contains(got, "true") && strings.Contains(got, "a text") {
			t.Errorf("%s: %s", typed, got)
		}
	}
}
