// Package boot is the protocol between watcher and agent: the lines of logs/bootstrap.log, the
// content of a signal file, and the environment variables that tell an agent what it was
// started from (BOOT-1).
package boot

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode"

	"git-ward/internal/diag"
	"git-ward/internal/pattern"
)

// What the watcher puts into an agent's environment.
const (
	LogVar    = "WARD_BOOT_LOG" // the path of bootstrap.log, to read
	BranchVar = "WARD_BRANCH"   // what it was started from
	CommitVar = "WARD_COMMIT"
	// MainVar is main's commit when the agent was started. It is set only if the program comes
	// from the tree: the program is outdated when main's code moves.
	MainVar = "WARD_MAIN"
	// UntilVar is the end of the launch's time (RFC 3339). The launcher sets it for every
	// process that it starts: from then on no model call is paid for, and [budget] grace later
	// everything is stopped.
	UntilVar = "WARD_UNTIL"
	// LiveVar is set if the agent's output is read for live events (lines of internal/live),
	// which nobody wants in a log.
	LiveVar = "WARD_LIVE"
	// LeaseVar is the directive whose lease the launcher's worker holds (MANY-1): the agent
	// works on that alone, and the launcher delivers its messages to COMMS.md.
	LeaseVar = "WARD_LEASE"
	// StdVar names the directory with the compiled standard library of the container's Go, if
	// there is one: entries of Go's cache, to read.
	StdVar = "WARD_STD"
)

// AskVar is the number of the file descriptor, a stream socket that the process inherits, on
// which the watcher asks whether it is up. The question is one line with a secret word, and
// Answer the answer. A line in bootstrap.log does not count: only an answer shows that the
// started process is alive (BOOT-3).
const AskVar = "WARD_BOOT_FD"

// Answer is the line by which a process says that it is up; question is the word that
// it was asked with.
func Answer(branch, commit, question string) string {
	return fmt.Sprintf("%s %s %s %s\n", Success, branch, commit, question)
}

// Words is the prefix of every line from the watcher to the host.
const Words = "ward-watcher: "

// Booted begins the line on the watcher's standard output that tells the host which
// commit of main has started; the commit's full id follows.
const Booted = Words + "booted "

// Lives is the watcher's sign of life for the host.
const Lives = Words + "lives\n"

// Main stands for the project's branch, which is always started again. Signals, bootstrap.log
// and the state directory use this name, whatever the branch is called ([control] project).
const Main = "main"

// Event is what happened to a start.
type Event string

// The words of bootstrap.log, which the watcher writes; Success after the process's
// Answer.
const (
	Bootstrapping Event = "BOOTSTRAPPING"
	Success       Event = "SUCCESS"
	Failure       Event = "FAILURE"
)

// Unknown stands for a commit that could not be found.
const Unknown = "-"

// MaxLine is the longest line, in bytes; longer ones are not read.
const MaxLine = 1024

// Entry is one line of bootstrap.log.
type Entry struct {
	Time   time.Time // whole seconds, UTC
	Event  Event
	Branch string
	Commit string // 40 hex digits, or Unknown
	Reason string // may be ""
}

// String is the line without its line end: `time event branch commit reason`. Control
// characters are escaped, and a long reason is cut.
func (e Entry) String() string {
	branch := e.Branch
	if CheckName(branch) != "" {
		branch = Unknown
	}
	line := fmt.Sprintf("%s %s %s %s", e.Time.UTC().Format(time.RFC3339), e.Event, branch, e.Commit)
	reason := strings.Join(strings.Fields(diag.Clean(strings.ReplaceAll(e.Reason, "\n", "; "))), " ")
	if room := MaxLine - len(line) - 2; len(reason) > room {
		reason = strings.TrimSpace(strings.ToValidUTF8(reason[:room-3], "")) + "..."
	}
	if reason != "" {
		line += " " + reason
	}
	return line
}

var commitID = pattern.New(`^(?:[0-9a-f]{40}|-)$`)

// Parse reads a line without its end.
func Parse(line string) (Entry, error) {
	var e Entry
	if len(line) > MaxLine {
		return e, fmt.Errorf("a line of %d bytes", len(line))
	}
	fields := strings.SplitN(line, " ", 5)
	if len(fields) < 4 {
		return e, fmt.Errorf("%d words are no entry: time, event, branch, commit, reason", len(fields))
	}
	var err error
	if e.Time, err = time.Parse("2006-01-02T15:04:05Z", fields[0]); err != nil {
		return e, fmt.Errorf("%q is no time in UTC", fields[0])
	}
	e.Event, e.Branch, e.Commit = Event(fields[1]), fields[2], fields[3]
	if len(fields) == 5 {
		e.Reason = fields[4]
	}
	switch {
	case e.Event != Bootstrapping && e.Event != Success && e.Event != Failure:
		return e, fmt.Errorf("%q is no event", fields[1])
	case e.Branch != Unknown && CheckName(e.Branch) != "":
		return e, fmt.Errorf("the branch %q %s", e.Branch, CheckName(e.Branch))
	case !commitID.MatchString(e.Commit):
		return e, fmt.Errorf("%q is no commit", e.Commit)
	case e.String() != line:
		return e, fmt.Errorf("%q is not how an entry is written", line)
	}
	return e, nil
}

// MaxFailures is how often in a row a branch may fail to start before the agent gives up on
// it.
const MaxFailures = 3

// Failures counts the starts of a branch that failed since it last succeeded, in
// the lines of bootstrap.log. Lines that are no entries do not count.
func Failures(log []byte, branch string) int {
	n := 0
	for e := range ends(log, branch) {
		if n++; e.Event == Success {
			n = 0
		}
	}
	return n
}

// ends are how the starts of a branch ended, in the order of the log.
func ends(log []byte, branch string) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for line := range strings.Lines(string(log)) {
			e, err := Parse(strings.TrimSuffix(line, "\n"))
			if err == nil && e.Branch == branch && e.Event != Bootstrapping && !yield(e) {
				return
			}
		}
	}
}

// Last is the end of the last start of a branch, SUCCESS or FAILURE; the zero
// Entry where there is none.
func Last(log []byte, branch string) (last Entry) {
	for e := range ends(log, branch) {
		last = e
	}
	return last
}

// notCode are top-level names that do not affect the program that runs.
var notCode = []string{"COMMS.md", "LEARNINGS.md", "evidence", "postmortems", "knowledge_core"}

// IsCode reports whether a top-level name of a tree is part of what can run, so
// that a report on main does not make it another program.
func IsCode(name string) bool { return !slices.Contains(notCode, name) }

// MaxSignal bounds a signal file, in bytes.
const MaxSignal = 256

// ParseSignal reads a signal file: one line, the name of a branch or ref.
func ParseSignal(data []byte) (string, error) {
	if len(data) > MaxSignal {
		return "", fmt.Errorf("it is longer than %d bytes", MaxSignal)
	}
	name := strings.TrimSuffix(string(data), "\n")
	if why := CheckName(name); why != "" {
		return "", fmt.Errorf("%q %s", name, why)
	}
	return name, nil
}

// CheckName says why a name cannot stand in a signal, "" when it can. The name is passed to
// git as one word, and must be neither an option nor a revision expression.
func CheckName(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > MaxSignal-1:
		return fmt.Sprintf("is longer than %d bytes", MaxSignal-1)
	case strings.HasPrefix(name, "-"):
		return "begins with a dash"
	case diag.Clean(name) != name || strings.Contains(name, "..") || strings.Contains(name, "@{") ||
		strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("~^:?*[\\", r) }):
		return "is not a plain name: give a branch, a ref or a commit id"
	}
	return ""
}

// reserved are the directories of the state directory that belong to no branch.
var reserved = []string{"logs", "home", "prompt", "config", "lost+found"}

// CheckBranch is CheckName for a branch, whose name becomes a directory beside the
// agent's others.
func CheckBranch(name string) string {
	if why := CheckName(name); why != "" {
		return why
	}
	for i, part := range strings.Split(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") || strings.HasSuffix(part, ".") {
			return "is not the name of a branch"
		}
		for _, r := range reserved {
			if i == 0 && part == r {
				return "would be the agent's own folder " + r
			}
		}
	}
	return ""
}
