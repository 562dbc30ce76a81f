package command

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/config"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
)

// TestReportKeeps: whatever moves, a report over an earlier one is as one that is written anew,
// byte by byte, and pages of what did not move are the files that they were.
func TestReportKeeps(t *testing.T) {
	tier.First(t, "the built programs write twenty reports")
	p := many(t, 6)
	top := t.TempDir()
	dir := filepath.Join(top, "kept")
	git := func(args ...string) string { return strings.TrimSpace(p.Run(p.Bare, "git", args...)) }
	commit := func(ref string) {
		git("update-ref", ref, git("commit-tree", "-p", ref, "-m", "more", ref+"^{tree}"))
	}
	for i, c := range []struct {
		what  string
		moves func()
		same  string // a page that stays, and one that does not; "" for none
		other string
	}{
		{"the first time", func() {}, "", ""},
		{"nothing", func() {}, "D-1.html", ""},
		{"a branch", func() { commit("refs/heads/agent/D-2") }, "D-4.review.html", "ward-facts.txt"},
		{"a record", func() { commit("refs/ward/record/D-4.1") }, "D-2.html", "ward-facts.txt"},
		{"a verdict", func() {
			tip := git("rev-parse", "refs/heads/agent/D-4")
			note := git("notes", "--ref="+loop.VerdictsRef, "show", tip)
			git("notes", "--ref="+loop.VerdictsRef, "append", "-m", strings.ReplaceAll(note, `"iteration":3`, `"iteration":2`), tip)
		}, "D-2.html", "D-4.1.html"},
		{"the project", func() { commit("refs/heads/main") }, "D-2.html", "ward-facts.txt"},
		{"a directive's text", func() {
			text := strings.Replace(git("show", "main:"+comms.Path), "### D-6: a file", "### D-6: one file", 1)
			p.Git("fetch", "--quiet", "origin")
			p.Git("reset", "--quiet", "--hard", "origin/main")
			p.Commit(comms.Path, text+"\n")
			if out, err := p.Push("HEAD:main"); err != nil {
				t.Fatal(out)
			}
		}, "D-2.html", "D-6.html"},
		{"a branch that is gone", func() { git("update-ref", "-d", "refs/heads/agent/D-2") }, "D-4.html", "ward-facts.txt"},
		{"the host's settings", func() {
			name := filepath.Join(p.Bare, config.Path)
			data, err := os.ReadFile(name)
			if err == nil {
				err = os.WriteFile(name, append(data, "# more\n"...), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}, "", "ward-facts.txt"},
	} {
		c.moves()
		before := map[string]os.FileInfo{}
		for _, name := range []string{c.same, c.other} {
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
				before[name] = info
			}
		}
		fresh := filepath.Join(top, string(rune('a'+i)))
		p.Run(p.Work, "git-ward", "report", "--bare", p.Bare, "--html", dir)
		p.Run(p.Work, "git-ward", "report", "--bare", p.Bare, "--html", fresh)
		if got, want := gittest.Contents(t, dir), gittest.Contents(t, fresh); !maps.Equal(got, want) {
			for name := range want {
				if got[name] != want[name] {
					t.Errorf("%s moved: %s is not as a new report has it", c.what, name)
				}
			}
			t.Errorf("%s moved: %d files, %d in a new report", c.what, len(got), len(want))
		}
		for name, keeps := range map[string]bool{c.same: true, c.other: false} {
			now, err := os.Stat(filepath.Join(dir, name))
			if name != "" && (err != nil || os.SameFile(before[name], now) != keeps) {
				t.Errorf("%s moved: %s is the same file: %v %v", c.what, name, !keeps, err)
			}
		}
	}
}
