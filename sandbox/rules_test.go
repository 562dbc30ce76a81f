package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/tier"
)

// ruleHoles are attacks on the rules of 002 that hold in part, as a hostile agent with a shell makes
// them in the fence: by plain git and Ward's own tools. Where one is fine, the rule does not hold
// that far, and docs/agent.md says so.
var ruleHoles = []hole{
	{what: "bounded-recursion, in a circle", script: attack("plans/again.txt", fdc("call_plan plans/again.txt")), want: []string{"plan/bounded-recursion: calls in a circle"}},
	{what: "bounded-recursion, past call_plan", script: commits("plans/outer.txt", fdc("run_in_bash_session git ward plan run --task-id D-1 plans/inner.txt")) + commits("plans/inner.txt", fdc("read_file COMMS.md")) +
		"git ward task start --task-id D-1; git ward plan run --task-id D-1 plans/outer.txt", want: []string{"a plan runs here, and its steps run no other one"}},
	{what: "bounded-recursion, the mark removed", script: commits("plans/outer.txt", fdc("run_in_bash_session env -u WARD_PLAN_RUN git ward plan run --task-id D-1 plans/inner.txt")) + commits("plans/inner.txt", fdc("read_file COMMS.md")) +
		"git ward task start --task-id D-1; git ward plan run --task-id D-1 plans/outer.txt", want: []string{"another plan runs in this clone"}},
	{what: "bounded-recursion, in another clone", script: commits("away.sh", "git clone -q . ../other; cd ../other; git switch -qc agent/rules-away; env -u WARD_PLAN_RUN git ward plan run --task-id D-1 plans/inner.txt") + commits("plans/inner.txt", fdc("read_file COMMS.md")) +
		commits("plans/outer.txt", fdc("run_in_bash_session sh away.sh")) + "git ward task start --task-id D-1; git ward plan run --task-id D-1 plans/outer.txt; git -C ../other log --format=%B", want: []string{"Ward-Step: plans/inner.txt#3"}, fine: true},
	{what: "l4-deep-research-cycle, it writes", script: attack("plans/wide.txt", research("read_file COMMS.md", "overwrite_file_with_block VERSION\n9.0.0")), want: []string{"plan/report: research writes its report and changes nothing else"}},
	{what: "phase2-planning, without a plan", script: attack("work/x.md", "x"), fine: true},
	{what: "phase2-planning, a plan of no form", script: attack("plans/x.txt", "creat_file x\n"), want: []string{"plan/unknown-tool"}},
	{what: "phase3-execution, a log of its own", script: attack("logs/activity.log.jsonl", `{"x": 1}`), want: []string{"runtime/logs: logs/ is never committed"}},
	{what: "phase4-post-mortem, nothing closes", script: attack("plans/x.txt", strings.Replace(fdc("read_file COMMS.md"), "session git ward task", "session echo git ward task", 1)), want: []string{"plan/closure-mandate"}},
	{what: "phase4-post-mortem, closed unplanned", script: commits("work/x.md", "x") + "git ward task start --task-id D-1; git ward task close --task-id D-1; git add .; git commit -qm x; git push origin HEAD:agent/rules-closed",
		want: []string{"postmortem/empty"}, fine: true},
	{what: "fdc-toolchain-mandate, for another task", script: attack("plans/D-1.plan.txt", strings.Replace(fdc("read_file COMMS.md"), "--task-id D-1", "--task-id D-9", 1)), fine: true},
	{what: "structured-lessons, of no form", script: attack("knowledge_core/lessons.jsonl", `{"x": 1}`), want: []string{"lessons/schema"}},
	{what: "structured-lessons, extracted by nobody", script: attack("postmortems/x.md", "# Post-mortem of D-1\n\n**Task ID:** D-1\n**Date:** 2026-11-21\n\n## Corrective Actions & Lessons Learned\n\n1. **Lesson:** One.\n   **Action:** be careful"), fine: true},
	{what: "automated-orchestration, a rule by hand", script: commits("x", "x") + "sed -i '0,/\"description\": \"/s//&Not so: /' protocols/04-*.json; git ward protocol compile; git add .; git commit -qm 'by hand' -m 'Ward-Lesson: L-000000000000'; git push origin HEAD:agent/rules-hand",
		want: []string{"lesson/replay"}},
	{what: "structured-research-phases, none", script: attack("plans/short.txt", research("read_file COMMS.md")), fine: true},
	{what: "structured-research-phases, no source", script: attack("plans/none.txt", research()), want: []string{"plan/gathering: the research gathers nothing"}},
	{what: "specialized-fsm, one of its own", script: commits("tooling/own.json", `{"name": "own", "start": "A", "accept": ["A"], "transitions": [{"from": "A", "on": "write_op", "to": "A"}]}`) +
		attack("plans/own.txt", "# FSM: tooling/own.json\ncreate_file_with_block a.md\n"), want: []string{"is no machine of a plan, and main has no such file"}},
}

// commits writes and commits a file in a new clone, or in the one that is there.
func commits(path, text string) string {
	return "if [ -z \"$in\" ]; then set -e; cd $(mktemp -d); git clone -q file:///mnt/remote w; cd w; git switch -qc agent/rules-$$; in=1; fi; mkdir -p " + filepath.Dir(path) + "; cat >" + path + " <<'END'\n" + text + "\nEND\n" +
		"git add -f .; git commit -qm work\n"
}

// attack pushes it.
func attack(path, text string) string {
	return commits(path, text) + "git push origin HEAD:agent/rules-$(git rev-parse --short HEAD)"
}

// fdc and research are plans with these steps.
func fdc(steps ...string) string {
	return "# FSM: fdc\nset_plan\nIt.\n---\nplan_step_complete none\n---\n" + strings.Join(steps, "\n---\n") + "\n---\nrun_in_bash_session git ward task close --task-id D-1\n---\nsubmit"
}

func research(steps ...string) string {
	return "# FSM: research\nset_plan\nIt.\n---\n" + strings.Join(append(steps, "plan_step_complete gathered", "create_file_with_block research/it.md\n{findings}"), "\n---\n") + "\n---\nrun_in_bash_session git ward task close --task-id D-1"
}

// TestRulesUnderAttack tries the rules from inside a fenced container, and wants each to hold, or
// not to hold, as docs/agent.md says.
func TestRulesUnderAttack(t *testing.T) {
	tier.Full(t, "it launches a container")
	m := newMachine(t)
	comms, err := os.ReadFile(filepath.Join(m.Work, "COMMS.md"))
	if err != nil {
		t.Fatal(err)
	}
	m.Write("COMMS.md", strings.Replace(string(comms), "## Directives\n", "## Directives\n\n### D-1: x\n\nWork.\n\n- [ ] x (`test -e x`)\n", 1))
	m.Git("commit", "--quiet", "--all", "--message", "D-1")
	m.Git("push", "--quiet", "origin", "main")
	tryHoles(t, m.probe(t), ruleHoles)
	document, err := os.ReadFile("../docs/agent.md")
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	for _, h := range ruleHoles {
		rule, _, _ := strings.Cut(h.what, ",")
		if tried[rule] = true; !strings.Contains(string(document), "\n| "+rule+" | ") {
			t.Errorf("docs/agent.md does not have the rule %s", rule)
		}
	}
	_, gaps, _ := strings.Cut(string(document), "| rule | what does not hold | test |\n| --- | --- | --- |\n")
	gaps, _, _ = strings.Cut(gaps, "\n\n")
	for line := range strings.Lines(gaps) {
		if rule := strings.Fields(line)[1]; !tried[rule] {
			t.Errorf("nothing tries %s in the fence", rule)
		}
	}
	m.Fsck()
}
