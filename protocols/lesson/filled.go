package lesson

import (
	"bytes"
	"strings"

	"git-ward/internal/pattern"
)

// RuleEmpty is about a post-mortem that is as its template was.
const RuleEmpty = "postmortem/empty"

// EmptyHint says what to do about one.
const EmptyHint = "say below its headings what went well, what went wrong and why, and what is learnt: items of **Lesson:** and **Action:**"

// placeholder is a line that says nothing: a label without text behind it, or a text in
// brackets that asks for one.
var placeholder = pattern.New(`^(?:[-*+]|[0-9]+[.)])?\s*(?:\*\*[^*]+\*\*:?|[*_]{0,2}[\[(<][^\])>]*[\])>][*_]{0,2}|\.{3}|TODO|TBD|[Nn]/[Aa])?\s*$`)

// IsTemplate reports whether a post-mortem has sections, and says nothing in any of them but
// the first, where the template says what the task was.
func IsTemplate(data []byte) bool {
	sections := 0
	for raw := range bytes.Lines(data) {
		line := strings.TrimSpace(string(raw))
		if level, _ := heading(line); level == 2 {
			sections++
		} else if level == 0 && sections > 1 && !placeholder.MatchString(line) {
			return false
		}
	}
	return sections > 1
}
