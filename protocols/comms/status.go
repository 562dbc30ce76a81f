package comms

import "slices"

// Status is the last word of a report's heading (COMMS-1).
type Status string

// The statuses. EXIT_* are the exits of the bounded loop (LOOP-1) and its end by the PM; DONE ends work
// that needed no loop.
const (
	ExitConverged      Status = "EXIT_CONVERGED"
	ExitDiverged       Status = "EXIT_DIVERGED"
	ExitBudgetExceeded Status = "EXIT_BUDGET_EXCEEDED"
	ExitBlocked        Status = "EXIT_BLOCKED"
	ExitNeedInfo       Status = "EXIT_NEED_INFO"
	ExitCancelled      Status = "EXIT_CANCELLED"
	Done               Status = "DONE"
	Info               Status = "INFO"
	Fallback           Status = "FALLBACK"
	Rollback           Status = "ROLLBACK"
	Guard              Status = "GUARD"
)

var statuses = []Status{
	ExitConverged, ExitDiverged, ExitBudgetExceeded, ExitBlocked, ExitNeedInfo, ExitCancelled,
	Done, Info, Fallback, Rollback, Guard,
}

// Statuses lists every status, in the order of COMMS-1.
func Statuses() []Status { return slices.Clone(statuses) }

// Valid reports whether s is one of Statuses.
func (s Status) Valid() bool { return slices.Contains(statuses, s) }

// Closes reports whether a report with this status and the directive's present
// hash ends the directive until it is edited (COMMS-3).
func (s Status) Closes() bool {
	return s == ExitConverged || s == ExitDiverged || s == ExitBudgetExceeded || s == Done
}

// Suspends reports whether such a report puts the directive aside until the PM
// answers (COMMS-3).
func (s Status) Suspends() bool {
	return s == ExitBlocked || s == ExitNeedInfo || s == ExitCancelled
}

// final reports whether COMMS-4 counts s among "EXIT or DONE".
func (s Status) final() bool { return s.Closes() || s.Suspends() }

// watchers reports whether only the watcher may use the status: it concerns the agent's program.
func (s Status) watchers() bool { return s == Fallback || s == Rollback || s == Guard }

// Words is a status in words for people. COMMS.md has the form for programs.
func (s Status) Words() string {
	if words := statusWords[s]; words != "" {
		return words
	}
	return string(s)
}

var statusWords = map[Status]string{
	ExitConverged:      "done, and proved",
	ExitDiverged:       "stopped: it got worse and worse",
	ExitBudgetExceeded: "stopped: the budget is spent",
	ExitBlocked:        "blocked",
	ExitNeedInfo:       "needs an answer",
	ExitCancelled:      "cancelled",
	Done:               "done",
	Info:               "a word",
	Fallback:           "the program before is used again",
	Rollback:           "a change was taken back",
	Guard:              "a guard spoke",
}
