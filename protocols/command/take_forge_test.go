package command_test

import (
	"testing"

	"git-ward/internal/gittest"
)

// TestTakeOnForge: what says how to merge is not for a forge, which merges in its own way, and is
// refused rather than passed over (FORGE-1).
func TestTakeOnForge(t *testing.T) {
	p := newCopy(t)
	before := tip(p, "main")
	p.Run(p.Bare, "git-ward", "config", "--bare", p.Bare, "forge.url=http://127.0.0.1:1/lead/p")
	for _, c := range [][2]string{
		{"--squash", "--squash is not for"}, {"--unjudged", "--unjudged is not for"}, {"--no-wait", "--no-wait is not for"}, {"--json", "--json is not for"},
	} {
		gittest.InOrder(t, ward(t, p, 2, "take", c[0], "--bare", p.Bare, "D-1"), c[1])
		gittest.InOrder(t, ward(t, p, 2, "take", c[0], "--all", "--bare", p.Bare), c[1])
	}
	gittest.InOrder(t, ward(t, p, 2, "take", "--bare", p.Bare, "D-1.1"), "no unit of it: git ward take D-1")
	if tip(p, "main") != before {
		t.Error("it was taken here")
	}
}
