package command_test

import (
	"encoding/json"
	"strings"
	"testing"

	"git-ward/internal/gittest"
)

// TestTakeDoubted: what the verdict on a merge names against its own word, and the claim's did
// not, is said by a take, and leaves the directive where all are taken (PROOF-7).
func TestTakeDoubted(t *testing.T) {
	p := newCopy(t)
	p.Git("pull", "--quiet", "--rebase")
	ward(t, p, 0, "take", "D-1")
	ward(t, p, 1, "take", "--no-wait", "D-2")
	asked := tip(p, "refs/ward/take/D-2.1")
	note := func(on, commit string, lost ...string) {
		t.Helper()
		var v map[string]any
		line, _, _ := strings.Cut(p.Run(p.Bare, "git", "notes", "--ref=certificates", "show", claim(t, p, "D-2.1")), "\n")
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		v["commit"], v["lost"] = commit, lost
		if len(lost) == 0 {
			delete(v, "lost")
		}
		made, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		p.Run(p.Bare, "git", "notes", "--ref=certificates", "append", "-m", string(made), on)
	}
	main := tip(p, "main")
	note(asked, asked, "TestBye", "TestAll")
	gittest.InOrder(t, ward(t, p, 1, "take", "--no-wait", "--all"), "git-ward: error: D-2: merged with what the project did meanwhile, its verdict names what the claim's does not: 2 lost tests: TestBye, TestAll\n",
		"git-ward: hint: git ward review D-2 shows the work; git ward take D-2.1 takes it all the same\n", "0 directives taken, and what stays, for the reasons above: D-2")
	if tip(p, "main") != main {
		t.Fatal("it was taken")
	}
	// What the claim's verdict names, too, the PM has seen.
	note(claim(t, p, "D-2.1"), claim(t, p, "D-2.1"), "TestBye")
	gittest.InOrder(t, ward(t, p, 0, "take", "--no-wait", "D-2"), "git-ward: warning: D-2: merged with what the project did meanwhile, its verdict names what the claim's does not: 1 lost test: TestAll\n", "taken: D-2 say bye")
}
