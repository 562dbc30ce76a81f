package comms

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// busy is a document of n directives, the last of which comes after two others. Each has
// reports and questions as long as its share.
func busy(n int) []byte {
	var b strings.Builder
	b.WriteString("# COMMS\n\nWhat we agreed on.\n\n## Directives\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "\n### D-%d: title %d %s\n\nGoal %d.\n\n- [ ] it is (`test %d`)\n", i, i, strings.Repeat("w", i%90), i, i)
		if i == n && n > 2 {
			b.WriteString("- after: D-1, D-2\n")
		}
	}
	b.WriteString("\n## Reports\n")
	size := 100_000 / n
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	for i := range 2 * n {
		fmt.Fprintf(&b, "\n### R-%d %s D-%d INFO\n\n%s end of R-%[1]d.\n", i+1, at.Add(time.Duration(2*i)*time.Second).Format(timeLayout), i%n+1, strings.Repeat("ä", min(size, 6000)/4))
	}
	b.WriteString("\n## Questions\n")
	for i := range n {
		fmt.Fprintf(&b, "\n### Q-%d %s D-%d\n\nquestion %d?\n", i+1, at.Add(time.Duration(2*i+1)*time.Second).Format(timeLayout), i+1, i+1)
	}
	return []byte(b.String())
}

// TestExcerpt: whatever others there are, an excerpt has what concerns its directive, and no
// more bytes than it may.
func TestExcerpt(t *testing.T) {
	for _, n := range []int{1, 16, 200} {
		data := busy(n)
		doc, found := Parse(data)
		if len(found) > 0 {
			t.Fatal(found)
		}
		for _, id := range []int{1, (n + 1) / 2, n} {
			name := fmt.Sprintf("D-%d", id)
			got := Excerpt(data, name, "refs/remotes/origin/main")
			t.Logf("%d directives, %s: %d of %d bytes", n, name, len(got), len(data))
			wants := []string{"What we agreed on.", doc.Directive(name).Raw, fmt.Sprintf("question %d?\n", id)}
			if len(data) > MaxExcerpt {
				wants = append(wants, "git show refs/remotes/origin/main:COMMS.md\n")
			}
			if id == n && n > 2 {
				wants = append(wants, doc.Directive("D-1").Raw, doc.Directive("D-2").Raw)
			}
			if id != n {
				wants = append(wants, fmt.Sprintf("\n- D-%d (open): title %d ", n, n))
			}
			for _, want := range wants {
				if !strings.Contains(got, want) {
					t.Errorf("%d directives, %s: %q is not told:\n%.3000s", n, name, want, got)
				}
			}
			if len(got) > MaxExcerpt || !utf8.ValidString(got) {
				t.Errorf("%d directives, %s: %d bytes; at most %d may be", n, name, len(got), MaxExcerpt)
			}
			if n > 2 && strings.Contains(got, fmt.Sprintf("question %d?", id%n+1)) {
				t.Errorf("%d directives, %s: another's question is told", n, name)
			}
		}
	}
}

// TestExcerptOfMuch: nothing that a person or an agent writes makes an excerpt longer.
func TestExcerptOfMuch(t *testing.T) {
	long := strings.Repeat("long line of words\n", 5000)
	for _, text := range []string{
		"# COMMS\n" + long + "## Directives\n\n### D-1: x\n- [ ] y\n\n## Reports\n",
		"# COMMS\n\n## Directives\n\n### D-1: x\n" + long + "- [ ] y\n\n## Reports\n",
		"# COMMS\n\n## Directives\n\n### D-1: " + strings.ReplaceAll(long, "\n", " ") + "\n- [ ] y\n\n## Reports\n",
		"# COMMS\n\n## Directives\n\n### D-1: x\n- [ ] y\n\n## Reports\n\n### R-1 2026-11-21T09:00:00Z D-1 INFO\n" + long,
		"not at all a document\n" + long,
	} {
		for _, name := range []string{"D-1", "D-7"} {
			if got := Excerpt([]byte(text), name, "HEAD"); len(got) > MaxExcerpt || !strings.HasPrefix(got, "# COMMS\n") {
				t.Errorf("%s: %d bytes: %.300s", name, len(got), got)
			}
		}
	}
	short := "# COMMS\r\n\xff"
	if got := Excerpt([]byte(short), "D-1", "HEAD"); got != short {
		t.Errorf("a short document is not told as it is: %q", got)
	}
}
