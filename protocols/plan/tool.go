package plan

import "strings"

// Action is the type of a step: its symbol for the plan's machine (PLAN-2).
type Action string

// The types. loopOp and callOp are no symbols: they stand for their body's or
// callee's word.
const (
	PlanOp   Action = "plan_op"
	StepOp   Action = "step_op"
	SubmitOp Action = "submit_op"
	WriteOp  Action = "write_op"
	ReadOp   Action = "read_op"
	DeleteOp Action = "delete_op"
	MoveOp   Action = "move_op"
	ToolExec Action = "tool_exec"
	CloseOp  Action = "close_op"

	loopOp Action = "loop"
	callOp Action = "call"
)

// The tools of a plan.
const (
	SetPlan         = "set_plan"
	StepComplete    = "plan_step_complete"
	MessageUser     = "message_user"
	DefineNames     = "define_set_of_names"
	DefineDiagonal  = "define_diagonalization_function"
	Submit          = "submit"
	CreateFile      = "create_file_with_block"
	OverwriteFile   = "overwrite_file_with_block"
	ReplaceDiff     = "replace_with_git_merge_diff"
	ReadFile        = "read_file"
	ListFiles       = "list_files"
	Grep            = "grep"
	GoogleSearch    = "google_search"
	ViewTextWebsite = "view_text_website"
	DeleteFile      = "delete_file"
	RenameFile      = "rename_file"
	Bash            = "run_in_bash_session"
	CallPlan        = "call_plan"
	ForEachFile     = "for_each_file"
)

// argument is what a tool's arguments have to be.
type argument string

const (
	anyText  argument = "text"    // free, or none
	message  argument = "message" // text, as arguments or as the block, not both
	onePath  argument = "path"
	aFolder  argument = "folder" // a path, or none for the top
	twoPaths argument = "paths"
	aPattern argument = "pattern" // PATTERN, or PATTERN -- PATH
	aWord    argument = "word"    // something
	aGlob    argument = "glob"
	aCallee  argument = "callee"
)

// Tool is a line of the table of tools.
type Tool struct {
	Name   string
	Action Action
	Usage  string // its arguments, for hints
	Does   string // for who writes plans

	args     argument
	block    bool // whether a block may follow
	required bool // whether it must
}

var tools = []Tool{
	{SetPlan, PlanOp, "set_plan [TEXT]", "says what the plan is for, as its block or on its line", anyText, true, false},
	{StepComplete, StepOp, "plan_step_complete [TEXT]", "says what is known or done", anyText, true, false},
	{MessageUser, StepOp, "message_user TEXT", "a report to the PM", message, true, false},
	{DefineNames, StepOp, "define_set_of_names [TEXT]", "names a set (model A)", anyText, true, false},
	{DefineDiagonal, StepOp, "define_diagonalization_function [TEXT]", "names a diagonalization (model B)", anyText, true, false},
	{Submit, SubmitOp, "submit [TEXT]", "hands the work in", anyText, true, false},
	{CreateFile, WriteOp, "create_file_with_block PATH", "makes a new file of its block", onePath, true, false},
	{OverwriteFile, WriteOp, "overwrite_file_with_block PATH", "writes its block to a file, whether there is one or not", onePath, true, false},
	{ReplaceDiff, WriteOp, "replace_with_git_merge_diff PATH", "changes lines of a file", onePath, true, true},
	{ReadFile, ReadOp, "read_file PATH", "shows a file", onePath, false, false},
	{ListFiles, ReadOp, "list_files [FOLDER]", "lists a folder", aFolder, false, false},
	{Grep, ReadOp, "grep PATTERN [-- PATH]", "searches files for a regular expression (RE2)", aPattern, false, false},
	{GoogleSearch, ReadOp, "google_search WORDS", "searches the web, where the host has a search", aWord, false, false},
	{ViewTextWebsite, ReadOp, "view_text_website URL", "reads a page of the web", aWord, false, false},
	{DeleteFile, DeleteOp, "delete_file PATH", "removes a file", onePath, false, false},
	{RenameFile, MoveOp, "rename_file OLD NEW", "moves a file", twoPaths, false, false},
	{Bash, ToolExec, "run_in_bash_session COMMAND", "runs a command, on its line or as its block", message, true, false},
	{CallPlan, callOp, "call_plan NAME", "runs another plan, or a program of the vm", aCallee, false, false},
	{ForEachFile, loopOp, "for_each_file GLOB", "runs its body for each file", aGlob, false, false},
}

var byName = func() map[string]*Tool {
	m := make(map[string]*Tool, len(tools))
	for i := range tools {
		m[tools[i].Name] = &tools[i]
	}
	return m
}()

// IsTool reports whether a word is one of the tools of plans.
func IsTool(word string) bool { return byName[word] != nil }

func toolNames() []string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	return names
}

// Action is the step's symbol; loops and calls of plans have none of their own,
// and it is "" for them.
func (s *Step) Action() Action {
	switch t := byName[s.Tool]; {
	case t == nil || t.Action == loopOp:
		return ""
	case t.Action == callOp:
		if s.CallsProgram() {
			return ToolExec
		}
		return ""
	case s.Tool == Bash && s.Closes() != "":
		return CloseOp
	default:
		return t.Action
	}
}

// CallsProgram reports whether the step calls a .udc by its path. A registered
// name may lead to one, too; that is known from the registry only.
func (s *Step) CallsProgram() bool {
	return s.Tool == CallPlan && strings.HasSuffix(s.Args, ".udc")
}

// Text is what the step says: its arguments, or its block.
func (s *Step) Text() string {
	if s.Args == "" {
		return s.Block
	}
	if s.Block == "" {
		return s.Args
	}
	return s.Args + "\n" + s.Block
}

// Command is the step's shell command, "" for a step of another kind.
func (s *Step) Command() string {
	if s.Tool != Bash || s.Closes() != "" {
		return ""
	}
	return strings.TrimSpace(s.Text())
}

// Closes is the task id when the step runs `git ward task close --task-id ID` and
// nothing else, or the source's `fdc_cli.py close`; "" otherwise. Quotes are a shell's.
func (s *Step) Closes() string {
	if s.Tool != Bash || !strings.Contains(s.Text(), "close") || len(s.Text()) > maxClosing {
		return ""
	}
	return closing(s.Text())
}

// maxClosing is more than any closing command has, in bytes.
const maxClosing = 4 << 10

// Evidence lists what the comments before the step cite.
func (s *Step) Evidence() []string {
	var list []string
	for _, c := range s.Comments {
		if v, ok := header(c, "Evidence"); ok && v != "" {
			list = append(list, v)
		}
	}
	return list
}

// IsName reports whether s is a name of a plan or a task.
func IsName(s string) bool {
	for i, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && (c == '.' || c == '_' || c == '-'):
		default:
			return false
		}
	}
	return s != "" && len(s) <= 128
}
