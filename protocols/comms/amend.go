package comms

import (
	"errors"

	"git-ward/internal/diag"
)

// Empty is a document with all sections and no entries, so that people who edit it by hand
// find every section.
const Empty = "# COMMS\n\n## Directives\n\n## Reports\n\n## Questions\n"

// Change is one change of COMMS.md: a NewReport, a NewQuestion, a Message, an Addition or an
// Edit.
type Change interface {
	amend(data []byte, room Room) (Amended, error)
}

// Room limits the size of the document after a change.
type Room struct {
	answers int    // bytes of Reports and Questions together; 0 for no limit
	share   bool   // each directive has a share of that
	where   string // where the full text is of a message that is cut to the share
}

// Whole allows the document's full size. It is for the PM.
var Whole = Room{}

// Answers is for writers who may only append. The change is ErrFull if Reports and Questions
// would exceed most, because such a push would be refused.
func Answers(most int) Room { return Room{answers: most} }

// Share is for the agent, and for the host, which folds the agent's messages. Each directive has a share
// of Reports and Questions, so that no directive's text keeps out another's (COMMS-5). A text that does
// not fit is cut, with a line that says where all of it is; where is that place, "" for none. The
// directive's oldest reports are removed to make room, and a new question replaces the one before. Only
// if all directives together leave no room are the oldest reports of the largest share removed. The
// error is ErrFull if no report may be removed.
func Share(where string) Room { return Room{share: true, where: where} }

// Amended is a changed document.
type Amended struct {
	Data    []byte            // nil if Found has errors
	ID      int               // of the new entry, R-, Q- or D-
	Removed []Range           // the reports that were removed to make room, for PruneTrailers
	Found   []diag.Diagnostic // findings in a directive, at lines of its draft's Text
}

// Amend is the only function that changes the text of COMMS.md (ONE-4). The result has at most MaxBytes,
// and every byte outside the change stays as it was. After a lost race, amend the document that won.
// Errors: ErrFull, ErrUnsound, or an invalid field of the change.
func Amend(data []byte, change Change, room Room) (Amended, error) {
	a, err := change.amend(data, room)
	if err == nil && len(a.Data) > MaxBytes {
		err = ErrFull
	}
	if err != nil {
		a = Amended{ID: a.ID}
	} else if room.answers > 0 {
		err = fitAnswers(a.Data, room.answers)
	}
	if errors.Is(err, ErrFull) {
		err = diag.Hint(err, Shorten)
	}
	return a, err
}

func (r NewReport) amend(data []byte, room Room) (a Amended, err error) {
	if room.share {
		return r.fold(data, room.where)
	}
	a.Data, a.ID, err = r.append(data, space{MaxReportBytes, cutMarker})
	return a, err
}

func (q NewQuestion) amend(data []byte, room Room) (a Amended, err error) {
	if room.share {
		return q.fold(data, room.where)
	}
	a.Data, a.ID, err = q.append(data, space{MaxQuestionBytes, cutMarker})
	return a, err
}

func (m Message) amend(data []byte, room Room) (Amended, error) {
	if m.Kind == KindQuestion {
		return NewQuestion{m.When(), m.Directive, m.Text}.amend(data, room)
	}
	return NewReport{Time: m.When(), Directive: m.Directive, Status: m.Status, Text: m.Text, DirectiveHash: m.Hash}.amend(data, room)
}
