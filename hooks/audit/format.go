package audit

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"git-ward/internal/diag"
)

// recordFormat is the version of the record format. Whoever adds a member, another file next
// to a record, or another meaning, increments and writes it: an older Ward must not take
// unknown content for damage and skip it or set it aside.
//
// 1: the first; records omit it. 2: Record.Beyond; records without it are as before.
const recordFormat = 2

// NewerRecord is the error for a record that a newer version of Ward wrote.
type NewerRecord struct{ Format int }

func (e *NewerRecord) Error() string {
	return fmt.Sprintf("the record is of a newer Ward (format %d; this one reads up to %d)", e.Format, recordFormat)
}

// newer is a *NewerRecord with its remedy if data is a newer record; else nil.
func newer(data []byte) error {
	var said struct {
		Format int `json:"format"`
	}
	if json.Unmarshal(data, &said) != nil || said.Format <= recordFormat {
		return nil
	}
	return diag.Hint(&NewerRecord{said.Format}, "go on with the Ward that wrote it: its `git ward init --update --bare DIR` brings the hooks to it")
}
