package hooks_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"git-ward/internal/benchtest"
)

// TestBenchLessons compares the agent's push of 20 lessons, each of which the hook
// carries out again, with a push of 20 commits that change as many files.
func TestBenchLessons(t *testing.T) {
	benchtest.Only(t)
	const commits = 20
	var plain, replayed []time.Duration
	for range 7 {
		p := newPair(t)
		p.Git("switch", "--quiet", "-c", "agent/plain")
		for i := range commits {
			for _, name := range []string{"a", "b", "c"} {
				p.Write("docs/"+name, strings.Repeat(fmt.Sprintln(i, name), 500))
			}
			p.Git("add", ".")
			p.Git("commit", "--quiet", "-m", "change")
		}
		p.Git("switch", "--quiet", "-c", "agent/lessons", "origin/main")
		var b strings.Builder
		b.WriteString("**Task ID:** D-1\n**Date:** 2026-11-21\n## Corrective Actions & Lessons Learned\n")
		for i := range commits {
			fmt.Fprintf(&b, "- **Lesson:** number %d\n  **Action:** add tool 'tool-%d' to protocol 'fdc-protocol-001'\n", i, i)
		}
		p.Commit("postmortems/x.md", b.String())
		p.Run(p.Work, "git-ward", "lesson", "extract", "postmortems/x.md")
		p.Run(p.Work, "git-ward", "lesson", "apply")
		for branch, took := range map[string]*[]time.Duration{"agent/plain": &plain, "agent/lessons": &replayed} {
			start := time.Now()
			if out, err := p.AgentPush(branch); err != nil {
				t.Fatal(out)
			}
			*took = append(*took, time.Since(start))
		}
	}
	benchtest.Against("push of 20 lessons, each replayed by the hook", benchtest.Median(replayed), "20 commits of as many files", benchtest.Median(plain))
}
