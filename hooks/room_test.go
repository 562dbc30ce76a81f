package hooks_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/protocols/comms"
)

// TestAnswersRoom: the agent's reports leave the PM's part of COMMS.md to the PM, who may
// still write there (COMMS-5).
func TestAnswersRoom(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	data, err := os.ReadFile(filepath.Join(p.Work, comms.Path))
	if err != nil {
		t.Fatal(err)
	}
	grow := func(to int) {
		for len(data) < to {
			data, _, err = comms.AppendReport(data, comms.NewReport{Time: time.Now(), Directive: "-", Status: comms.Info, Text: strings.Repeat("word ", 3000)})
			if err != nil {
				t.Fatal(err)
			}
		}
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
	p.Fsck()
}
