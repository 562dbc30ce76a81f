package orchestrator

import (
	"fmt"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/comms"
	"git-ward/protocols/plan"
)

// maxNamed bounds the changes that a retrospective plan names one by one.
const maxNamed = 200

// afterwards is the plan of work that was done without one (PLAN-9): it says what was changed,
// in the model's words and by name, and runs the criteria's commands. The changes are in the
// tree that it runs on.
func afterwards(d comms.Directive, said string, changes []string) *plan.Plan {
	p := &plan.Plan{Form: plan.BlockForm}
	add := func(s plan.Step) { p.Steps = append(p.Steps, s) }
	if said = strings.TrimSpace(diag.CleanLines(diag.Cut(said, 4<<10))); said == "" {
		said = d.Name() + ": " + d.Title.String()
	}
	add(plan.Step{Comments: []string{"# FSM: fdc", "# Written by Ward from the changes: they were made before there was a plan."}, Tool: plan.SetPlan, Block: said + "\n"})
	known := plan.Step{Tool: plan.StepComplete, Block: "These files were changed before there was a plan:\n"}
	for i, change := range changes {
		if i == maxNamed {
			known.Block += fmt.Sprintf("and %d more\n", len(changes)-i)
			break
		}
		known.Block += diag.Clean(change) + "\n"
		if status, path, _ := strings.Cut(change, " "); status != "D" {
			known.Comments = append(known.Comments, "# Evidence: "+diag.Clean(path))
		}
	}
	add(known)
	for _, c := range d.Criteria {
		if c.Command != "" {
			add(plan.Step{Tool: plan.Bash, Args: c.Command})
		}
	}
	add(plan.Step{Tool: plan.Bash, Args: "git ward task close --task-id " + d.Name()})
	add(plan.Step{Tool: plan.Submit})
	return p
}
