package push_test

import (
	"math/rand/v2"
	"os/exec"
	"testing"

	"git-ward/hooks/push"
	"git-ward/internal/config"
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

// TestWhoseRefs: what the rights of refs are decided by, in a repository of Ward's own
// and in one that has a control branch beside the project's.
func TestWhoseRefs(t *testing.T) {
	own, adopted := config.Control{Branch: "main", Project: "main"}, config.Control{Branch: "ward", Project: "trunk"}
	for _, c := range []struct {
		ref           string
		branch, agent bool
		history       push.History // in an adopted project
	}{
		{"refs/heads/ward", true, false, push.Control},
		{"refs/heads/trunk", true, false, push.Project},
		{"refs/heads/main", true, false, push.Project},
		{"refs/heads/wards", true, false, push.Project},
		{"refs/heads/agent/topic", true, true, push.Project},
		{"refs/heads/agent/D-1", true, true, push.Project},
		{"refs/heads/agent/D-1-lessons", true, true, push.Control},
		{"refs/heads/agent/D-lessons", true, true, push.Project},
		{"refs/heads/agent/x-lessons", true, true, push.Project},
		{"refs/heads/D-1-lessons", true, false, push.Project},
		{"refs/heads/rescue/boot", true, true, push.Project},
		{"refs/heads/agents", true, false, push.Project},
		{"refs/tags/agent/topic", false, false, push.Project},
		{"refs/ward/uow/D-1.1", false, false, push.Journals},
		{"refs/ward/uow", false, false, push.Project},
		{"refs/ward/record/D-1.1", false, false, push.Records},
		{"refs/ward/records/D-1.1", false, false, push.Project},
		{"refs/notes/ward", false, false, push.Project},
	} {
		if push.IsBranch(c.ref) != c.branch || push.IsAgentBranch(c.ref) != c.agent || push.HistoryOf(adopted, c.ref) != c.history {
			t.Errorf("%s: branch %v, agent's %v, history %v", c.ref, push.IsBranch(c.ref), push.IsAgentBranch(c.ref), push.HistoryOf(adopted, c.ref))
		}
		want := c.history
		if want == push.Project || want == push.Control {
			want = push.Undivided
		}
		if got := push.HistoryOf(own, c.ref); got != want {
			t.Errorf("%s in a repository of Ward's: %v", c.ref, got)
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
