package program

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/agent/activity"
	"git-ward/agent/interaction"
	"git-ward/agent/stop"
)

// step is a line of a clone's log, as `git ward plan run` writes it for a step.
func step(n int) string {
	return fmt.Sprintf(`{"task":{"id":"D-1","plan_step":"p.txt#%d"},"action":{"type":"FILE_READ","details":{"tool":"read_file"}},"context":{"plan_execution_stack":["p.txt#%d"]}}`, n, n)
}

// TestStepsCount: the steps of plans that a program runs are calls, though its stream
// tells of one, and too many of them end it (PLAN-10).
func TestStepsCount(t *testing.T) {
	log := "mkdir -p .git/ward/logs\ncat >>.git/ward/logs/" + activity.Name + " <<'END'\n"
	three := log + step(1) + "\n{\"task\":{\"id\":\"D-1\"}}\nno JSON\n" + step(2) + "\n" + step(3) + "\nEND\n"
	p := newClaude(t, three+"echo made >made.txt\n"+stream(call(1, "mcp__ward__plan_run", `{}`), answer(1, "done", false), ended))
	p.Gate = &interaction.Gate{MaxCalls: 10}
	if err := os.MkdirAll(filepath.Join(p.Dir, ".git/ward/logs"), 0o755); err != nil {
		t.Fatal(err)
	}
	// What was there before is another's.
	if err := os.WriteFile(filepath.Join(p.Dir, ".git/ward/logs", activity.Name), []byte(strings.Repeat(step(9)+"\n", 50)), 0o644); err != nil {
		t.Fatal(err)
	}
	done, err := p.Solve(t.Context(), "")
	if err != nil || done.Tally.Calls != 4 || p.Gate.Calls() != 4 {
		t.Errorf("%v, %d calls, %d at the gate", err, done.Tally.Calls, p.Gate.Calls())
	}
	p = newClaude(t, three+three+"sleep 1000\n")
	if _, err := p.Solve(t.Context(), ""); !stop.Is(err, stop.Unfinished) {
		t.Error(err)
	}
	p = newClaude(t, "mkdir -p .git/ward/logs; mkfifo .git/ward/logs/"+activity.Name+"; mkdir logs; ln -s /dev/zero logs/"+activity.Name+"\n"+stream(ended))
	if _, err := p.Solve(t.Context(), ""); err != nil {
		t.Errorf("%v", err)
	}
}
