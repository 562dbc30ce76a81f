package command

import (
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/comms"
	"git-ward/protocols/uow"
)

// answered completes a step with its text. The text is kept in a file until it has been
// pushed.
func (u *units) answered(id uow.ID, in uow.Input) (err error) {
	file := u.kept("WARD_ANSWER.*")
	if in.Note, err = u.answer(id, in.Event, file); err != nil {
		return said(err)
	}
	if err := u.step(id, in); err != nil {
		if file.path != "" {
			err = diag.Hint(err, "the text is kept in %s", file.path)
		}
		return err
	}
	file.arrived()
	return nil
}

// answer reads the PM's answer or clarification from an editor if the command line does not
// give it, as git commit does: so the command that a list shows can be pasted as it is. Other
// steps need no text.
func (u *units) answer(id uow.ID, event uow.Event, file *kept) (string, error) {
	j, err := u.journal(id)
	if err != nil || j == nil {
		return "", err // the step refuses without a note
	}
	last := j.Last()
	if event != uow.Clarify && (event != uow.Approve || !asks(last)) || len(last.Possible()) == 0 {
		return "", nil
	}
	text, err := inEditor(u.ctx, u.env, file, answerTemplate(last))
	if err != nil {
		return "", err
	}
	if text = comms.AboveScissors(text); text == "" {
		file.arrived()
		return "", refused(u.env, "", "the text is empty, so nothing was changed")
	}
	return text, nil
}

// answerTemplate is the editor's first content: the unit's own words are below the line, so
// that they never become part of the answer.
func answerTemplate(r *uow.Record) string {
	text := "\n\n" + comms.Scissors + "\n# The line above and all below it are left out; an empty text changes nothing.\n#\n# " +
		r.ID + " waits for you, " + r.Waits().Why + ".\n"
	for line := range strings.Lines(diag.Untrusted(r.Note).Lines()) {
		text += "#     " + strings.TrimRight(line, "\n") + "\n"
	}
	return text
}
