package checks

import (
	"errors"
	"fmt"
	"slices"

	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// messages holds what a record says for COMMS.md to what the document would be held to
// (MANY-2): each message is of its own directive, well formed and, where it says that
// something is proved, proved; the numbers have no hole, and what is there never changes.
// The host folds it by a push of its own, which is judged again.
func messages(pass *Pass, t *walk.Tip, id uow.ID) error {
	var added []int
	for _, change := range t.Changes {
		number := record.ParseMessagePath(change.Path)
		if number == 0 {
			continue // Path says so, where it is not listed
		}
		pos := diag.Pos{Commit: t.New, Path: change.Path, Line: 1, Col: 1}
		report := func(message string) {
			pass.Report(diag.Diagnostic{Pos: pos, Ref: t.Ref, Rule: "record/comms", Message: message,
				Hint: "a message is one line of JSON, for " + id.Directive + " only, under the next number, and stays as it is"})
		}
		if change.Old.ID != "" {
			report("a message that is on the record is never changed, nor taken away")
			continue
		}
		added = append(added, number)
		if err := message(pass, t, id, change, report); err != nil {
			return err
		}
	}
	if len(added) == 0 {
		return nil
	}
	return numbers(pass, t, added)
}

// message judges a new one.
func message(pass *Pass, t *walk.Tip, id uow.ID, change walk.Change, report func(string)) error {
	data, err := pass.Repo.Regular(change.New, comms.MaxMessageBytes)
	var large *git.TooLarge
	if errors.As(err, &large) {
		report(fmt.Sprintf("the message has %d bytes, more than %d", large.Object.Size, large.Limit))
		return nil
	}
	if err != nil || data == nil {
		return err // the mode is record/mode's
	}
	m, err := comms.ParseMessage(data)
	if err != nil {
		report(err.Error())
		return nil
	}
	if m.Directive != id.Directive {
		report(fmt.Sprintf("the message is for %s, and the record is of %s", diag.Clean(m.Directive), id.Directive))
	}
	if r, ok := m.Report(); ok {
		return certified(pass, diag.Pos{Commit: t.New, Path: change.Path, Line: 1, Col: 1}, t.Ref, "the message", r)
	}
	return nil
}

// numbers asks new messages to go on where the old ones end.
func numbers(pass *Pass, t *walk.Tip, added []int) error {
	have := 0
	if t.Base != "" {
		tree, err := treeOf(pass, t.Base)
		if err != nil {
			return err
		}
		if dir, ok, err := pass.Repo.Lookup(tree, record.Messages); err != nil {
			return err
		} else if ok && dir.IsDir() {
			entries, err := pass.Repo.Tree(dir.ID)
			if err != nil {
				return err
			}
			have = len(entries)
		}
	}
	slices.Sort(added)
	for i, number := range added {
		if want := have + i + 1; number != want {
			pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: t.New, Path: record.MessagePath(number)}, Ref: t.Ref, Rule: "record/comms",
				Message: fmt.Sprintf("the next message is %s, and this is number %d", record.MessagePath(want), number), Hint: "number messages without a hole, from 1 on"})
			return nil
		}
	}
	return nil
}
