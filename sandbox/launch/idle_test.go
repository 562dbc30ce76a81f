package launch

import (
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"git-ward/internal/config"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/boot"
)

// TestWorkedOverLaunches: a launcher that is killed begins no count anew of the workers in a row that
// answer with main's program and do nothing: the third one is the last, and one that works is none.
func TestWorkedOverLaunches(t *testing.T) {
	tier.First(t, "it builds the binaries for a guarded repository")
	t.Parallel()
	p := gittest.New(t)
	settings := config.Default()
	worked := func(commit string, moved bool) { // of a launcher of its own
		l := newLaunch(Spec{Bare: p.Bare, Settings: settings})
		l.log = zerolog.Nop()
		l.worked(t.Context(), commit, moved)
	}
	good := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	p.Commit("program", "it answers, and does nothing")
	p.Git("push", "-q", "origin", "main")
	bad := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	for _, commit := range []string{good, bad} {
		p.Run(p.Bare, "git", "update-ref", boot.GoodRef(1), good)
		p.Run(p.Bare, "git", "update-ref", boot.LastGood, commit)
	}
	for i, c := range []struct {
		moved bool
		fell  string
	}{{false, ""}, {false, ""}, {true, ""}, {false, ""}, {false, ""}, {false, bad}} {
		worked(bad, c.moved)
		if got := strings.TrimSpace(p.Run(p.Bare, "git", "for-each-ref", "--format=%(objectname)", boot.Fallen)); got != c.fell {
			t.Errorf("%d: %q is fallen, not %q", i, got, c.fell)
		}
	}
	if left := p.Run(p.Bare, "git", "for-each-ref", boot.CountPrefix(boot.Idle, "")); left != "" {
		t.Errorf("what gave way is counted still:\n%s", left)
	}
	p.Fsck()
}
