package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// TestRecordsAtStart: a launch that has nothing to push writes the records of pushes that
// a killed launcher left, those too that still run when it starts (AUD-2).
func TestRecordsAtStart(t *testing.T) {
	tier.Full(t, "launches of seconds")
	t.Parallel()
	for what, hook := range map[string]string{
		"killed with its receive-pack": "kill -9 $PPID $$\n",
		"an orphan that still runs":    "exec >/dev/null 2>&1; (sleep 0.7; kill -9 $PPID) & wait; kill -9 $$\n",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := gittest.New(t)
			post := filepath.Join(p.Bare, "hooks/post-receive")
			if err := os.Rename(post, post+".real"); err != nil {
				t.Fatal(err)
			}
			begun := filepath.Join(t.TempDir(), "begun")
			gittest.Program(t, post, "#!/bin/sh\n: >"+begun+"\n"+hook)
			push := p.Command(p.Work, nil, "git", "push", "--quiet", "origin", "main:refs/heads/left")
			if err := push.Start(); err != nil {
				t.Fatal(err)
			}
			await.True(t, "the hook", func() bool { return exists(begun) })
			push.Process.Kill()
			push.Wait()
			if err := os.Rename(post+".real", post); err != nil {
				t.Fatal(err)
			}
			if left, _ := filepath.Glob(filepath.Join(p.Bare, "ward/pending/*.json")); len(left) != 1 {
				t.Fatalf("nothing is left to be recorded: %v", left)
			}
			out, err := p.Try(p.Work, nil, "", "git-ward", "launch", "--unfenced", "--bare", p.Bare, "--once", "--model", "script",
				"--state", filepath.Join(filepath.Dir(p.Bare), "state"))
			if err != nil {
				t.Fatal(err, out)
			}
			p.Fsck()
			if log := p.Run(p.Bare, "git-ward", "log", "--json"); strings.Count(log, "refs/heads/left") != 1 || !strings.Contains(log, `"reconciled":true`) {
				t.Error(log)
			}
		})
	}
}
