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

// Room limits the space that a change may use in the document.
type Room struct {
	answers int    // what Reports and Questions may take together; 0 is all
	share   bool   // and each directive of that
	where   string // where all of a message lies that is cut to the share
}

// Whole allows the document's full size, for the PM.
var Whole = Room{}

// Answers is for writers who may only append. The change is ErrFull if Reports and Questions
// would exceed most, because such a push would be refused.
func Answers(most int) Room { return Room{answers: most} }

// Share is for the agent, and for the host that folds for it: where names the message, "" where
// it is nowhere else. A directive has its own share of Reports and Questions, so that the
// words of one never keep out those of another: what does not fit is cut, and says where all
// of it is; the directive's oldest reports go for it, and a question takes the place of the
// one before (COMMS-5). Only where all directives together leave no room do the oldest
// reports of those go that have most. ErrFull says that none may go.
func Share(where string) Room { return Room{share: true, where: where} }

// Amended is a changed document.
type Amended struct {
	Data    []byte            // nil where errors are among Found
	ID      int               // of the entry, R-, Q- or D-
	Removed []Range           // the reports that went for it, for PruneTrailers
	Found   []diag.Diagnostic // in a directive, at lines of its draft's Text
}

// Amend is the one function that changes the text of COMMS.md (ONE-4). The document that it
// gives is one that readers take: within MaxBytes, with every byte that the change does not
// touch as it was. After a lost race, amend the document that won. Errors: ErrFull,
// ErrUnsound, or a field of the change that is not as described.
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
