package hooks_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/hooks/push"
	"git-ward/protocols/comms"
)

// TestAnswersRoom: the agent's reports leave the PM's part of COMMS.md to the PM, who may
// still write there; so do the watcher's, of what an agent did (COMMS-5, HOOK-4b).
func TestAnswersRoom(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	data, err := os.ReadFile(filepath.Join(p.Work, comms.Path))
	if err != nil {
		t.Fatal(err)
	}
	more := func(to, words int) {
		t.Helper()
		for i := 0; len(data) < to; i++ { // in two shares, since one has half
			amended, err := comms.Amend(data, comms.NewReport{Time: time.Now(), Directive: []string{"-", "D-7"}[i%2], Status: comms.Info, Text: strings.Repeat("word ", words)}, comms.Whole)
			if err != nil {
				t.Fatal(err)
			}
			data = amended.Data
		}
	}
	grow := func(to int) {
		t.Helper()
		more(to, 3000)
		p.Commit(comms.Path, string(data))
	}
	grow(160 << 10)
	if out, err := p.AgentPush("HEAD:main"); err != nil {
		t.Fatal(err, out)
	}
	grow(200 << 10)
	if out, err := p.AgentPush("HEAD:main"); err == nil || !strings.Contains(out, "comms/agent-room") || !strings.Contains(out, "Comms-Prune") {
		t.Fatal(err, out)
	}
	if out, err := p.Push("HEAD:main"); err != nil { // a PM may do what he wants with his own file
		t.Error(err, out)
	}
	head := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	watched := func() string {
		t.Helper()
		return judged(p, push.Watcher, "refs/heads/main", head, rawCommit(p, files{comms.Path: string(data)}, "watcher", head))
	}
	more(215<<10, 300) // the watcher's, which has some room where the agent has none
	if found := watched(); found != "" {
		t.Error(found)
	}
	more(230<<10, 300)
	if found := watched(); !strings.Contains(found, "comms/agent-room") {
		t.Errorf("the watcher takes the PM's part: %q", found)
	}
	p.Fsck()
}
