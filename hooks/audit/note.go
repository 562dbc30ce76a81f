package audit

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json"

	"git-ward/protocols/state"
)

// rotated is the first line of a note that has overflowed: its records up to Through are only
// in the chain.
type rotated struct {
	Older   string `json:"older"` // state.AuditRef
	Through int64  `json:"through"`
}

func (r rotated) line() string {
	data, err := json.Marshal(r)
	if err != nil {
		panic(err) // a string and a number
	}
	return string(data)
}

// parseRotated reads a note's first line if it is a rotated one.
func parseRotated(line string) (r rotated, ok bool) {
	if !strings.HasPrefix(line, `{"older":`) {
		return r, false
	}
	err := json.Unmarshal([]byte(line), &r, json.RejectUnknownMembers(true))
	return r, err == nil && r.Older == state.AuditRef && r.Through >= 0
}

// NoteText is a note of the audit: its lines, and the position of the newest record dropped
// for lack of room, 0 for none.
type NoteText struct {
	Lines   []string
	Through int64
}

// ParseNote reads a note of the audit.
func ParseNote(text []byte) (n NoteText) {
	for raw := range bytes.Lines(text) {
		line := string(bytes.TrimSuffix(raw, []byte("\n")))
		if r, ok := parseRotated(line); ok {
			n.Through = max(n.Through, r.Through)
		} else if line != "" {
			n.Lines = append(n.Lines, line)
		}
	}
	return n
}

// NoteLines returns a record's line in the note of each of its tips: the whole record, or, if
// that is too long for a note, its part about the object.
func (r *Record) NoteLines() (map[string]string, error) {
	whole, err := r.Marshal()
	if err != nil {
		return nil, err
	}
	lines := map[string]string{}
	byObject := map[string][]Ref{}
	if len(whole) > maxNoteLine {
		for _, ref := range r.Refs {
			byObject[ref.New] = append(byObject[ref.New], ref)
		}
	}
	for _, object := range r.Tips() {
		line := whole
		if len(whole) > maxNoteLine {
			if line, err = r.excerpt(byObject[object]).Marshal(); err != nil {
				return nil, err
			}
		}
		lines[object] = string(line)
	}
	return lines, nil
}

// excerpt is a record shortened for a note: its first refs and rules, and how many more the
// chain has.
func (r *Record) excerpt(refs []Ref) *Record {
	e := *r
	e.Refs, e.Rules, e.Allowed, e.Would, e.Retired, e.Aside = nil, r.Rules[:min(10, len(r.Rules))], nil, nil, "", nil
	size := 0
	for _, ref := range refs {
		if size += SizeOf(ref.Ref); size > maxNoteLine/2 {
			break
		}
		e.Refs = append(e.Refs, ref)
	}
	e.Omitted = &Omitted{Refs: len(r.Refs) - len(e.Refs), Rules: len(r.Rules) - len(e.Rules), Allowed: len(r.Allowed), Would: len(r.Would)}
	return &e
}

// recordID is the position in a note's line; 0 if the line is no record.
func recordID(line string) int64 {
	var r struct {
		ID int64 `json:"id"`
	}
	if json.Unmarshal([]byte(line), &r) != nil {
		return 0
	}
	return r.ID
}
