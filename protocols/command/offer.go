package command

import (
	"fmt"
	"strings"
	"unicode"

	"git-ward/internal/shellword"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// offer names each other unit that asks the PM the same question, with the command that gives
// it the same answer. Whether it is one for that unit, too, the PM decides.
func (u *units) offer(from uow.ID, question, answer string) error {
	all, _, err := state.Units(u.reader)
	if err != nil {
		return err
	}
	for _, unit := range all {
		if unit.ID == from {
			continue
		}
		j, err := u.journal(unit.ID)
		if err != nil || j == nil {
			continue // who lists the units says so
		}
		if last := j.Last(); asks(last) && sameWords(last.Note, question) {
			if _, err := fmt.Fprintf(u.env.Stdout, "%s asks the same: git ward uow approve %s -m %s\n", unit.ID, unit.ID, shellword.Quote(answer)); err != nil {
				return err
			}
		}
	}
	return nil
}

// asks reports whether a unit waits for the answer to a question of its worker.
func asks(r *uow.Record) bool {
	return r != nil && r.State == uow.PendingApproval && r.ReasonCode == uow.Question
}

// sameWords compares two questions by their words.
func sameWords(a, b string) bool {
	words := func(s string) string {
		return strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ")
	}
	return words(a) == words(b) && words(a) != ""
}
