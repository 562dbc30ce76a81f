package command

import (
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/comms"
	"git-ward/protocols/uow"
)

// answer is what the PM says to a unit where the command line does not say it: the words
// that an answer or a clarification is, by the editor, as git commit asks for its own. So
// the command that a list names can be pasted as it is. Other steps need no words. The text
// is kept until the step has been pushed.
func (u *units) answer(id uow.ID, event uow.Event) (text string, file *kept, err error) {
	file = u.kept("WARD_ANSWER.*")
	j, err := u.journal(id)
	if err != nil || j == nil {
		return "", file, err // the step says that there is none
	}
	last := j.Last()
	asked := last.State == uow.PendingApproval && last.ReasonCode == uow.Question
	if event != uow.Clarify && (event != uow.Approve || !asked) || len(last.Possible()) == 0 {
		return "", file, nil
	}
	if text, err = inEditor(u.ctx, u.env, file, answerTemplate(last)); err != nil {
		return "", file, err
	}
	if text = comms.AboveScissors(text); text == "" {
		file.arrived()
		return "", file, refused(u.env, "", "the text is empty, so nothing was changed")
	}
	return text, file, nil
}

// answerTemplate is what the editor begins with: what the unit says is below the line, and
// so never a part of the answer.
func answerTemplate(r *uow.Record) string {
	text := "\n\n" + comms.Scissors + "\n# The line above and all below it are left out; an empty text changes nothing.\n#\n# " +
		r.ID + " waits for you, " + r.Waits().Why + ".\n"
	for line := range strings.Lines(diag.Untrusted(r.Note).Lines()) {
		text += "#     " + strings.TrimRight(line, "\n") + "\n"
	}
	return text
}
