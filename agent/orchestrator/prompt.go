package orchestrator

import (
	"fmt"
	"strings"

	"git-ward/agent/prompt"
	"git-ward/internal/diag"
	"git-ward/internal/worktree"
	"git-ward/protocols/plan"
)

// This file has the model's later prompts, after the first (agent/prompt).

// PlanPath is where the plan of a directive is, on the record.
func PlanPath(directive string) string { return "plans/" + directive + ".plan.txt" }

// IterationPlanPath is where the plan of one iteration is.
func IterationPlanPath(directive string, iteration int) string {
	return fmt.Sprintf("plans/%s.iter_%d.plan.txt", directive, iteration)
}

// researchPath is where its research plan is, when it has one.
func researchPath(directive string) string { return "plans/" + directive + ".research.plan.txt" }

// Ask completes the prompt of a directive to one that asks for a plan, at a path of the
// working tree. The orientation is what was found before.
func (o *Orchestrator) Ask(orientation, path string) *prompt.Prompt {
	p := o.Prompt
	p.Kind, p.Directive, p.Orientation, p.PlanPath = prompt.Model, o.Directive, orientation, path
	p.ResearchPath = worktree.RecordDir + "/" + researchPath(o.Directive.Name())
	p.Grammar = strings.ReplaceAll(plan.Grammar(), "--task-id D-1\n", "--task-id "+o.Directive.Name()+"\n")
	return &p
}

func tellPushRefused(branch, findings, path string) string {
	return fmt.Sprintf("The push of %s was refused:\n\n%s\nWhat the server does not have is undone. Plan all of it anew, by the tool `plan` or in %s, without what was refused.",
		branch, findings, path)
}

func tellFindings(findings, path string) string {
	return "The plan is not executed:\n\n" + findings + "\nMend it, by the tool `plan` or in " + path + ", and end your turn."
}

func tellStepFailed(failed error, path string) string {
	return fmt.Sprintf("%v\n\nThe steps before it are done and stay; what it did itself is undone. Change what has to be changed, or plan what is left to do, by the tool `plan` or in %s; a plan that is left as it is goes on at the step that failed.", failed, path)
}

func tellResearch(outputs, path string) string {
	return "The research is done. What its steps gave:\n\n" + outputs + "\nNow plan the work, by the tool `plan` or in " + path + "."
}

// askForWords asks for the final text, with the last steps' output. The post-mortem is in a
// directory of the working tree.
func askForWords(results, postMortems string) string {
	text := "All steps of the plan are done. Complete the post-mortem in " + postMortems + "/ if there is something to be learnt, and end with your last words, which become the report."
	if results != "" {
		text += "\n\nWhat the last steps gave:\n\n" + results
	}
	return text
}

// stepOutput is a step's output, bounded.
func stepOutput(step, text string) string {
	const size = 16 << 10 // bytes
	if len(text) > size {
		text = strings.ToValidUTF8(text[:size], "") + "\n[cut]"
	}
	return step + ":\n" + diag.Indent(text)
}
