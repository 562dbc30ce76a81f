package push_test

import (
	"math/rand/v2"
	"os/exec"
	"testing"

	"git-ward/hooks/push"
)

// TestRefNamesAgainstGit: no name that git check-ref-format refuses is admitted, and
// what is refused beyond says why.
func TestRefNamesAgainstGit(t *testing.T) {
	words := []string{"a", "B", "/", "/", ".", "..", "@", "{", "@{", "~", "^", ":", "?", "*", "[", "\\", " ", "\t", "\x7f", "\x01", ".lock", "lock", "-", "é", "\xff", "\u200b", "refs", "heads", "tags", "HEAD", "//", "!", "'", "\u00a0", "main"}
	random := rand.New(rand.NewPCG(1, 2))
	names := []string{"refs/heads/", "refs/", "refs", "refs/heads/.a", "refs/heads/a.lock/b", "refs/heads/a.", "refs/heads/a./b", "refs/heads/@", "refs/@"}
	count, least := 1500, 100
	if testing.Short() { // each name starts a git
		count, least = 150, 10
	}
	for range count {
		name := "refs/" + []string{"heads/", "tags/", "x/", ""}[random.IntN(4)]
		for range 1 + random.IntN(5) {
			name += words[random.IntN(len(words))]
		}
		names = append(names, name)
	}
	admitted := 0
	for _, name := range names {
		reason := push.BadName(name)
		valid := exec.Command("git", "check-ref-format", name).Run() == nil
		if reason == "" && !valid {
			t.Errorf("%q is admitted, and git refuses it", name)
		}
		if reason == "" {
			admitted++
		}
	}
	if admitted < least {
		t.Errorf("only %d names were admitted: the test says little", admitted)
	}
}

// TestWhoseRefs: what the rights of refs are decided by.
func TestWhoseRefs(t *testing.T) {
	for _, c := range []struct {
		ref                          string
		main, branch, agent, journal bool
	}{
		{ref: "refs/heads/main", main: true, branch: true},
		{ref: "refs/heads/topic", branch: true},
		{ref: "refs/heads/agent/topic", branch: true, agent: true},
		{ref: "refs/heads/rescue/boot", branch: true, agent: true},
		{ref: "refs/heads/agents", branch: true},
		{ref: "refs/tags/agent/topic"},
		{ref: "refs/ward/uow/D-1.1", journal: true},
		{ref: "refs/ward/uow"},
		{ref: "refs/notes/main"},
	} {
		if push.IsMain(c.ref) != c.main || push.IsBranch(c.ref) != c.branch || push.IsAgentBranch(c.ref) != c.agent || push.IsJournal(c.ref) != c.journal {
			t.Errorf("%s: main %v, branch %v, agent's %v, journal %v", c.ref,
				push.IsMain(c.ref), push.IsBranch(c.ref), push.IsAgentBranch(c.ref), push.IsJournal(c.ref))
		}
	}
}

// TestFenced: whoever is not known is as little trusted as the agent.
func TestFenced(t *testing.T) {
	for who, want := range map[push.Principal]bool{push.PM: false, push.Member: false, push.Agent: true, push.Watcher: true, "": true, "root": true} {
		if who.Fenced() != want {
			t.Errorf("%q: %v", who, who.Fenced())
		}
	}
}
