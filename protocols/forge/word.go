package forge

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"git-ward/internal/diag"
)

// RefPrefix is where all is that the host knows of a forge from one look to the next.
const RefPrefix = "refs/ward/forge/"

// WordRef has a blob with the Word of the last look, where it has something to say.
const WordRef = RefPrefix + "word"

// Principal is the name by which the forge's branches enter, with a member's rights.
const Principal = "forge"

// Admits reports whether a word, as its blob has it, names a commit that a ref of the forge's is at
// and that did not come here: a PM may let exactly that one in.
func Admits(word []byte, ref, commit string) bool {
	var w Word
	return json.Unmarshal(word, &w) == nil && slices.ContainsFunc(w.Stopped, func(s Stopping) bool { return s.Ref == ref && s.Commit == commit })
}

// Word is what a look at the forge left undone, and why.
type Word struct {
	Until    time.Time  `json:"until,omitzero"` // where the forge wants to be left alone
	Troubles []Trouble  `json:"troubles,omitempty"`
	Stopped  []Stopping `json:"stopped,omitempty"` // refs that do not follow the forge
}

// Trouble is one thing that waits.
type Trouble struct {
	Of     string         `json:"of,omitempty"` // D-1, issue 7; "" for all
	Why    diag.Untrusted `json:"why"`
	Remedy diag.Untrusted `json:"remedy,omitempty"`
}

// Stopping is a ref of the forge's that did not come here, at that commit.
type Stopping struct {
	Ref    string         `json:"ref"`
	Commit string         `json:"commit"`
	Why    diag.Untrusted `json:"why"`
	Again  bool           `json:"again,omitempty"` // a fault, and no answer: each look tries it
}

// Lines says it to people, one line a thing; none where all is done.
func (w Word) Lines() (list []string) {
	if !w.Until.IsZero() {
		list = append(list, "the forge is asked again at "+w.Until.Format(time.RFC3339))
	}
	for _, s := range w.Stopped {
		list = append(list, fmt.Sprintf("%s stays behind the forge, which has it at %s: %s", diag.Untrusted(s.Ref), diag.Short(s.Commit), s.Why))
	}
	for _, t := range w.Troubles {
		line := t.Why.String()
		if t.Of != "" {
			line = t.Of + ": " + line
		}
		if t.Remedy != "" {
			line += "; " + t.Remedy.String()
		}
		list = append(list, line)
	}
	return list
}
