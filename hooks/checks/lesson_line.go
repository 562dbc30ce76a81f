package checks

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/lesson"
)

// forged checks who wrote the lines of lessons.jsonl that an agent's commit adds (LES-2):
// refs/notes/lessons keeps each line of each commit, and every directive learns from it. A
// lesson's id is the hash of its content. It belongs to the directive whose ref brings it, and
// starts as pending or noted. Only the commit that applies it may mark it applied, and replay
// applies it again; another directive's lesson may only be changed by such a commit. Lines
// that a parent or main has are theirs.
func (l *lessons) forged(pass *Pass, c *walk.Commit, parents []string) error {
	if !pass.Push.Principal.Fenced() || !c.History.Documents() {
		return nil
	}
	entry, ok, err := pass.Repo.Lookup(c.Tree, lesson.Path)
	if err != nil || !ok {
		return err
	}
	for _, parent := range parents {
		if old, _, err := pass.Repo.Lookup(parent, lesson.Path); err != nil || old.ID == entry.ID {
			return err
		}
	}
	data, err := fileAt(pass, c.Tree, lesson.Path, lesson.MaxBytes)
	if err != nil || data == nil {
		return err
	}
	main, err := treeOf(pass, pass.Repo.Main(c.History))
	if err != nil {
		return err
	}
	var before [][]byte
	for _, tree := range append(slices.Clone(parents), main) {
		if tree == "" {
			continue
		}
		data, err := fileAt(pass, tree, lesson.Path, lesson.MaxBytes)
		if err != nil {
			return err
		}
		before = append(before, data)
	}
	known, was := map[string]bool{}, map[string]lesson.Lesson{}
	for _, data := range slices.Backward(before) { // a parent's counts more than main's
		for line := range bytes.Lines(data) {
			known[string(bytes.TrimSpace(line))] = true
		}
		list, _ := lesson.Parse(data)
		for _, l := range list {
			was[l.ID] = l
		}
	}
	own := ownDirective(pass, c.Ref)
	number := 0
	for line := range bytes.Lines(data) {
		number++
		list, _ := lesson.Parse(line)
		if known[string(bytes.TrimSpace(line))] || len(list) != 1 {
			continue // schema says so
		}
		if message, hint := forgery(c, own, list[0], was); message != "" {
			pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: c.ID, Path: lesson.Path, Line: number}, Ref: c.Ref, Rule: "lessons/forged", Message: message, Hint: hint})
		}
		l.own.add(string(line))
	}
	if over := l.own.lines > push.MaxOwnLessons || l.own.bytes > push.MaxOwnLessonBytes; over && !l.told {
		l.told = true
		pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: c.ID, Path: lesson.Path}, Ref: c.Ref, Rule: "limit/lessons",
			Message: fmt.Sprintf("the push says more than %d lessons of its own, or %d bytes of them", push.MaxOwnLessons, push.MaxOwnLessonBytes),
			Hint:    "every later directive reads them: keep those that help it"})
	}
	return nil
}

// ownDirective is the directive whose lessons a ref brings, "" for none.
func ownDirective(pass *Pass, ref string) string {
	return cmp.Or(directiveOf(ref), pass.Push.Lease.Directive)
}

// forgery says what is wrong with a new line, "" for nothing.
func forgery(c *walk.Commit, own string, l lesson.Lesson, was map[string]lesson.Lesson) (message, hint string) {
	const extract = "git ward lesson extract writes it, of the directive's post-mortem"
	old, there := was[l.ID]
	others := own != "" && l.TaskID != own
	switch {
	case there && old.Same(l):
		if l.Status != lesson.Applied && !others || (c.History == push.Undivided || c.History == push.Control) && slices.Equal(git.Trailers(c.Commit.Message, lesson.Trailer), []string{l.ID}) {
			return "", ""
		}
		if l.Status != lesson.Applied {
			return fmt.Sprintf("the lesson %s is of %s, and this is pushed for %s, which does not say what becomes of it", l.ID, diag.Clean(l.TaskID), own),
				"git ward lesson apply makes the commit that tries it"
		}
		return "nothing carries out the lesson " + l.ID + " here, which says that it is applied", "git ward lesson apply makes the commit that does"
	case l.ID != l.ContentID():
		return fmt.Sprintf("the id %s is not of what the lesson says, which has %s", l.ID, l.ContentID()), extract
	case others:
		return fmt.Sprintf("the lesson %s is of %s, and this is pushed for %s", l.ID, diag.Clean(l.TaskID), own), extract
	case l.Status == lesson.Applied || l.Status == lesson.Failed:
		return fmt.Sprintf("the lesson %s begins as %s", l.ID, l.Status), "a new lesson is pending, or noted; git ward lesson apply carries it out"
	}
	return "", ""
}
