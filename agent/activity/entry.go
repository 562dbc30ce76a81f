package activity

import "time"

// Type is the kind of action that a line records.
type Type string

// The types of LOG-1.
const (
	TaskStart        Type = "TASK_START"
	FileRead         Type = "FILE_READ"
	FileWrite        Type = "FILE_WRITE"
	ToolExec         Type = "TOOL_EXEC"
	ExternalRAGQuery Type = "EXTERNAL_RAG_QUERY"
	PlanUpdate       Type = "PLAN_UPDATE"
	CriticFeedback   Type = "CRITIC_FEEDBACK"
	PostMortem       Type = "POST_MORTEM"
	TaskEnd          Type = "TASK_END"
	Info             Type = "INFO"
	SystemFailure    Type = "SYSTEM_FAILURE"
	ResearchReport   Type = "RESEARCH_REPORT"
)

// Status is how an action ended.
type Status string

// The two ends.
const (
	Success Status = "SUCCESS"
	Failure Status = "FAILURE"
)

// Entry is a line. Append fills in id, session and time where they are empty.
type Entry struct {
	ID        string    `json:"log_id"`     // a UUID
	Session   string    `json:"session_id"` // id of one run of a program
	Time      time.Time `json:"timestamp"`
	Phase     string    `json:"phase"` // a machine's state, such as EXECUTING
	Task      Task      `json:"task"`
	Action    Action    `json:"action"`
	Outcome   Outcome   `json:"outcome"`
	Evidence  []string  `json:"evidence_citation"`
	Execution Execution `json:"context"`
}

// Task says what the action is for: a directive, and the step of its plan.
type Task struct {
	ID   string `json:"id"`        // "D-1", or "-" for none
	Step string `json:"plan_step"` // "plans/D-1.plan.txt#3", or ""
}

// Action is what was done.
type Action struct {
	Type    Type           `json:"type"`
	Details map[string]any `json:"details"`
}

// Outcome is how it ended.
type Outcome struct {
	Status  Status `json:"status"`
	Message string `json:"message"`
	Error   string `json:"error"` // "" on success
}

// Execution has the positions of the running plans, the outermost first, each as "path#step".
type Execution struct {
	Stack []string `json:"plan_execution_stack"`
}

// Transition makes the line for a state change of a directive ("D-1").
func Transition(directive, machine, from, on, to string) Entry {
	return Entry{Phase: to, Task: Task{ID: directive},
		Action:  Action{Type: Info, Details: map[string]any{"machine": machine, "from": from, "on": on, "to": to}},
		Outcome: Outcome{Status: Success, Message: from + " -" + on + "-> " + to}}
}
