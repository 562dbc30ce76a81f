package plan

import (
	"fmt"
	"strings"
	"testing"
)

// TestHostile: texts at the limit of size that are nothing but one thing. None may
// cost more than its length; go test's own limit would end it.
func TestHostile(t *testing.T) {
	const size = 1 << 20
	rep := func(s string) string { return strings.Repeat(s, size/len(s)) }
	var calls strings.Builder
	calls.WriteString("# FSM: sub\n")
	for i := range 20_000 {
		fmt.Fprintf(&calls, "call_plan plans/x%d\n", i)
	}
	for name, text := range map[string]string{
		"escapes": rep("\x1b"), "unknown tools": rep("a\n"), "comments": rep("#\n"), "blanks": rep(" \n"), "separators": rep("---\n"),
		"placeholders": "read_file " + rep("{file1}"), "open placeholders": "read_file " + rep("{file"), "heredoc signs": "---\nmessage_user " + rep("<<"),
		"brackets": "grep " + rep("("), "stars": "for_each_file " + rep("**/") + "\n  list_files\n", "loops": rep("for_each_file *\n"),
		"calls": calls.String(), "indented": rep("  list_files\n"), "heredocs": rep("---\nmessage_user <<A\n"), "dots": "read_file " + rep("../"),
		"ends": "---\ncreate_file_with_block a <<X\n---\n" + rep("END\n") + "X\n", "unknown blocks": rep("---\nxyz\n"), "close": "---\nrun_in_bash_session\n" + rep("git ward task close "),
	} {
		t.Run(name, func(t *testing.T) {
			p, found := Parse([]byte(text), "p")
			if _, err := NewLinter(mapTree{"p": text}, nil).Lint("p"); err != nil {
				t.Error(err)
			}
			if text := p.String(); len(text) > 10*size || len(found) > MaxFindings+1 {
				t.Errorf("%d bytes, %d findings", len(text), len(found))
			}
		})
	}
}
