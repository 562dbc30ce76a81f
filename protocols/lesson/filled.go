package lesson

import (
	"bytes"
	"strings"

	"git-ward/internal/pattern"
)

// RuleEmpty is the rule of a post-mortem that is still its template.
const RuleEmpty = "postmortem/empty"

// EmptyHint is the remedy for RuleEmpty.
const EmptyHint = "say below its headings what went well, what went wrong and why, and what is learnt: items of **Lesson:** and **Action:**"

// placeholder is a line that says nothing: a label without text behind it, or a text in
// brackets that asks for one.
var placeholder = pattern.New(`^(?:[-*+]|[0-9]+[.)])?\s*(?:\*\*[^*]+\*\*:?|[*_]{0,2}[\[(<][^\])>]*[\])>][*_]{0,2}|\.{3}|TODO|TBD|[Nn]/[Aa])?\s*$`)

// IsTemplate reports whether a post-mortem has sections, but text only in the first, which the
// template fills with the task.
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
