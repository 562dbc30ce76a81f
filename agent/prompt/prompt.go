// Package prompt makes workers' prompts, for models, programs and Scouts.
package prompt

import (
	"strings"

	"git-ward/protocols/comms"
)

// Kind is the kind of worker that a prompt is for.
type Kind string

// The kinds. A model takes turns with tools, and its plan is executed by a program
// (PLAN-9); a Program is any command that works by itself (WORK-1); a Scout looks around
// before the work and changes nothing (LOOP-8).
const (
	Model   Kind = "model"
	Program Kind = "program"
	Scout   Kind = "scout"
)

// Kinds lists all of them.
func Kinds() []Kind { return []Kind{Model, Program, Scout} }

// Prompt has the content of one worker's prompt. Empty fields are left out.
type Prompt struct {
	Kind      Kind
	System    string // SYSTEM.md and the directive's part of COMMS.md (AGT-2); only for a program
	Directive comms.Directive
	Branch    string // that is checked out, such as "agent/D-1"
	Kept      bool   // the tree has the last worker's uncommitted changes
	Judged    bool   // the host runs the criteria's commands: the bounded loop is on

	Clarifications []string // the PM's messages on the unit, oldest first (uow.Words)
	Orientation    string   // levels 1 to 3, and the repository's knowledge of the directive
	Guidance       string   // from an adopted project's own documents, Markdown with a heading
	Lessons        string   // from earlier directives, likewise

	Capsule     string // the iteration's capsule, canonical JSON; a model gets it as a tool result (LOOP-3)
	CapsulePath string // in the working tree
	Learnings   string // the unit's policy, if no capsule has it
	Skills      []Skill
	Scouted     string // a Scout's final text

	MaxCalls int // tool calls and plan steps that the iteration may use; 0: unlimited

	PlanPath     string // the plan's path in the working tree
	ResearchPath string
	Grammar      string // the plan language, with an example
	AskPath      string // the file that takes a question to the PM, "" for none
	Refusal      string // why the push of the work was refused
}

// System is what the worker of a directive is told first (AGT-2): SYSTEM.md, and of COMMS.md
// what concerns the directive; the ref of the worker's clone has the rest. It puts a line end
// between them where SYSTEM.md lacks its last one, or COMMS.md would lose its heading.
func System(system, document []byte, directive, ref string) string {
	s := string(system)
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return s + comms.Excerpt(document, directive, ref)
}

// Criteria are the commands that decide, in the directive's order.
func (p *Prompt) Criteria() (list []string) {
	for _, c := range p.Directive.Criteria {
		if c.Command != "" {
			list = append(list, c.Command)
		}
	}
	return list
}

// Uncommitted is what a worker is told, and the journal says, of what was taken up.
const Uncommitted = "Changes of the last worker that were not committed are in the tree."

// Uncommitted is that sentence, "" where nothing was taken up.
func (p *Prompt) Uncommitted() string {
	if p.Kept {
		return Uncommitted
	}
	return ""
}
