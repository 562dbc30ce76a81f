package install

import "fmt"

// Change is one thing that is done to a repository.
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

// Done says it of what has happened.
func (c Change) Done() string { return done[c.Verb] + " " + c.What }

// Planned says it of what would happen.
func (c Change) Planned() string { return c.Verb + " " + c.What }
