package forge_test

import (
	"fmt"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// TestDeleted: what an admin deletes on a real Gitea: a proposed issue is forgotten, and a request
// is trouble whose remedy works, by which another one is opened with its status.
func TestDeleted(t *testing.T) {
	tier.Full(t, "a real Gitea")
	s, _, u := begun(t)
	spam := s.forge.issue("buy this", body)
	s.once(0)
	s.forge.call("DELETE", fmt.Sprintf("/issues/%d", spam), nil, nil)
	s.once(0)
	if refs := s.Run(s.Bare, "git", "for-each-ref", fmt.Sprintf("refs/ward/forge/issue/%d", spam)); refs != "" {
		t.Error(refs)
	}

	commit := u.claims("greet.sh", "echo \"Hello, $1.\"\n")
	s.once(0)
	first := s.forge.pulls()[0].Number
	s.forge.call("DELETE", fmt.Sprintf("/issues/%d", first), nil, nil)
	out := s.once(1)
	gittest.InOrder(t, out, fmt.Sprintf("request %d: ", first), "if somebody deleted it")
	_, remedy, _ := strings.Cut(out, "has another one opened: ")
	remedy, _, _ = strings.Cut(remedy, "\n")
	s.Run(s.Bare, "sh", "-c", remedy)
	s.once(0)
	s.once(0)
	pulls := s.forge.pulls()
	if len(pulls) != 1 || pulls[0].Number == first || pulls[0].Head.Sha != commit || !pulls[0].Draft {
		t.Errorf("%+v", pulls)
	}
	if list := s.forge.statuses(commit); len(list) == 0 || list[0].Status != "pending" {
		t.Errorf("%+v", list)
	}
}
