package worker

import (
	"strings"
	"testing"

	"errors"

	"git-ward/agent/planrun"
	"git-ward/internal/config"
	"git-ward/internal/diag"
)

// The other tests of this package are the scripts of cmd/ward-agent.

func TestModelNames(t *testing.T) {
	for name, want := range map[string]string{"": "[model] name", "gpt": "script", "exec": "command = ["} {
		err := Run(t.Context(), Settings{Config: modelConfig(name), Getenv: func(string) string { return "" }})
		var hinted *diag.Hinted
		if !errors.As(err, &hinted) || !strings.Contains(hinted.Hint, want) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestPlanInside: an agent that a plan's step starts does not work, because it could run a plan
// inside that one.
func TestPlanInside(t *testing.T) {
	inside := func(name string) string { return map[string]string{planrun.Mark: "/a/clone"}[name] }
	if err := Run(t.Context(), Settings{Config: modelConfig("script"), Getenv: inside}); err == nil || !strings.Contains(err.Error(), "a plan runs here") {
		t.Error(err)
	}
}

func modelConfig(name string) *config.Config {
	c := new(config.Config)
	c.Model.Name = name
	return c
}
