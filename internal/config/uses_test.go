package config

import (
	"strings"
	"testing"
	"time"

	"git-ward/internal/git"
)

// TestUses: what others make of the settings is made of the right ones.
func TestUses(t *testing.T) {
	c := Default()
	if got, want := c.GitLimits(), (git.Limits{Memory: 4 << 30, Alloc: 512 << 20, CPU: time.Minute}); got != want {
		t.Errorf("%+v", got)
	}
	c.Limits.InputSize, c.Limits.Memory = 7, 9
	if got, want := c.ReceiveLimits(), (git.Limits{Memory: 9, Alloc: 512 << 20, CPU: time.Minute, File: 14}); got != want {
		t.Errorf("%+v", got)
	}
	c.Bootstrap.Build, c.Bootstrap.Validate, c.Bootstrap.Run = []string{"b"}, []string{"v"}, []string{"r"}
	if got := c.Commands(); strings.Join(got.Build, "")+strings.Join(got.Validate, "")+strings.Join(got.Run, "") != "bvr" {
		t.Errorf("%+v", got)
	}
}
