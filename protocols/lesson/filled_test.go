package lesson

import (
	"strings"
	"testing"
)

// Lessons count however they are labelled, and numbered ones without a label are kept for
// readers.
func TestExtractForms(t *testing.T) {
	const head = "# P\n**Task ID:** D-1\n**Date:** 2026-11-22\n## 4. Corrective Actions & Lessons Learned\n"
	for _, test := range []struct{ text, lessons, actions string }{
		{"1. **Lesson:** look\n   **Action:** add tool 'a' to protocol 'p'\n", "look", "UPDATE_PROTOCOL"},
		{"1. Lesson: look\n   Action: add tool 'a' to protocol 'p'\n", "look", "UPDATE_PROTOCOL"},
		{"- **Lesson**: look\n- **Action**: add tool 'a' to protocol 'p'\n", "look", "UPDATE_PROTOCOL"},
		{"1. Look before you\n   leap.\n2) Rest.\n", "Look before you leap.|Rest.", "NONE|NONE"},
		{"1. **Lesson:** look\n   1. twice\n   **Action:** none\n2. Rest.\n", "look 1. twice|Rest.", "NONE|NONE"},
		{"Lessons are below.\n", "", ""},
	} {
		list, found := Extract("p.md", []byte(head+test.text))
		var lessons, actions []string
		for _, l := range list {
			lessons, actions = append(lessons, l.Lesson.Raw()), append(actions, strings.ToUpper(string(l.Action.Type)))
		}
		if len(found) > 0 || strings.Join(lessons, "|") != test.lessons || !strings.EqualFold(strings.Join(actions, "|"), test.actions) {
			t.Errorf("%q: %q %q %v", test.text, lessons, actions, found)
		}
	}
}

// A template is one whose sections but the first say nothing.
func TestIsTemplate(t *testing.T) {
	const head = "# P\n**Task ID:** D-1\n## What was done\nAll.\n"
	for text, want := range map[string]bool{
		"":                    false,
		"# P\nprose\n":        false,
		head:                  false,
		head + "## Lessons\n": true,
		head + "## Lessons\n\n1. **Lesson:**\n   **Action:**\n":       true,
		head + "## Good\n[what went well]\n## Bad\n- *(why)*\nTODO\n": true,
		head + "## Good\nnothing\n":                                   false,
		head + "## Lessons\n1. Look.\n":                               false,
	} {
		if got := IsTemplate([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
