package review

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/plan"
)

// Kind is the kind of a tree entry, derived from its mode.
type Kind string

// The kinds; "" means no entry.
const (
	File      Kind = "file"
	Program   Kind = "executable"
	Link      Kind = "link"
	Submodule Kind = "submodule"
	Directory Kind = "directory" // only for names at the root; a Change never has it
)

// KindOf returns the kind of a mode of git; "" for mode 0, no entry.
func KindOf(mode uint32) Kind {
	switch mode {
	case 0o120000:
		return Link
	case 0o160000:
		return Submodule
	case 0o040000:
		return Directory
	case 0o100755:
		return Program
	case 0:
		return ""
	}
	return File
}

// atRoot returns the kind of the first element of a path whose entry has kind k; below says that the
// path has more elements.
func (k Kind) atRoot(below bool) Kind {
	switch {
	case below:
		return Directory
	case k == Program:
		return File
	}
	return k
}

// Change is one path that the work changes.
type Change struct {
	Path    diag.Untrusted `json:"path"`
	Old     Kind           `json:"old"` // "" for an added path
	New     Kind           `json:"new"` // "" for a deleted path
	Added   int            `json:"added"`
	Deleted int            `json:"deleted"`
	Binary  bool           `json:"binary"`
	OldSize int64          `json:"old_size"` // bytes; of binary files
	NewSize int64          `json:"new_size"`
	Target  diag.Untrusted `json:"target,omitempty"` // of a new symbolic link, at most 4 KiB
}

// Touched lists the changed paths that a reader should see first.
type Touched struct {
	Protected    []diag.Untrusted `json:"protected"`    // [rights] protected: files that run code or configure tools
	NewAtRoot    []diag.Untrusted `json:"new_at_root"`  // first elements of paths that the project's root lacks, or has as another kind
	Instructions []diag.Untrusted `json:"instructions"` // files that coding agents obey (GATE-5)
	Tests        []diag.Untrusted `json:"tests"`        // tests by their names, [verify] pinned, and frozen paths
}

// Touch sorts the changed paths that a reader should see first by the given predicates. root maps the
// names at the project's root to their kinds; a name whose kind changes counts as new.
func Touch(changes []Change, protected, instructions, tests func(path string) bool, root map[string]Kind) Touched {
	t := Touched{Protected: []diag.Untrusted{}, NewAtRoot: []diag.Untrusted{}, Instructions: []diag.Untrusted{}, Tests: []diag.Untrusted{}}
	for _, c := range changes {
		path := c.Path.Raw()
		if protected(path) {
			t.Protected = append(t.Protected, c.Path)
		}
		first, _, below := strings.Cut(path, "/")
		if c.New != "" && c.New.atRoot(below) != root[first].atRoot(false) && !slices.Contains(t.NewAtRoot, diag.Untrusted(first)) {
			t.NewAtRoot = append(t.NewAtRoot, diag.Untrusted(first))
		}
		if instructions(path) {
			t.Instructions = append(t.Instructions, c.Path)
		}
		if tests(path) {
			t.Tests = append(t.Tests, c.Path)
		}
	}
	return t
}

// InGlobs reports whether a path, or a directory above it, matches one of the globs.
func InGlobs(globs []string, path string) bool {
	for {
		for _, g := range globs {
			if plan.MatchFile(strings.TrimSuffix(g, "/"), path) {
				return true
			}
		}
		i := strings.LastIndexByte(path, '/')
		if i < 0 {
			return false
		}
		path = path[:i]
	}
}

// Summary returns the last line of a diffstat.
func Summary(changes []Change) string {
	added, deleted := 0, 0
	for _, c := range changes {
		added, deleted = added+c.Added, deleted+c.Deleted
	}
	if len(changes) == 0 {
		return "no file changed"
	}
	return fmt.Sprintf("%s changed, +%d -%d lines", diag.Count(len(changes), "file"), added, deleted)
}

// barWidth bounds the plus and minus signs on a line of the diffstat.
const barWidth = 40

// Stat returns a diffstat, one line per change. A line also names what a count of lines cannot show:
// a changed mode, a link's target, the sizes of a binary file, a submodule.
func Stat(changes []Change) (lines []string) {
	wide, most := 0, 0
	for _, c := range changes {
		wide, most = max(wide, len([]rune(c.Path.String()))), max(most, c.Added+c.Deleted)
	}
	wide = min(wide, 60)
	for _, c := range changes {
		lines = append(lines, strings.TrimRight(fmt.Sprintf(" %-*s | %s", wide, c.Path, c.amount(most)), " "))
	}
	return lines
}

func (c Change) amount(most int) string {
	var notes []string
	switch {
	case c.Old == "":
		notes = append(notes, "new")
	case c.New == "":
		notes = append(notes, "deleted")
	}
	for _, k := range []Kind{c.Old, c.New} {
		if k == Link || k == Submodule || c.Old != c.New && c.Old != "" && c.New != "" || k == Program && c.Old == "" {
			notes = append(notes, c.became())
			break
		}
	}
	if c.Target != "" {
		notes = append(notes, "to "+c.Target.String())
	}
	text := fmt.Sprintf("%4d ", c.Added+c.Deleted) + bar(c.Added, c.Deleted, most)
	if c.Binary {
		text = fmt.Sprintf(" bin %d -> %d bytes", c.OldSize, c.NewSize)
	}
	if len(notes) > 0 {
		text = strings.TrimRight(text, " ") + " (" + strings.Join(notes, ", ") + ")"
	}
	return text
}

// became describes how the kind of a path changed.
func (c Change) became() string {
	switch {
	case c.Old == "":
		return string(c.New)
	case c.New == "":
		return "was: " + string(c.Old)
	case c.Old == c.New:
		return string(c.New)
	}
	return string(c.Old) + " -> " + string(c.New)
}

// bar draws added and deleted lines as plus and minus signs. It scales like git: a number other than
// 0 gets at least one sign.
func bar(added, deleted, most int) string {
	scale := func(n int) int {
		if most <= barWidth || n == 0 {
			return n
		}
		return max(1, n*barWidth/most)
	}
	return strings.Repeat("+", scale(added)) + strings.Repeat("-", scale(deleted))
}
