// Package push has the types that describe a push throughout hooks: who pushes, which refs
// move, which ref names are valid, and how much the push contains. It reads no repository.
package push

// Principal is the role of the pusher, as the transport proves it (ID-1).
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

// Lease is the lease under which a worker pushes, as its door states it (MANY-2); the zero
// Lease is none.
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

// Counts say how much a push contained.
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

// The limits of what one push may add to refs/notes/lessons, because readers must be able to
// read all of it.
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
