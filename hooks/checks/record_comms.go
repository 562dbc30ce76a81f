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

// messages checks a record's messages by the rules of the document (MANY-2): each is about its
// own directive, well formed and, where it claims a proof, proved; numbers have no gap, and
// existing messages never change. The host folds them by its own push, which is judged again.
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
	have, err := numbers(pass, t, added)
	if err != nil {
		return err
	}
	return said(pass, t, id, have, added)
}

// said limits a unit's messages, so that they displace nobody else's: their number, their
// bytes, and one open question at a time (COMMS-5). The next question may be asked once the
// host has folded the previous one.
func said(pass *Pass, t *walk.Tip, id uow.ID, have int, added []int) error {
	limits := pass.Push.Config.Limits
	report := func(hint, format string, args ...any) {
		pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: t.New, Path: record.Messages}, Ref: t.Ref, Rule: "record/said", Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	if n := have + len(added); n > limits.UnitMessages {
		report("end the unit, or let the host admin raise [limits] unit_messages", "%s would have said %d messages; a unit says at most %d", id, n, limits.UnitMessages)
		return nil
	}
	dir, ok, err := pass.Repo.Lookup(t.Commit.Tree, record.Messages)
	if err != nil || !ok || !dir.IsDir() {
		return err
	}
	size, err := pass.Repo.Size(dir.ID, limits.UnitWords)
	if err != nil {
		return err
	}
	if size > limits.UnitWords {
		report("say less, or let the host admin raise [limits] unit_words", "the messages of %s would have %d bytes; a unit's have at most %d", id, size, limits.UnitWords)
	}
	folded, err := foldedOf(pass, id)
	if err != nil {
		return err
	}
	asked := 0
	for number := folded + 1; number <= have+len(added); number++ {
		data, err := fileAt(pass, t.Commit.Tree, record.MessagePath(number), comms.MaxMessageBytes)
		if err != nil {
			return err
		}
		m, err := comms.ParseMessage(data)
		if err != nil || m.Kind != comms.KindQuestion {
			continue
		}
		if asked != 0 && number > have {
			report("one question at a time: put it all into one, or wait until the host has put the other into COMMS.md",
				"%s asks in %s, and what it asked in %s is not in COMMS.md yet", id, record.MessagePath(number), record.MessagePath(asked))
			return nil
		}
		asked = number
	}
	return nil
}

// foldedOf is how many of a unit's messages the host has folded.
func foldedOf(pass *Pass, id uow.ID) (int, error) {
	blob, err := pass.after(record.FoldedRef(id))
	if err != nil || blob == git.Zero {
		return 0, err
	}
	data, err := pass.Repo.Blob(blob, 4<<10)
	if err != nil {
		return 0, err
	}
	folded, err := record.ParseFolded(id, data)
	if err != nil {
		return 0, nil // the fold says so, and what to do
	}
	return folded, nil
}

// message judges a new one.
func message(pass *Pass, t *walk.Tip, id uow.ID, change walk.Change, report func(string)) error {
	data, err := pass.Repo.Regular(change.New, comms.MaxMessageBytes)
	if large, ok := errors.AsType[*git.TooLarge](err); ok {
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
	if m.Kind == comms.KindQuestion && len(m.Text) > comms.MaxQuestionBytes {
		report(fmt.Sprintf("the question has %d bytes; a question has at most %d", len(m.Text), comms.MaxQuestionBytes))
	}
	if r, ok := m.Report(); ok {
		return certified(pass, diag.Pos{Commit: t.New, Path: change.Path, Line: 1, Col: 1}, t.Ref, "the message", r)
	}
	return nil
}

// messagesAt counts the messages on a record as it is at a commit, "" for none.
func messagesAt(pass *Pass, commit string) (int, error) {
	if commit == "" {
		return 0, nil
	}
	tree, err := treeOf(pass, commit)
	if err != nil {
		return 0, err
	}
	dir, ok, err := pass.Repo.Lookup(tree, record.Messages)
	if err != nil || !ok || !dir.IsDir() {
		return 0, err
	}
	entries, err := pass.Repo.Tree(dir.ID)
	return len(entries), err
}

// numbers checks that new messages continue the numbers, and names the next number.
func numbers(pass *Pass, t *walk.Tip, added []int) (have int, err error) {
	if have, err = messagesAt(pass, t.Base); err != nil {
		return 0, err
	}
	slices.Sort(added)
	for i, number := range added {
		if want := have + i + 1; number != want {
			pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: t.New, Path: record.MessagePath(number)}, Ref: t.Ref, Rule: "record/comms",
				Message: fmt.Sprintf("the next message is %s, and this is number %d", record.MessagePath(want), number), Hint: "number messages without a hole, from 1 on"})
			break
		}
	}
	return have, nil
}
