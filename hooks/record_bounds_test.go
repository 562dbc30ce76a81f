package hooks_test

import (
	"fmt"
	"strings"
	"testing"

	"git-ward/internal/configtest"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// imports makes commits of a clone by git fast-import, each with one file.
func imports(p *gittest.Pair, commits func(commit func(ref, from, file, text string))) {
	p.T.Helper()
	var b strings.Builder
	commits(func(ref, from, file, text string) {
		fmt.Fprintf(&b, "commit %s\ncommitter T <t@example.org> 1700000000 +0000\ndata 0\n", ref)
		if from != "" {
			fmt.Fprintf(&b, "from %s\n", from)
		}
		fmt.Fprintf(&b, "M 100644 inline %s\ndata %d\n%s\n", file, len(text), text)
	})
	if out, err := p.Try(p.Work, nil, b.String(), "git", "fast-import", "--quiet"); err != nil {
		p.T.Fatal(out)
	}
}

// TestPapersBelowManyCommits: papers on a work branch are seen below as many commits as a push
// may have, also where these came on another branch before (REC-1, GATE-2).
func TestPapersBelowManyCommits(t *testing.T) {
	tier.Full(t, "papers below thousands of commits")
	t.Parallel()
	b := newUnits(t)
	main := strings.TrimSpace(b.Git("rev-parse", "origin/main"))
	imports(b.Pair, func(commit func(ref, from, file, text string)) {
		commit("refs/heads/agent/D-1", main, "evidence/D-1/loop/log.txt", "x")
		for i := range 1200 {
			commit("refs/heads/agent/D-1", "", fmt.Sprintf("f%d", i%10), fmt.Sprint(i))
		}
	})
	refuses(t, b.AgentPush, "agent/D-1", "record/work: the work branch holds the work only")
	refuses(t, b.AgentPush, "agent/D-1:refs/heads/agent/other")
	refuses(t, b.AgentPush, "agent/D-1", "record/work: the work branch holds the work only")
	configtest.Set(b.T, b.Bare, "commits = 1_000")
	refuses(t, b.AgentPush, "agent/D-1", "limit/", "agent/D-1 has 1000 commits or more that are not main's")
	b.Fsck()
}

// TestManyWorks: a record may speak of much work, as long as it stands on one another.
func TestManyWorks(t *testing.T) {
	tier.Full(t, "pushes with more work than is read")
	t.Parallel()
	b := newUnits(t)
	b.step("D-1.1", byAgent(uow.Open))
	main := strings.TrimSpace(b.Git("rev-parse", "origin/main"))
	imports(b.Pair, func(commit func(ref, from, file, text string)) {
		from := main
		for i := range 125 {
			commit(fmt.Sprintf("refs/w/line%d", i), from, fmt.Sprintf("f%d", i), "x")
			commit(fmt.Sprintf("refs/w/apart%d", i), main, fmt.Sprintf("f%d", i), "x")
			from = fmt.Sprintf("refs/w/line%d", i)
		}
	})
	papers := func(kind string) string {
		tip := lone(b.Pair, files{"LEARNINGS.md": "# Learnings\n"})
		tree := strings.TrimSpace(b.Git("rev-parse", tip+"^{tree}"))
		for i := range 125 {
			tip = strings.TrimSpace(b.Git("commit-tree", "-m", "step", "-p", tip, "-p", fmt.Sprintf("refs/w/%s%d", kind, i), tree))
		}
		return tip + ":" + record.Prefix + "D-1.1"
	}
	refuses(t, b.AgentPush, papers("apart"), "limit/", "speak of more than 100 works that do not stand on one another")
	refuses(t, b.AgentPush, papers("line"))
	b.Fsck()
}

// TestManyPlans: what plans cost follows the commits that bring them, and not plans times
// commits (HOOK-1, GATE-6).
func TestManyPlans(t *testing.T) {
	tier.Full(t, "thousands of plans in one push")
	t.Parallel()
	p := newPair(t)
	from := strings.TrimSpace(p.Git("rev-parse", "origin/main"))
	imports(p, func(commit func(ref, from, file, text string)) {
		for i := range 1000 {
			commit("refs/heads/many", from, fmt.Sprintf("plans/p%d.txt", i), "# FSM: sub\nread_file COMMS.md\n")
			from = ""
		}
	})
	refuses(t, p.Push, "many:main")
	p.Fsck()
}
