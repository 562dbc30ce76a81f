// Package draft finds the plan in what a model wrote: as it is, in a fence of Markdown, as
// JSON, or as a list with prose around it (PLAN-9). It decides nothing about the plan: what
// it finds is linted like any other.
package draft

import (
	"strings"

	"git-ward/protocols/plan"
)

// Find returns the text of the one plan that a text holds; ok is false where it holds none,
// or more than one.
func Find(text string) (data []byte, ok bool) {
	if len(text) > plan.MaxBytes {
		return nil, false
	}
	if isPlan(text) {
		return []byte(text), true
	}
	if data := fromJSON(text); data != nil {
		return data, true
	}
	var found [][]byte
	for _, block := range fences(text) {
		if data := fromJSON(block.text); data != nil {
			found = append(found, data)
		} else if isPlan(block.text) {
			found = append(found, []byte(block.text))
		}
	}
	if len(found) == 0 {
		if data := fromList(text); data != nil {
			found = append(found, data)
		}
	}
	if len(found) != 1 {
		return nil, false
	}
	return found[0], true
}

// isPlan reports whether a text is a plan: it begins with set_plan and has more steps.
func isPlan(text string) bool {
	p, _ := plan.Parse([]byte(text), "plan")
	return p != nil && len(p.Steps) > 1 && p.Steps[0].Tool == plan.SetPlan
}

// fromJSON is the text of a plan given as JSON, nil for other texts.
func fromJSON(text string) []byte {
	trimmed := strings.TrimSpace(text)
	if !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") {
		return nil
	}
	p, err := plan.FromJSON([]byte(trimmed))
	if err != nil {
		return nil
	}
	return []byte(p.String())
}

// fence is a fenced block of Markdown.
type fence struct {
	text        string
	first, last int // its lines, fences included, from 0
}

// fences are a text's outermost fenced blocks.
func fences(text string) (list []fence) {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		mark, indent := opening(lines[i])
		if mark == "" {
			continue
		}
		var b strings.Builder
		end := i + 1
		for ; end < len(lines) && !closes(lines[end], mark); end++ {
			if end < len(lines)-1 || lines[end] != "" { // after the last newline there is no line
				b.WriteString(unindent(lines[end], indent) + "\n")
			}
		}
		list = append(list, fence{text: b.String(), first: i, last: min(end, len(lines)-1)})
		i = end
	}
	return list
}

// opening is the mark that opens a fence, such as "```", and its indentation.
func opening(line string) (mark string, indent int) {
	trimmed := strings.TrimLeft(line, " \t")
	for _, c := range []string{"`", "~"} {
		if n := len(trimmed) - len(strings.TrimLeft(trimmed, c)); n >= 3 && !strings.Contains(trimmed[n:], "`") {
			return strings.Repeat(c, n), len(line) - len(trimmed)
		}
	}
	return "", 0
}

func closes(line, mark string) bool {
	trimmed := strings.TrimSpace(line)
	return len(trimmed) >= len(mark) && strings.Trim(trimmed, mark[:1]) == ""
}

// unindent removes at most n leading blanks of a line.
func unindent(line string, n int) string {
	for ; n > 0 && line != "" && (line[0] == ' ' || line[0] == '\t'); n-- {
		line = line[1:]
	}
	return line
}
