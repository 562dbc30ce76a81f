package prompt

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/diag"
)

// Text is all that a worker is told: a program's stdin, and the message that a model or Scout gets
// behind "Continue.". These two have SYSTEM.md, COMMS.md and the capsule as messages of their own
// (AGT-2, LOOP-3). testdata has one of each kind, whole. No text/template: it looks methods up by
// name, so that the linker keeps every method of both models' libraries, a fifth of ward-agent.
func (p *Prompt) Text() string {
	var t text
	if p.Kind == Program {
		t.add(p.System)
	}
	t.add("# Your directive: "+p.Directive.Name(), p.Directive.Raw)
	t.add("## What decides", items("- `%s`", p.Criteria()), p.decides())
	t.add("# What the PM says", "The newest last. Where it is more than the directive says, it counts like the directive.", items("- %s", p.Clarifications))
	t.add("# Orientation", p.Orientation)
	t.add(p.Guidance)
	t.add(p.Lessons)
	if p.Kind == Program {
		t.add("# The iteration's capsule",
			"This is all that is known of the iterations before, with what they learnt. It lies at "+p.CapsulePath+".",
			diag.Indent(p.Capsule))
	}
	t.add("# What the working tree holds", p.Uncommitted())
	t.add("# What earlier iterations learnt", p.Learnings)
	for i, s := range p.Skills {
		if i == 0 {
			t.add("# Skills")
		}
		t.add("## "+s.Name, s.Text)
	}
	t.add("# What the Scout found",
		"Somebody with fresh eyes looked around before you and changed nothing. Believe it where you can check it.",
		p.Scouted)
	if p.Refusal != "" {
		t.add("# Your work was refused", "The push of "+p.Branch+" was refused:",
			p.Refusal+"\nWhat the server does not have is in the working tree, uncommitted. Mend it there and end: it is then committed and pushed again.")
	}
	switch p.Kind {
	case Model:
		t.add("# Your plan", p.plans())
		t.add(p.Grammar)
		t.add(p.asks())
	case Program:
		p.works(&t)
		t.add(p.asks())
	case Scout:
		t.add("# Your task: look, and change nothing",
			"You are the Scout. Somebody else does the work, and knows only what you write now. Find out what matters for it, by reading and by commands that change nothing; anything that you change is thrown away. Then end your turn with at most 60 lines: the files and functions that matter (path:line), how the project is built and tested here, what the commands that decide give today, what stands in the way, and the next smallest piece of work.")
	}
	return strings.Join(t, "\n\n") + "\n"
}

// text is a prompt's paragraphs.
type text []string

// add adds a section, unless one of its paragraphs is empty: its heading goes with it.
func (t *text) add(section ...string) {
	for i, paragraph := range section {
		section[i] = strings.TrimRight(strings.TrimLeft(paragraph, "\r\n"), " \t\r\n")
	}
	if !slices.Contains(section, "") {
		*t = append(*t, section...)
	}
}

// items is a list, "" for none. An item of several lines stays one.
func items(format string, list []string) string {
	var b strings.Builder
	for _, item := range list {
		fmt.Fprintf(&b, format+"\n", strings.ReplaceAll(strings.TrimSpace(item), "\n", "\n  "))
	}
	return b.String()
}

func (p *Prompt) decides() string {
	judged := ""
	if p.Judged {
		judged = ": the host runs each in a container that begins fresh. That run has the project with your work. Your tests, manifests and documents are left out of it, unless the directive names them as `work`. Then everything runs once more on your whole commit"
	}
	return "These commands decide, and nobody's word" + judged + ". Exit 0 means that it is met. Run them yourself before you say so."
}

func (p *Prompt) plans() string {
	lines := []string{"Look around with the tools. Then say what is to be done as a plan: call the tool `plan`, which answers at once with what is wrong with it, or write it to " + p.PlanPath + ". Then end your turn. A program executes the plan step by step, and you are told what it gave."}
	if len(p.Criteria()) > 0 {
		lines = append(lines, "Run the commands that decide in the plan, as they are written, each in a step of its own.")
	}
	lines = append(lines, "What you change before the plan stays as it is, and counts as work: the plan goes on from there. Take away what does not belong to it. For a change that is made already a plan is enough that says so, runs the commands, and ends.")
	if p.MaxCalls > 0 {
		lines = append(lines, fmt.Sprintf("This iteration may use tools %d times. Each of your calls counts, and each step of the plan as it is executed: a plan of more steps than are left is refused.", p.MaxCalls))
	}
	if p.ResearchPath != "" {
		lines = append(lines, "For what nobody here knows, write a research plan (# FSM: research) to "+p.ResearchPath+" instead: it is executed, and you are asked again.")
	}
	return strings.Join(lines, "\n")
}

// works tells a program how to work, and how to end.
func (p *Prompt) works(t *text) {
	t.add("# How to work, and how to end",
		"You are in a git working tree, on the branch "+p.Branch+". Work there, and make the changes yourself. Ward has planned around you: the orientation above is done, the log is kept from what you print, and the post-mortem is made from your last words. What SYSTEM.md says of plan files and of the tools read_file, write_file, bootstrap and rollback is for models that Ward leads step by step; a plan of your own is welcome, and needed for nothing.",
		"Commit, or leave changes in the working tree: both are pushed when you end, and what you leave running is ended. Exit 0 when the work is done, and with another code when it cannot be done. The last lines you print become the report: what you did, what you checked, and what falls short.")
	if p.MaxCalls > 0 {
		t.add(fmt.Sprintf("You may use tools %d times in this iteration, and each step of a plan that you run counts as one. The work ends where you use more.", p.MaxCalls))
	}
}

func (p *Prompt) asks() string {
	how := ""
	if p.AskPath != "" {
		how = ", or by writing the question to the file " + p.AskPath
	}
	return "If the directive can be read in two ways and it matters which, or only the PM can know something, ask: by the tool `ask`" + how + ". Then end your turn. The answer comes with the next run; until then the work waits, so do not ask what the repository can tell."
}
