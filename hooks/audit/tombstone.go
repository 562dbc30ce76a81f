package audit

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"git-ward/internal/git"
)

// MaxTombstone bounds a tombstone, in bytes: some 180,000 rewritten commits.
const MaxTombstone = 16 << 20

// Tombstone is what is left of what the PM redacted (REC-5): which files went, what
// stands in their place, and which commits were made anew without them. It stands beside
// the record of the moves. Journals, verdicts and evidence go on naming the commits of
// before; Commits leads from those to the ones of now.
type Tombstone struct {
	Why     string     `json:"why"` // the PM's words
	Objects []Redacted `json:"objects"`
	// Commits maps each rewritten commit to its new id.
	Commits map[string]string `json:"commits"`
}

// Redacted is one file's content that is gone.
type Redacted struct {
	Blob  string `json:"blob"`  // its object id
	Path  string `json:"path"`  // one of its former paths
	Stone string `json:"stone"` // object id of its replacement
}

// Marshal is a tombstone as it is stored: canonical JSON.
func (t *Tombstone) Marshal() ([]byte, error) {
	data, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	value := jsontext.Value(data)
	if err := value.Canonicalize(); err != nil {
		return nil, err
	}
	if len(value) > MaxTombstone {
		return nil, fmt.Errorf("%d commits would be made anew, more than one tombstone can name", len(t.Commits))
	}
	return value, nil
}

// ReadTombstone reads a tombstone by its blob's id.
func ReadTombstone(batch *git.Batch, id string) (*Tombstone, error) {
	_, data, err := batch.Read(id, MaxTombstone)
	if err != nil {
		return nil, err
	}
	t := new(Tombstone)
	if err := json.Unmarshal(data, t, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	for _, o := range t.Objects {
		if !git.IsID(o.Blob) || !git.IsID(o.Stone) {
			return nil, fmt.Errorf("%.80q is not an object id", o.Blob)
		}
	}
	for old, now := range t.Commits {
		if !git.IsID(old) || !git.IsID(now) {
			return nil, fmt.Errorf("%.80q is not an object id", old)
		}
	}
	return t, nil
}
