// Package state reads what a repository's refs say about the work: units and their journals,
// the host's verdicts, COMMS.md and the policy. Only this package knows where they are stored,
// how much of each is read, and what a broken one means.
//
// It knows no git: a Reader answers for a repository. The host has git's children
// behind it, a hook its quarantine, the agent its clone, a test objects in memory.
//
// # What is broken
//
//   - A record that is missing, too large or not well-formed is a *BrokenRecord.
//     Whoever needs that one unit stops there; who lists units goes on with the
//     others; nothing is concluded from it. `git ward fsck` names it.
//   - A line of a note that is no verdict is no verdict: those around it count.
//     A note over MaxNote holds none at all. `git ward fsck` names both.
//   - A COMMS.md or a policy that is not there is an empty one. One that breaks its
//     grammar comes with findings; a policy with findings is an error, because
//     nobody works by half a policy.
package state

// Files reads files of commits.
type Files interface {
	// File is the content of a file in a revision's tree (an object id or a full
	// ref name; path with forward slashes), nil when there is none. A file of more
	// than limit bytes is a diag.ErrTooLarge, and is not read.
	File(rev, path string, limit int64) ([]byte, error)
}

// Reader reads one repository. It is used by one goroutine at a time.
type Reader interface {
	Files
	// Refs lists the refs below a prefix that ends in a slash: object ids by full
	// ref name.
	Refs(prefix string) (map[string]string, error)
	// Tip is the object id that a full ref name points to, "" when there is no such
	// ref.
	Tip(ref string) (string, error)
	// Parent is the id of a commit's first parent, "" for a root.
	Parent(commit string) (string, error)
	// Note is an object's note of a notes ref (git-notes(1)), nil when it has none.
	// One of more than limit bytes is a diag.ErrTooLarge.
	Note(ref, object string, limit int64) ([]byte, error)
}
