package model

import (
	"encoding/json"
	"fmt"
	"strings"

	"git-ward/protocols/plan"
)

// split separates the lines that become steps of a plan from the rest.
func split(lines []scriptLine) (steps, rest []scriptLine) {
	for i, line := range lines {
		if len(line.Calls) == 0 {
			return lines[:i], lines[i:]
		}
		for _, call := range line.Calls {
			if _, ok := stepOf(call.Name, nil); !ok {
				return lines[:i], lines[i:]
			}
		}
	}
	return lines, nil
}

// compile makes the turn in which a script writes its plan: one step for each text and call in
// its lines, and a plan's usual end.
func compile(lines []scriptLine, c *Conversation) (Reply, error) {
	p := &plan.Plan{Form: plan.BlockForm}
	add := func(tool, args, block string) {
		p.Steps = append(p.Steps, plan.Step{Tool: tool, Args: args, Block: block})
	}
	add(plan.SetPlan, fmt.Sprintf("%s: what the script says, step by step", c.Directive), "")
	p.Steps[0].Comments = []string{"# Made by the script model of its lines."}
	add(plan.StepComplete, "the script is read", "")
	p.Steps[1].Comments = []string{"# Evidence: COMMS.md"}
	for _, line := range lines {
		r, err := line.reply(c)
		if err != nil {
			return Reply{}, err
		}
		if r.Text != "" {
			add(plan.StepComplete, "", ended(r.Text))
		}
		for _, call := range r.Calls {
			step, _ := stepOf(call.Name, call.Args)
			p.Steps = append(p.Steps, step)
		}
	}
	add(plan.Bash, "git ward task close --task-id "+c.Directive, "")
	add(plan.Submit, "", "")
	args, err := json.Marshal(map[string]string{"path": c.Plan, "content": p.String()})
	return Reply{Calls: []Call{{ID: fmt.Sprintf("call-%d-plan", c.Turns()+1), Name: "write_file", Args: args}}}, err
}

// stepOf is the step equivalent to a tool call; ok is false for a tool that plans do not have.
func stepOf(name string, raw json.RawMessage) (s plan.Step, ok bool) {
	var args struct{ Path, Content, Command string }
	json.Unmarshal(raw, &args) // malformed arguments are empty, and the lint reports that
	switch name {
	case "write_file":
		return plan.Step{Tool: plan.OverwriteFile, Args: args.Path, Block: ended(args.Content)}, true
	case "read_file":
		return plan.Step{Tool: plan.ReadFile, Args: args.Path}, true
	case "bash":
		return plan.Step{Tool: plan.Bash, Block: ended(args.Command)}, true
	}
	return plan.Step{}, false
}

// ended is a text that ends in a newline.
func ended(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}
