// Package diag holds the one shape of a finding that hooks, documents, plans
// and programs share, and its two renderings: text for a person, JSON for a
// program.
//
// Text from a repository is untrusted: Clean makes it harmless before it
// reaches a terminal, and both renderings apply it.
package diag

import (
	"cmp"
	"fmt"
	"slices"
)

// Severity says whether a finding refuses (Error) or only informs (Warning).
type Severity string

// The two severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Pos is a place: a commit (hex object id, empty outside a push), a path with
// forward slashes, and a line and column that count from 1 in bytes; 0 means
// the whole file, or the whole line.
type Pos struct {
	Commit string `json:"commit,omitempty"`
	Path   string `json:"path,omitempty"`
	Line   int    `json:"line,omitempty"`
	Col    int    `json:"col,omitempty"`
}

// Diagnostic is one finding. Rule is its stable id ("comms/status"), Message
// says what is wrong, Hint what its reader can do about it. An empty Severity
// means Error.
type Diagnostic struct {
	Pos
	Ref      string   `json:"ref,omitempty"`
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	Hint     string   `json:"hint,omitempty"`
}

// String returns path:line:col, or as much of it as is known; "-" for none.
func (p Pos) String() string {
	switch {
	case p.Path == "":
		return "-"
	case p.Line == 0:
		return Clean(p.Path)
	case p.Col == 0:
		return fmt.Sprintf("%s:%d", Clean(p.Path), p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", Clean(p.Path), p.Line, p.Col)
}

// Place is String, or the ref when the finding has no path.
func (d Diagnostic) Place() string {
	if d.Path == "" && d.Ref != "" {
		return Clean(d.Ref)
	}
	return d.Pos.String()
}

// IsError reports whether the finding refuses.
func (d Diagnostic) IsError() bool { return d.Severity != Warning }

// HasErrors reports whether any finding refuses.
func HasErrors(ds []Diagnostic) bool {
	return slices.ContainsFunc(ds, Diagnostic.IsError)
}

// Normalize sorts findings by commit, path, line, column, rule and message,
// drops doubles, and fills in the default severity. Findings without a commit
// come first; commits keep the order in which they first appear, which is the
// order of the walk.
func Normalize(ds []Diagnostic) []Diagnostic {
	order := map[string]int{"": -1}
	for i := range ds {
		ds[i].Severity = cmp.Or(ds[i].Severity, Error)
		if _, seen := order[ds[i].Commit]; !seen {
			order[ds[i].Commit] = len(order)
		}
	}
	slices.SortStableFunc(ds, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(order[a.Commit], order[b.Commit]),
			cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Col, b.Col),
			cmp.Compare(a.Ref, b.Ref),
			cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(ds)
}
