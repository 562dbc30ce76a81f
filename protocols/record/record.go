// Package record defines a unit's record: everything that the unit leaves besides the work
// (REC-2), on its own ref.
//
// # History
//
// A record is a chain of commits by their first parents, and moves by fast-forward only. A
// commit may have a second parent, and never a third: the commit of the work that it is about,
// such as a claim's or a step's. That keeps the work reachable (REC-4). The root has no
// parent.
package record

import (
	"fmt"
	"path"
	"strings"

	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// Prefix is the ref prefix of records.
const Prefix = "refs/ward/record/"

// Trailers of commits (git-interpret-trailers(1)).
const (
	TrailerDirective = "Ward-Directive" // of work and record: D-1
	TrailerIteration = "Ward-Iteration" // of work and record, where they belong to one: its number in the journal, from 1
	TrailerRecord    = "Ward-Record"    // of work: the full name of the record's ref
	TrailerTaken     = "Ward-Taken"     // of a squashed commit of the project: the commit of the work that it takes
	TrailerPlan      = "Ward-Plan"      // of a record: the path of the plan that the commit brings
	TrailerStep      = "Ward-Step"      // of a record: <plan>#<n>; the second parent has the tree after it
)

// Ref is the record's ref of a unit: refs/ward/record/D-1.2.
func Ref(id uow.ID) string { return Prefix + id.String() }

// ParseRef reads a record's ref.
func ParseRef(ref string) (uow.ID, error) {
	name, ok := strings.CutPrefix(ref, Prefix)
	if !ok {
		return uow.ID{}, fmt.Errorf("%.80q is not below %s", ref, Prefix)
	}
	return uow.ParseID(name)
}

// Work is the commit of the work that a record's commit with these parents speaks of: its
// second parent, "" where it has none, or more than two.
func Work(parents []string) string {
	if len(parents) != 2 {
		return ""
	}
	return parents[1]
}

// The files and directories of a record besides the loop's evidence.
const (
	Learnings   = loop.LearningsPath
	Plans       = "plans"
	PostMortems = "postmortems"
	Research    = "research"
	Transcripts = "transcripts"
	Lessons     = "knowledge_core/lessons.jsonl"
)

// Listed reports whether a record of a directive's unit may hold a file at a path
// (forward slashes, relative to the tree).
func Listed(directive, p string) bool {
	if p == "" || path.Clean(p) != p {
		return false
	}
	switch p {
	case Learnings, Lessons:
		return true
	}
	top, rest, below := strings.Cut(p, "/")
	if !below || rest == "" {
		return false
	}
	switch top {
	case Plans, PostMortems, Research, Transcripts:
		return true
	case Messages:
		return ParseMessagePath(p) > 0
	}
	return strings.HasPrefix(p, loop.Dir(directive)+"/")
}

// Dir is the directory of a work tree in which the agent has a view of its unit's
// record; it is never committed.
const Dir = ".ward"
