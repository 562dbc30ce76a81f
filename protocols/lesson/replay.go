package lesson

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"git-ward/protocols/charter"
	"git-ward/protocols/mergediff"
)

// Tree is the state of a repository that a lesson is carried out on.
type Tree struct {
	Protocols []charter.File // all sources
	// File reads a regular file by its path; nil when there is none.
	File func(path string) ([]byte, error)
}

// CannotApply is why a lesson cannot be carried out on a tree. It is the reason of
// a failed lesson.
type CannotApply struct{ Reason string }

func (e *CannotApply) Error() string { return e.Reason }

// Replay carries a lesson out and returns the files that change, in the order of
// their paths; lessons.jsonl is not among them. It depends on the lesson and the
// tree alone: whoever has both can compare (HOOK-4). None change when the
// protocol is as the lesson wants it. The error is CannotApply, or trouble of
// Tree.File.
func (l Lesson) Replay(t Tree) ([]charter.File, error) {
	switch l.Action.Type {
	case UpdateProtocol:
		return l.editProtocol(t.Protocols)
	case CodeChange:
		return l.changeCode(t)
	}
	return nil, &CannotApply{"its action is for readers only"}
}

func (l Lesson) editProtocol(sources []charter.File) ([]charter.File, error) {
	p := l.Action.Parameters
	edit := charter.Edit{Op: charter.Op(l.Action.Command), Protocol: p.Protocol, Tool: p.Tool, Rule: p.Rule, Text: p.Description}
	changed, err := edit.Apply(sources)
	if errors.Is(err, charter.ErrUnchanged) {
		return nil, nil
	}
	if err != nil {
		return nil, &CannotApply{err.Error()}
	}
	after := slices.Clone(sources)
	after[slices.IndexFunc(after, func(f charter.File) bool { return f.Path == changed.Path })] = changed
	compiled, err := charter.Compile(after)
	if err != nil {
		return nil, &CannotApply{err.Error()}
	}
	return []charter.File{{Path: charter.Compiled, Data: compiled}, changed}, nil
}

func (l Lesson) changeCode(t Tree) ([]charter.File, error) {
	target := l.Action.Parameters.File
	if bad := badTarget(target); bad != "" {
		return nil, &CannotApply{fmt.Sprintf("the path %q %s", clip(target), bad)}
	}
	data, err := t.File(target)
	if err != nil {
		return nil, err
	}
	if data == nil {
		return nil, &CannotApply{fmt.Sprintf("there is no file %s", target)}
	}
	hunks, err := mergediff.Parse(l.Action.Parameters.Diff)
	if err == nil {
		data, err = mergediff.Apply(data, hunks)
	}
	if err != nil {
		return nil, &CannotApply{fmt.Sprintf("%s: %v", target, err)}
	}
	return []charter.File{{Path: l.PlanPath(), Data: l.Plan()}, {Path: target, Data: data}}, nil
}

// PlanPath is where the plan of a code change is kept.
func (l Lesson) PlanPath() string { return "plans/lessons/" + l.ID + ".txt" }

// Plan is a code change as a plan of one step under the machine sub.
func (l Lesson) Plan() []byte {
	p := l.Action.Parameters
	word := "DIFF"
	for strings.Contains(p.Diff, word) {
		word += "_"
	}
	return fmt.Appendf(nil, "# FSM: sub\n# The code change of lesson %s.\n%s %s <<%s\n%s\n%s\n---\n",
		l.ID, DiffTool, p.File, word, strings.TrimSuffix(p.Diff, "\n"), word)
}

// fixed are the files that no lesson's diff may touch: each has commands of its
// own, or is the PM's.
var fixed = []string{charter.Dir, charter.Compiled, Path, "plans/lessons/", "COMMS.md", "logs/", ".signal/"}

// badTarget says why a file cannot be the target of a code change.
func badTarget(p string) string {
	switch {
	case p == "" || strings.HasPrefix(p, "/") || path.Clean(p) != p || p == "." || p == ".." || strings.HasPrefix(p, "../"):
		return "is not the plain path of a file in the repository"
	case !charter.IsName(p) || strings.ContainsAny(p, "\\ "):
		return "holds blanks, backslashes or characters that nobody sees"
	}
	for part := range strings.SplitSeq(p, "/") {
		if strings.EqualFold(part, ".git") {
			return "leads into .git"
		}
	}
	for _, f := range fixed {
		if p == f || strings.HasSuffix(f, "/") && strings.HasPrefix(p, f) {
			return "is not changed by a diff: protocols have add-tool, remove-tool and update-rule"
		}
	}
	return ""
}
