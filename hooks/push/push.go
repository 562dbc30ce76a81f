// Package push names what everybody in this room says of a push: who pushes, which
// refs it moves, how those may be called, and how much it holds. It reads no
// repository.
package push

// Principal is who pushes, as the transport proves it (ID-1).
type Principal string

// The principals. A member is a developer of an adopted project, the watcher is
// the agent's supervisor.
const (
	PM      Principal = "pm"
	Agent   Principal = "agent"
	Member  Principal = "member"
	Watcher Principal = "watcher"
)

// Fenced reports whether a push is from inside the fence, where nothing is trusted:
// the agent's, the watcher's, and that of anybody who is not known.
func (p Principal) Fenced() bool { return p != PM && p != Member }

// Lease is the taking of a directive's lease by which a worker of the agent's pushes, as its
// door says (MANY-2); the zero Lease is none.
type Lease struct {
	Directive string // "D-3"
	ID        string // of the taking
}

// Update is one ref that the push moves; git.Zero stands for "none".
type Update struct {
	Ref string `json:"ref"`
	Old string `json:"old"`
	New string `json:"new"`
}

// Counts are how much a push held.
type Counts struct {
	Commits int   `json:"commits"`
	Paths   int   `json:"paths"`
	Blobs   int   `json:"blobs"`
	Bytes   int64 `json:"bytes"` // inflated, as read by the checks
}

// AddedLines are the lines that a commit adds to a file.
type AddedLines struct {
	Commit string
	Lines  []string
}

// What one push may add to refs/notes/lessons: what is written there has to be read.
const (
	MaxLessonLines = 10_000
	MaxLessonBytes = 4 << 20
)

// What the agent may say itself of that in one push: who reads all directives' lessons reads up to
// a bound, and one push is not to fill it.
const (
	MaxOwnLessons     = 100
	MaxOwnLessonBytes = 64 << 10
)
