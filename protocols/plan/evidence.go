package plan

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/fsm"
	"git-ward/protocols/record"
)

// changes remembers the first step that changes a file which was there before the plan.
func (t *tracker) changes(s *Step, path string, kind Kind) {
	if kind != File || t.changed != nil {
		return
	}
	switch s.Tool {
	case OverwriteFile, ReplaceDiff, DeleteFile, RenameFile:
		t.changed, t.of = s, path
	}
}

// evidence reports a plan that changes existing files and cites nothing for it: it could have
// cited at least the file, its symbols or its history (002, PLAN-9). Callees, research and
// plans that only make new files are exempt.
func (t *tracker) evidence() {
	if t.changed == nil || t.node.plan.Machine() == fsm.Sub || t.node.plan.Machine() == fsm.Research {
		return
	}
	cited := false
	eachStep(t.node.plan.Steps, func(s *Step) { cited = cited || len(s.Evidence()) > 0 })
	if !cited {
		t.report(t.changed, RuleEvidence, fmt.Sprintf("no step cites what it rests on, though %s is there to be cited, which this step changes", t.of),
			fmt.Sprintf("write above the step `# Evidence: %s`, with the line, or a symbol, a commit, a lesson (git ward orient --search WORDS)", quoted(t.of)))
	}
}

// research reports research that gathers nothing before its report (PLAN-9), and a report in
// another place than a report's: research changes nothing else (002, l4-deep-research-cycle).
func research(p *Plan, out *findings) {
	if p.Machine() != fsm.Research || len(p.Steps) == 0 {
		return
	}
	gathers := false
	eachStep(p.Steps, func(s *Step) {
		gathers = gathers || s.Action() == ReadOp || s.Tool == CallPlan || s.Tool == Bash && s.Closes() == ""
		name := strings.TrimPrefix(s.Args, record.Dir+"/")
		if s.Action() == WriteOp && !strings.HasPrefix(name, record.Research+"/") {
			out.at(s, RuleReport, "research writes its report and changes nothing else, and this step writes outside of "+record.Research+"/",
				"write the report to "+record.Research+"/NAME.md; what it leads to is the work of the plan that calls it")
		}
	})
	if !gathers {
		out.at(&p.Steps[0], RuleGathering, "the research gathers nothing: no step reads, searches or runs anything",
			"put steps such as grep WORDS, read_file PATH or google_search WORDS between set_plan and plan_step_complete (git ward research plan TOPIC writes such a plan)")
	}
}

// Relaxed makes missing and unknown citations warnings, for a plan that has already arrived,
// or is about to run. For its author, who can still add them, they are errors.
func Relaxed(found []diag.Diagnostic) []diag.Diagnostic {
	relaxed := slices.Clone(found)
	for i := range relaxed {
		if relaxed[i].Rule == RuleEvidence || relaxed[i].Rule == RuleCitation {
			relaxed[i].Severity = diag.Warning
		}
	}
	return relaxed
}
