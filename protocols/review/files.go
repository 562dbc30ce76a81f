package review

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/plan"
)

// Kind is the kind of a path's entry, by git's mode.
type Kind string

// The kinds; "" is nothing.
const (
	File      Kind = "file"
	Program   Kind = "executable"
	Link      Kind = "link"
	Submodule Kind = "submodule"
	Directory Kind = "directory" // at the root only: no change is of one
)

// KindOf is what a mode of git's stands for; 0 is nothing.
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

// atRoot is the kind of the name at the root by which a path of this kind begins; below says
// that more follows it.
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
	Old     Kind           `json:"old"` // "" where it is new
	New     Kind           `json:"new"` // "" where it is gone
	Added   int            `json:"added"`
	Deleted int            `json:"deleted"`
	Binary  bool           `json:"binary"`
	OldSize int64          `json:"old_size"` // bytes; of binary files
	NewSize int64          `json:"new_size"`
	Target  diag.Untrusted `json:"target,omitempty"` // of a new link, of at most 4 KiB
}

// Touched lists the changed paths that a reader should see first.
type Touched struct {
	Protected    []diag.Untrusted `json:"protected"`    // [rights] protected: they run code or steer tools
	NewAtRoot    []diag.Untrusted `json:"new_at_root"`  // first parts of paths that the project's root does not have, or has as another kind
	Instructions []diag.Untrusted `json:"instructions"` // what coding agents obey (GATE-5)
	Tests        []diag.Untrusted `json:"tests"`        // tests by their names, [verify] pinned, and what the directive freezes
}

// Touch sorts out the paths that a reader looks at first; tests are globs, and root is what
// stands at the project's root, by name: one of another kind is new.
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

// InGlobs reports whether a path, or a directory that it is in, is one of the globs.
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

// Summary is a list of changes in one line, as git ends a diffstat.
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

// barWidth is how many signs a line of the diffstat has at most.
const barWidth = 40

// Stat is the changes as a diffstat, one line each: how much, and what is more than
// lines: a mode, a link, a binary file, another repository.
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

// became says what kind a path is now, and was.
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

// bar draws added and deleted lines, scaled as git does: what is there shows.
func bar(added, deleted, most int) string {
	scale := func(n int) int {
		if most <= barWidth || n == 0 {
			return n
		}
		return max(1, n*barWidth/most)
	}
	return strings.Repeat("+", scale(added)) + strings.Repeat("-", scale(deleted))
}
