package door

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/token"
)

// TestEnter: a push of the host's own has the rights of whom it names and no others, the audit
// has that name, and without the key it is trouble and no refusal.
func TestEnter(t *testing.T) {
	p := gittest.New(t)
	p.Commit("hello", "hello\n")
	clone, commit := git.Open(filepath.Join(p.Work, ".git")), strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	refused, err := Enter(t.Context(), clone, p.Bare, time.Minute, "agent", "worker", commit, "refs/heads/main")
	if err == nil || refused == nil || !slices.Contains(refused.Rules(), "rights/main") {
		t.Fatal(refused, err)
	}
	if refused, err := Enter(t.Context(), clone, p.Bare, time.Minute, "pm", "ann", commit, "refs/heads/main"); err != nil || refused != nil {
		t.Fatal(refused, err)
	}
	if log := p.Run(p.Bare, "git-ward", "log", "-n", "1"); !strings.Contains(log, "pm ann") || p.Run(p.Bare, "git", "rev-parse", "main") != commit+"\n" {
		t.Error(log)
	}
	if err := os.Remove(filepath.Join(p.Bare, token.KeyFile)); err != nil {
		t.Fatal(err)
	}
	if refused, err := Enter(t.Context(), clone, p.Bare, time.Minute, "pm", "ann", commit, "refs/heads/topic"); err == nil || refused != nil {
		t.Error(refused, err)
	}
}
