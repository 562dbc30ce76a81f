package draft

import (
	"strings"

	"git-ward/internal/pattern"
	"git-ward/protocols/plan"
)

// item is a line that may be a step: a list item or a heading, without the decoration around
// code.
var item = pattern.New(`^(\s*)(?:[-*+]|[0-9]+[.)]|#{1,6}(?: *[0-9]+[.)])?|(?:\*\*)?Step [0-9]+[:.)]?(?:\*\*)?:?)\s+(?:\[[ xX]\]\s+)?(.*)$`)

// fromList is the text of a plan given as list items; a fenced or indented block below an item
// is its block. Other lines are prose. It is nil if the list has no step, or does not begin
// like a plan.
func fromList(text string) []byte {
	p := &plan.Plan{Form: plan.BlockForm}
	blocks := map[int]fence{}
	for _, f := range fences(text) {
		blocks[f.first] = f
	}
	lines := strings.Split(text, "\n")
	indent := -1 // the item whose block may follow; -1: none
	for i := 0; i < len(lines); i++ {
		if f, ok := blocks[i]; ok {
			if last := len(p.Steps) - 1; last >= 0 {
				p.Steps[last].Block += f.text
			}
			i, indent = f.last, -1
			continue
		}
		if step, at, ok := stepOf(lines[i]); ok {
			p.Steps, indent = append(p.Steps, step), at
			continue
		}
		switch deeper := len(lines[i]) - len(strings.TrimLeft(lines[i], " \t")); {
		case strings.TrimSpace(lines[i]) == "":
		case indent >= 0 && deeper >= indent+2:
			p.Steps[len(p.Steps)-1].Block += unindent(lines[i], indent+4) + "\n"
		default:
			indent = -1
		}
	}
	if len(p.Steps) < 2 || p.Steps[0].Tool != plan.SetPlan {
		return nil
	}
	return []byte(p.String())
}

// stepOf is an item's step and its indentation.
func stepOf(line string) (s plan.Step, indent int, ok bool) {
	m := item.FindStringSubmatch(strings.TrimRight(line, "\r"))
	if m == nil {
		return s, 0, false
	}
	words := strings.TrimSpace(m[2])
	if strings.HasPrefix(words, "`") && strings.Count(words, "`") == 2 && strings.HasSuffix(words, "`") {
		words = strings.Trim(words, "`") // the whole step is code
	}
	tool, args, _ := strings.Cut(words, " ")
	tool = strings.Trim(tool, "`*:_")
	args = strings.TrimLeft(strings.TrimSpace(args), ":-– ")
	if bare, found := strings.CutSuffix(args, ":"); found && (strings.HasSuffix(bare, "`") || !strings.Contains(bare, " ")) {
		args = bare // it introduces the block
	}
	if strings.HasPrefix(args, "`") && strings.Count(args, "`") == 2 && strings.HasSuffix(args, "`") {
		args = strings.Trim(args, "`")
	}
	return plan.Step{Tool: tool, Args: args}, len(m[1]), plan.IsTool(tool)
}
