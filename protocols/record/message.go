package record

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"git-ward/internal/diag"
	"git-ward/protocols/jsondoc"
	"git-ward/protocols/uow"
)

// Messages is the directory of what a unit says in COMMS.md: comms/0001.json and on, each
// a comms.Message, without a hole, and none of them ever changes (MANY-2). The host folds
// them into the document in that order.
const Messages = "comms"

// MaxMessages is how many messages a unit may leave.
const MaxMessages = 9999

// MessagePath is the path of a message by its number, from 1.
func MessagePath(number int) string { return fmt.Sprintf("%s/%04d.json", Messages, number) }

// MessageName names a message, with its unit.
func MessageName(id uow.ID, number int) string { return MessagePath(number) + " of " + Ref(id) }

// ParseMessagePath reads a message's path; 0 where it is none.
func ParseMessagePath(p string) int {
	digits := strings.TrimSuffix(strings.TrimPrefix(p, Messages+"/"), ".json")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || n > MaxMessages || MessagePath(n) != p {
		return 0
	}
	return n
}

// The agent's name in commits. It says nothing about rights (ID-1).
const (
	AgentName  = "Ward Agent"
	AgentMail  = "agent@ward"
	AgentIdent = AgentName + " <" + AgentMail + ">"
)

// FoldName is the name, among the agent's, under which the host pushes what it folds. Nobody
// else goes by it.
const FoldName = "ward-fold"

// FoldedPrefix is where the host notes how many of a unit's messages are in COMMS.md:
// refs/ward/folded/D-1.2 is a blob, the JSON of Folded. It is no commit of the record's, so
// that it neither keeps what was redacted nor stands in the way of an expiry.
const FoldedPrefix = "refs/ward/folded/"

// Folded says how many of a unit's messages the host has folded.
type Folded struct {
	Version int    `json:"version"`
	Unit    string `json:"unit"`
	Folded  int    `json:"folded"` // the first so many messages
}

// maxFolded bounds the blob, in bytes.
const maxFolded = 256

// FoldedRef is the ref of a unit's mark.
func FoldedRef(id uow.ID) string { return FoldedPrefix + id.String() }

// ParseFoldedRef reads such a ref.
func ParseFoldedRef(ref string) (uow.ID, error) {
	name, ok := strings.CutPrefix(ref, FoldedPrefix)
	if !ok {
		return uow.ID{}, fmt.Errorf("%.80q is not below %s", ref, FoldedPrefix)
	}
	return uow.ParseID(name)
}

// FormatFolded writes a unit's mark: one line of JSON.
func FormatFolded(id uow.ID, folded int) []byte {
	data, _ := json.Marshal(Folded{1, id.String(), folded}) // such a value has no fault
	return append(data, '\n')
}

// ParseFolded reads how many messages of a unit are folded. The error says what is wrong and
// what to do.
func ParseFolded(id uow.ID, data []byte) (int, error) {
	var f Folded
	err := errors.New("it is not as Ward writes it")
	if len(data) <= maxFolded {
		if fault, ok := jsondoc.Decode(data, &f, "folded", 1); !ok {
			err = errors.New(diag.Clean(fault.Message))
		} else if f.Folded >= 0 && f.Folded <= MaxMessages && bytes.Equal(data, FormatFolded(id, f.Folded)) {
			return f.Folded, nil
		}
	}
	return 0, diag.Hint(fmt.Errorf("%s cannot be read: %w", FoldedRef(id), err),
		"delete it on the host: git update-ref --no-deref -d %s; what COMMS.md has already is not folded again", FoldedRef(id))
}
