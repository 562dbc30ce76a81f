package checks

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/charter"
	"git-ward/protocols/lesson"
)

// newReplayCheck makes the check of one push, which reads protocols through a cache.
func newReplayCheck(sources *sourceCache) Check {
	r := replayer{sources}
	return Check{
		Name: "replay",
		Doc: "The agent changes protocols/ by lessons only: such a commit names its lesson, and carrying that lesson out on the " +
			"parent gives the same files and no others (HOOK-4).",
		Rules: []string{ruleReplay},
		Whole: r.judge,
	}
}

const ruleReplay = "lesson/replay"

type replayer struct{ sources *sourceCache }

func (r replayer) judge(pass *Pass, c *walk.Commit, parents []string) error {
	if pass.Push.Principal != push.Agent || c.History != push.Undivided && c.History != push.Control {
		return nil // elsewhere protocols/ is the project's own, or not listed
	}
	changed, err := changedProtocols(pass, c, parents)
	if err != nil {
		return err
	}
	ids := git.Trailers(c.Message, lesson.Trailer)
	switch {
	case len(ids) == 0 && changed == "":
		return nil
	case len(ids) != 1 || len(parents) != 1:
		replayFinding(pass, c, changed, "a commit of the agent that changes protocols/ carries out one lesson, and this one does not",
			mainVersion(pass, c.History, "protocols AGENTS.md")+"; then make the change by git ward lesson apply")
		return nil
	}
	return r.replay(pass, c, parents[0], ids[0])
}

func replayFinding(pass *Pass, c *walk.Commit, path, message, hint string) {
	pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: c.ID, Path: path}, Ref: c.Ref, Rule: ruleReplay, Message: message, Hint: hint})
}

// changedProtocols is a path below protocols/ that differs from some parent, or is missing
// although all parents have it; "" for none.
func changedProtocols(pass *Pass, c *walk.Commit, parents []string) (path string, err error) {
	sub := func(tree string) (string, error) {
		e, _, err := pass.Repo.Lookup(tree, strings.TrimSuffix(charter.Dir, "/"))
		if err == nil && e.ID != "" && !e.IsDir() {
			return "", nil // a file in its place is all of it gone, and a new path
		}
		return e.ID, err
	}
	now, err := sub(c.Tree)
	if err != nil {
		return "", err
	}
	before := make([]string, len(parents))
	for i, p := range parents {
		if before[i], err = sub(p); err != nil || before[i] == now {
			return "", err
		}
	}
	visit := func(change walk.Change) error {
		kept := false // by a parent that had deleted it
		for _, p := range before[min(1, len(before)):] {
			if change.Deleted() {
				_, there, err := pass.Repo.Lookup(p, change.Path)
				if err != nil {
					return err
				}
				kept = kept || p == "" || !there
			}
		}
		if !kept && path == "" {
			path = charter.Dir + change.Path
		}
		return nil
	}
	return path, pass.Repo.Compare(before, now, visit)
}

// replay applies the lesson to the parent's tree and compares.
func (r replayer) replay(pass *Pass, c *walk.Commit, parent, id string) error {
	data, err := fileAt(pass, parent, lesson.Path, lesson.MaxBytes)
	if err != nil {
		return err
	}
	l, ok := pending(data, id)
	if !ok {
		replayFinding(pass, c, lesson.Path, fmt.Sprintf("the parent has no pending lesson %q", diag.Clean(id)),
			"extract the lesson in a commit before (git ward lesson extract), then git ward lesson apply")
		return nil
	}
	now, err := fileAt(pass, c.Tree, lesson.Path, lesson.MaxBytes)
	if err != nil {
		return err
	}
	want, err := r.expected(pass, c.Ref, parent, l, data, now)
	if cannot, ok := errors.AsType[*lesson.CannotApply](err); ok {
		replayFinding(pass, c, lesson.Path, fmt.Sprintf("the lesson %s cannot be carried out here: %s", id, cannot.Reason),
			"git ward lesson apply marks it failed; write another lesson")
		return nil
	}
	if err != nil {
		return err
	}
	visit := func(change walk.Change) error {
		if change.Deleted() || want[change.Path] != change.New.ID || change.New.Mode != cmp.Or(change.Old.Mode, git.ModeFile) { // a new file is a regular one
			replayFinding(pass, c, change.Path, fmt.Sprintf("carrying out the lesson %s does not give this", id),
				"commit what git ward lesson apply makes, and nothing with it")
		}
		delete(want, change.Path)
		return nil
	}
	if err := pass.Repo.Compare([]string{parent}, c.Tree, visit); err != nil {
		return err
	}
	for path := range want {
		replayFinding(pass, c, path, fmt.Sprintf("carrying out the lesson %s changes this file, and the commit does not", id),
			"commit all that git ward lesson apply makes")
	}
	return nil
}

func pending(data []byte, id string) (lesson.Lesson, bool) {
	list, _ := lesson.Parse(data)
	for _, l := range list {
		if l.ID == id && l.Status == lesson.Pending {
			return l, true
		}
	}
	return lesson.Lesson{}, false
}

// expected is the blob of each file that the lesson changes relative to the parent: what
// applying it gives if the commit says applied, nothing otherwise, and its line of
// lessons.jsonl with the commit's status and reason. For another directive's lesson these must
// be the result of applying it, too.
func (r replayer) expected(pass *Pass, ref, parent string, l lesson.Lesson, before, now []byte) (map[string]string, error) {
	want := map[string]string{}
	list, _ := lesson.Parse(now)
	status, reason := lesson.Applied, ""
	for _, after := range list {
		if after.ID == l.ID && after.Status != lesson.Pending {
			status, reason = after.Status, after.Reason.Raw()
		}
	}
	own := ownDirective(pass, ref)
	others := own != "" && l.TaskID != own
	var changed []charter.File
	if status == lesson.Applied || others {
		sources, err := r.sources.protocols(pass, parent)
		if err != nil {
			return nil, err
		}
		changed, err = l.Replay(lesson.Tree{Protocols: sources, File: func(path string) ([]byte, error) {
			return fileAt(pass, parent, path, pass.Push.Config.Limits.BlobSize)
		}})
		if others {
			status, reason, err = l.Outcome(changed, err)
		}
		if err != nil {
			return nil, err
		}
	}
	marked, err := lesson.Mark(before, l.ID, status, reason)
	if err != nil {
		return nil, err
	}
	want[lesson.Path] = git.BlobID(marked)
	if status != lesson.Applied {
		return want, nil
	}
	for _, f := range changed {
		id := git.BlobID(f.Data)
		if e, ok, err := pass.Repo.Lookup(parent, f.Path); err != nil || !ok || e.ID != id {
			want[f.Path] = id
		}
	}
	return want, nil
}

// fileAt reads a regular file of a tree, nil for none.
func fileAt(pass *Pass, tree, path string, limit int64) ([]byte, error) {
	e, ok, err := pass.Repo.Lookup(tree, path)
	if err != nil || !ok {
		return nil, err
	}
	data, err := pass.Repo.Regular(e, limit)
	if large, ok := errors.AsType[*git.TooLarge](err); ok {
		return nil, &walk.Exceeded{Path: path, Message: fmt.Sprintf("the file has %d bytes, more than %d", large.Object.Size, limit)}
	}
	return data, err
}
