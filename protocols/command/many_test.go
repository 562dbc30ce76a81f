package command_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// TestStory09: 200 directives, 2,000 reports, titles in scripts that are not ours, and a
// directive of 60 KB: everything is answered with few children, and lists stay lists.
func TestStory09(t *testing.T) {
	tier.First(t, "the built programs, real hooks and pushes")
	t.Parallel()
	p := gittest.New(t)
	titles := map[int]string{
		1: "增加一个速率限制器", 2: "أضف محدد معدل الطلبات إلى الخادم", 3: "add a 🚀 launcher 👩‍🚀 for कार्य", 4: "Ünïcödé und ß",
		5: strings.Repeat("很长的标题", 40), 6: strings.Repeat("سطر ", 60),
	}
	var doc strings.Builder
	doc.WriteString("# COMMS\n\n## Directives\n\n")
	for i := 1; i <= 200; i++ {
		title := titles[i]
		if title == "" {
			title = fmt.Sprintf("directive %d", i)
		}
		fmt.Fprintf(&doc, "### D-%d: %s\n\n", i, title)
		if i == 7 {
			doc.WriteString(strings.Repeat("Say what is to be done, and why, at length. 说明。\n", 1100))
		}
		doc.WriteString("- [ ] it holds (`true`)\n\n")
	}
	doc.WriteString("## Reports\n\n")
	for i := 1; i <= 2000; i++ {
		fmt.Fprintf(&doc, "### R-%d 2026-11-21T09:00:00Z D-%d INFO\nfine\n\n", i, i%200+1)
	}
	if err := os.WriteFile(filepath.Join(p.Work, "COMMS.md"), []byte(doc.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	// What starts a git for each directive or report starts hundreds.
	const few = 40
	counted := func(name string, args ...string) string {
		t.Helper()
		traces := t.TempDir() // where each git leaves a file
		out, err := p.Try(p.Work, []string{"GIT_TRACE2_EVENT=" + traces}, "", name, args...)
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, args, err, out)
		}
		if gits, _ := os.ReadDir(traces); len(gits) == 0 || len(gits) > few {
			t.Errorf("%s %s: %d calls of git", name, args, len(gits))
		} else {
			t.Logf("%s %s: %d calls of git", name, args, len(gits))
		}
		return out
	}
	p.Git("commit", "--quiet", "--all", "--message", "a year of it")
	counted("git", "push", "--quiet", "origin", "HEAD:main")
	counted("git-ward", "lint")
	list := counted("git-ward", "directive", "show")
	lines := strings.Split(strings.TrimRight(list, "\n"), "\n")
	if len(lines) != 201 {
		t.Errorf("%d lines for 200 directives", len(lines))
	}
	for i, line := range lines {
		if !utf8.ValidString(line) || strings.Contains(line, "\ufffd") || utf8.RuneCountInString(line) > 120 {
			t.Errorf("line %d is no line of a list: %q", i, line)
		}
		if title := titles[i]; i > 0 && len(title) > 0 && len(title) < 60 && !strings.HasSuffix(line, title) {
			t.Errorf("the title of D-%d is not what the PM wrote: %q", i, line)
		}
	}
	counted("git-ward", "uow", "show", "--all")
	counted("git-ward", "status", "--bare", p.Bare)
	shown := counted("git-ward", "directive", "show", "D-7")
	if strings.Count(shown, "说明。") != 1100 {
		t.Errorf("the directive of 60 KB is not shown whole: %d bytes", len(shown))
	}
	counted("git-ward", "directive", "new", "--untried", "-m", "再来一个 🎯\n\n- [ ] it holds (`true`)\n")
	p.Fsck()
}
