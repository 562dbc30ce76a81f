package record

import (
	"fmt"

	"git-ward/internal/diag"
	"git-ward/protocols/comms"
	"git-ward/protocols/uow"
)

// Pending is a message of a record that is not folded into COMMS.md yet.
type Pending struct {
	Unit    uow.ID
	Number  int
	Message comms.Message
	Void    bool // it cannot be read: nothing of it is folded
}

// ReadPending reads a message of a unit's record. The error says why it is void, because it
// was redacted or never judged.
func ReadPending(unit uow.ID, number int, data []byte) (Pending, error) {
	m, err := comms.ParseMessage(data)
	if err == nil && m.Directive != unit.Directive {
		err = fmt.Errorf("it is for %s", diag.Clean(m.Directive))
	}
	return Pending{unit, number, m, err != nil}, err
}

// Name is the message's name, with its unit.
func (p Pending) Name() string { return MessageName(p.Unit, p.Number) }

// Folding is COMMS.md while messages of records are folded into it. The host pushes what it
// comes to, and an agent asks it whether what it has to say will stand there.
type Folding struct {
	Data     []byte
	Document *comms.Document
	Removed  []comms.Range    // the reports that went for them, for PruneTrailers
	Waits    map[uow.ID]error // why a unit's next message, and what the unit said after it, wait
}

// NewFolding starts from a document without errors.
func NewFolding(data []byte, doc *comms.Document) *Folding {
	return &Folding{Data: data, Document: doc, Waits: map[uow.ID]error{}}
}

// Take folds one message. It is not done where the message waits: one for which there is no
// room keeps out what its own unit said after it, and nothing else. It is done without having
// entered where the document has it, or it is void.
func (f *Folding) Take(p Pending) (done, entered bool) {
	if f.Waits[p.Unit] != nil {
		return false, false
	}
	if p.Void || f.Document.Has(p.Message, p.Name()) {
		return true, false
	}
	amended, err := comms.Amend(f.Data, p.Message, comms.Share(p.Name()))
	if err != nil {
		f.Waits[p.Unit] = fmt.Errorf("%s waits: %w", p.Name(), err)
		return false, false
	}
	f.Data, f.Removed = amended.Data, append(f.Removed, amended.Removed...)
	f.Document, _ = comms.Parse(f.Data)
	return true, true
}
