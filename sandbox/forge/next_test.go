package forge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"git-ward/internal/tier"
	"git-ward/protocols/loop"
)

// ready is a scene whose D-1 is proved, its request ready, and the commit that was judged.
func ready(t *testing.T) (*scene, *unit, string) {
	t.Helper()
	s, _, u := begun(t)
	commit := u.claims("greet.sh", "echo \"Hello, $1.\"\n")
	u.verdict(loop.Exact)
	u.step("LOOP_CONVERGED", uowComplete)
	u.push()
	s.once(0)
	s.stands(commit, "success", "EXACT")
	return s, u, commit
}

// stands expects the newest status of a commit.
func (s *scene) stands(commit, word, says string) {
	s.T.Helper()
	if list := s.forge.statuses(commit); len(list) == 0 || list[0].Status != word || !strings.Contains(list[0].Description, says) {
		s.T.Fatalf("want %s with %q: %+v", word, says, list)
	}
}

// TestNextUnit: a unit that begins after a proof takes the success back while it has claimed
// nothing, its request hears what is said there, and a directive that is gone from COMMS.md has no
// success (FORGE-3, FORGE-4).
func TestNextUnit(t *testing.T) {
	tier.Full(t, "a real Gitea")
	s, _, commit := ready(t)
	pull := s.forge.pulls()[0].Number
	s.forge.comment(s.forge.lead, pull, "/ward clarify greet in French, too")
	s.once(0)
	s.says(pull, 2, "clarify D-1: done.")
	s.once(0)
	s.stands(commit, "pending", "nothing is claimed yet")
	if p := s.forge.pulls()[0]; !p.Draft {
		t.Fatalf("what is not done is ready: %+v", p)
	}
	s.forge.comment(s.forge.lead, pull, "/ward pause")
	s.once(0)
	s.says(pull, 4, "pause D-1: done.")
	s.forge.comment(s.forge.lead, pull, "/ward resume")
	s.once(0)
	s.forge.call("PATCH", fmt.Sprintf("/pulls/%d", pull), map[string]any{"state": "closed"}, nil)
	s.once(0)
	s.says(pull, 7, "D-1.2 is paused, because this request was closed")
	s.forge.call("PATCH", fmt.Sprintf("/pulls/%d", pull), map[string]any{"state": "open"}, nil)
	s.Run(s.control, "git", "pull", "--quiet")
	file := filepath.Join(s.control, "COMMS.md")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?s)### D-1: .*?(\n#|$)`).ReplaceAllString(string(data), "$1")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Run(s.control, "git", "commit", "--quiet", "--all", "--message", "without D-1")
	s.Run(s.control, "git", "push", "--quiet")
	s.once(0)
	s.stands(commit, "error", "no longer listed")
}
