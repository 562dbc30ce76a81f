package command

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/internal/benchtest"
)

// TestBenchReport: the pages of 1,000 directives written anew, again, and where one of them
// has moved; against a copy of their files.
func TestBenchReport(t *testing.T) {
	benchtest.Only(t)
	const n = 1000
	p := many(t, n)
	dir := filepath.Join(t.TempDir(), "report")
	took := func(name string, args ...string) time.Duration {
		begun := time.Now()
		p.Run(p.Work, name, args...)
		return time.Since(begun)
	}
	write := func() time.Duration { return took("git-ward", "report", "--bare", p.Bare, "--html", dir) }
	what := fmt.Sprintf("report --html of %d directives, ", n)
	first := write()
	copied := took("cp", "-a", dir, dir+".copy")
	benchtest.Against(what+"the first time", first, "cp -a of its files", copied)
	benchtest.Against(what+"the next time", write(), "cp -a of its files", copied)
	tree := strings.TrimSpace(p.Run(p.Bare, "git", "rev-parse", "agent/D-2^{tree}"))
	commit := strings.TrimSpace(p.Run(p.Bare, "git", "commit-tree", "-p", "agent/D-2", "-m", "more", tree))
	p.Run(p.Bare, "git", "update-ref", "refs/heads/agent/D-2", commit)
	benchtest.Against(what+"where one has moved", write(), "cp -a of its files", copied)
}
