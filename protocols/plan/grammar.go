package plan

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

//go:embed grammar.md
var grammarText string

// Grammar is what whoever writes plans has to know, as Markdown: the form, one whole plan,
// the machines, and every tool (PLAN-9).
var Grammar = sync.OnceValue(func() string {
	var list strings.Builder
	for _, t := range tools {
		fmt.Fprintf(&list, "- `%s`: %s\n", t.Usage, t.Does)
	}
	return strings.Replace(grammarText, "TOOLS\n", list.String(), 1)
})

// Example is the whole plan that Grammar shows. It is for the task D-1.
var Example = sync.OnceValue(func() string {
	_, rest, _ := strings.Cut(grammarText, "```plan\n")
	text, _, _ := strings.Cut(rest, "```\n")
	return text
})
