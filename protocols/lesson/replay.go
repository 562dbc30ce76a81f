package lesson

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/charter"
	"git-ward/protocols/fsm"
	"git-ward/protocols/mergediff"
	"git-ward/protocols/plan"
)

// Tree is the state of a repository that a lesson is carried out on.
type Tree struct {
	Protocols []charter.File // all sources
	// File reads a regular file by its path; nil when there is none.
	File func(path string) ([]byte, error)
}

// CannotApply says why a lesson cannot be carried out on a tree. It becomes the reason of a
// failed lesson.
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
	bad, err := l.lint(t)
	if err != nil {
		return nil, err
	}
	if bad != "" {
		return nil, &CannotApply{bad}
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
	p := plan.Plan{Form: plan.BlockForm, FSM: fsm.Sub, Steps: []plan.Step{{
		Comments: []string{"# FSM: " + fsm.Sub, "# The code change of lesson " + l.ID + "."},
		Tool:     DiffTool, Args: l.Action.Parameters.File, Block: l.Action.Parameters.Diff,
	}}}
	return []byte(p.String())
}

// lint is why the plan of a code change may not run in the tree, "" when it may.
func (l Lesson) lint(t Tree) (string, error) {
	found, err := plan.NewLinter(planTree{t}, nil).LintText(l.PlanPath(), l.Plan())
	if err != nil {
		return "", err
	}
	for _, d := range found {
		if d.IsError() {
			return fmt.Sprintf("its plan fails lint: %s: %s", d.Rule, d.Message), nil
		}
	}
	return "", nil
}

// planTree is a Tree as the linter of plans sees it.
type planTree struct{ tree Tree }

func (t planTree) ReadFile(path string, limit int64) ([]byte, error) {
	data, err := t.tree.File(path)
	switch {
	case err != nil:
		return nil, err
	case data == nil:
		return nil, fs.ErrNotExist
	case int64(len(data)) > limit:
		return nil, diag.ErrTooLarge
	}
	return data, nil
}

func (t planTree) Kind(path string) (plan.Kind, error) {
	if data, err := t.tree.File(path); data == nil || err != nil {
		return plan.Missing, err
	}
	return plan.File, nil
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

// Outcome turns Replay's error into the lesson's new status and reason. An error other than
// CannotApply is returned.
func (l Lesson) Outcome(changed []charter.File, err error) (status Status, reason string, _ error) {
	var cannot *CannotApply
	switch {
	case errors.As(err, &cannot) && l.Action.Type == None:
		return Noted, diag.Clean(cannot.Reason), nil
	case errors.As(err, &cannot):
		return Failed, diag.Clean(cannot.Reason), nil
	case err != nil:
		return "", "", err
	case len(changed) == 0:
		return Applied, "it was so already", nil
	}
	return Applied, "", nil
}
