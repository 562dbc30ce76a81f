package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/configtest"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// TestNotified: what a launch leaves waiting is told by the command of [notify], once, by
// this launch or the next; a command that fails is in status (SEE-3).
func TestNotified(t *testing.T) {
	tier.Full(t, "launches of seconds")
	p := gittest.New(t)
	heard := filepath.Join(t.TempDir(), "heard")
	settings := func(command string) {
		t.Helper()
		configtest.Set(t, p.Bare, "[notify] command = ["+command+"]")
	}
	settings(`"sh", "-c", "echo no-way >&2; exit 3"`)
	p.Write("script.jsonl", `{"text":"nothing to be done"}`+"\n")
	p.Write("COMMS.md", "# COMMS\n\n## Directives\n\n### D-1: never\n\n- [ ] it cannot (`false`)\n- max_iterations: 1\n\n## Reports\n\n## Questions\n")
	p.Git("add", ".")
	p.Git("commit", "--quiet", "--message", "a directive")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	launch := func() {
		p.Run(p.Work, "git-ward", "launch", "--unfenced", "--bare", p.Bare, "--once", "--model", "script", "--state", filepath.Join(filepath.Dir(p.Bare), "state"))
	}
	// At its end a launch waits for its words a few seconds; on a busy machine it leaves them to the next.
	await.True(t, "status says that the command fails", func() bool {
		launch()
		status := p.Run(p.Bare, "git-ward", "status")
		return strings.Contains(status, "the [notify] command has failed since ") && strings.Contains(status, "no-way")
	})
	if err := os.Remove(filepath.Join(p.Bare, "ward/notified.json")); err != nil { // else it is tried in half a minute
		t.Fatal(err)
	}
	settings(`"sh", "-c", "cat >>` + heard + `; echo $WARD_DIRECTIVE END >>` + heard + `"`)
	await.True(t, "the command has told it", func() bool {
		launch()
		data, _ := os.ReadFile(heard)
		return strings.Contains(string(data), "END")
	})
	launch()
	data, _ := os.ReadFile(heard)
	if text := string(data); strings.Count(text, "D-1 END\n") != 1 || !strings.HasPrefix(text, "D-1: ") || !strings.Contains(text, "\ntype: git ward ") {
		t.Errorf("%q", text)
	}
	p.Fsck()
}
