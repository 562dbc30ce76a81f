package push

import (
	"strings"

	"git-ward/internal/config"
	"git-ward/protocols/record"
)

// History is which of a repository's histories a ref belongs to. It decides what is
// judged there, and whose judgement counts: what is known from one of them is new to
// the others (GATE-2).
type History int

// The histories. Where one branch is both the project's and control (config.Control),
// all branches are Undivided, and Ward's documents lie beside the code; else those of
// the project are apart from the control branch and what is to enter it (CTRL-1).
const (
	Undivided History = iota
	Project
	Control
	Records  // refs/ward/record: what units leave beside the work
	Journals // refs/ward/uow
)

// Documents reports whether a history has Ward's documents. Elsewhere, files of the same names
// are the project's own.
func (h History) Documents() bool { return h == Undivided || h == Control || h == Records }

// lessonsSuffix ends the name of a branch of the agent's that changes control's
// documents by lessons (HOOK-4): agent/D-1-lessons.
const lessonsSuffix = "-lessons"

// LessonsGlob is IsLessons as git's patterns have it, where * matches a slash, too.
const LessonsGlob = "agent/D-*" + lessonsSuffix

// IsLessons reports whether a ref is such a branch.
func IsLessons(ref string) bool {
	name, ok := strings.CutPrefix(ref, "refs/heads/agent/D-")
	return ok && strings.HasSuffix(name, lessonsSuffix)
}

// IsRecord reports whether a ref is below refs/ward/record/.
func IsRecord(ref string) bool { return strings.HasPrefix(ref, record.Prefix) }

// HistoryOf is the history of a full ref name. Tags and notes count as the project's.
func HistoryOf(names config.Control, ref string) History {
	switch {
	case IsJournal(ref):
		return Journals
	case IsRecord(ref):
		return Records
	case !names.Split():
		return Undivided
	case ref == names.Ref() || IsLessons(ref):
		return Control
	}
	return Project
}
