package install

import "fmt"

// Change is one change of a repository.
type Change struct {
	Verb string // "make"
	What string // "ward/ with config.toml"
}

func change(verb, format string, args ...any) Change {
	return Change{verb, fmt.Sprintf(format, args...)}
}

// done are the verbs in the past.
var done = map[string]string{
	"make": "made", "write": "wrote", "install": "installed", "set": "set", "commit": "committed", "record": "recorded", "keep": "kept",
	"remove": "removed", "open": "opened", "close": "closed", "update": "updated", "add": "added", "put": "put", "delete": "deleted", "leave": "left", "begin": "began",
}

// Done words a change that was made.
func (c Change) Done() string { return done[c.Verb] + " " + c.What }

// Planned words a change that would be made.
func (c Change) Planned() string { return c.Verb + " " + c.What }
