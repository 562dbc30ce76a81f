package orchestrator

import (
	"fmt"
	"strings"

	"git-ward/internal/diag"
)

// This file is all that the model is told, beside SYSTEM.md and COMMS.md.

// PlanPath is where the plan of a directive is, on the record.
func PlanPath(directive string) string { return "plans/" + directive + ".plan.txt" }

// IterationPlanPath is where the plan of one iteration is.
func IterationPlanPath(directive string, iteration int) string {
	return fmt.Sprintf("plans/%s.iter_%d.plan.txt", directive, iteration)
}

// researchPath is where its research plan is, when it has one.
func researchPath(directive string) string { return "plans/" + directive + ".research.plan.txt" }

// askForPlan says what a plan is for, and where it goes, or its research.
func askForPlan(directive, path, research string) string {
	return fmt.Sprintf("# Your plan\n\nLook around with the tools, then write your plan to %s and end your turn. It is linted (`git ward plan lint`), and then executed step by step: "+
		"only the plan counts, whatever else you change now is thrown away. It ends with `run_in_bash_session git ward task close --task-id %s`, and submit.\n"+
		"Run the commands of the directive's criteria before that, as they are written there, each in a step of its own: they are the tests.\n"+
		"For what nobody here knows, write a research plan (# FSM: research) to %s instead: it is executed, and you are asked again.\n",
		path, directive, research)
}

func tellPushRefused(branch, findings, path string) string {
	return fmt.Sprintf("The push of %s was refused:\n\n%s\nWhat the server does not have is undone. Plan all of it anew in %s, without what was refused.",
		branch, findings, path)
}

func tellFindings(findings, path string) string {
	return "The plan is not executed:\n\n" + findings + "\nMend " + path + " and end your turn."
}

func tellStepFailed(failed error, path string) string {
	return fmt.Sprintf("%v\n\nThe steps before it are done and stay; what it did itself is undone. Plan what is left to do, in %s.", failed, path)
}

func tellResearch(outputs, ask string) string {
	return "The research is done. What its steps gave:\n\n" + outputs + "\n" + ask
}

// askForWords asks for the last words, with what the last steps gave. The post-mortem is
// in a directory of the working tree.
func askForWords(results, postMortems string) string {
	text := "All steps of the plan are done. Complete the post-mortem in " + postMortems + "/ if there is something to be learnt, and end with your last words, which become the report."
	if results != "" {
		text += "\n\nWhat the last steps gave:\n\n" + results
	}
	return text
}

// stepOutput shows what a step gave, of a bounded size.
func stepOutput(step, text string) string {
	const size = 16 << 10 // bytes
	if len(text) > size {
		text = strings.ToValidUTF8(text[:size], "") + "\n[cut]"
	}
	return step + ":\n" + diag.Indent(text)
}
