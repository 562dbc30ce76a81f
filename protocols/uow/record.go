package uow

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"git-ward/internal/diag"
)

// The bounds of a record.
const (
	MaxRecord = 64 << 10 // bytes of uow.json
	MaxNote   = 16 << 10 // bytes of a note
	maxCount  = 1 << 40  // any counter; far below the 2^53 of RFC 8785
)

// Record is uow.json: one step of a unit (UOW-2).
type Record struct {
	ID            string   `json:"id"`              // "D-1.2"
	Directive     string   `json:"directive"`       // "D-1"
	DirectiveHash string   `json:"directive_hash"`  // comms.Directive.Hash
	Parent        string   `json:"parent"`          // the unit that this one follows, "" for a first one
	Layout        int64    `json:"layout,omitzero"` // where the unit's evidence is: Layout
	State         State    `json:"state"`
	Event         Event    `json:"event"` // what led here
	Time          string   `json:"time"`  // RFC 3339, UTC, whole seconds; for people, decides nothing
	Actor         Actor    `json:"actor"`
	ReasonCode    Reason   `json:"reason_code"`
	Note          string   `json:"note"` // words: a clarification, a cause
	Policy        Policy   `json:"policy"`
	Iteration     int64    `json:"iteration"` // iterations begun in this unit
	Budget        Budget   `json:"budget"`
	Interactions  int64    `json:"interactions"` // since the unit began or was clarified
	Calls         int64    `json:"calls"`        // interactions since the last progress: a state, an iteration, a claim
	Pulse         int64    `json:"pulse"`        // interactions since the PM's last sign
	Retries       int64    `json:"retries"`
	Claim         *Claim   `json:"claim"`             // the last one, or null
	Expired       *Expired `json:"expired,omitempty"` // what was dropped of the unit; nil while its record is there
	PrevHash      string   `json:"prev_hash"`
	Hash          string   `json:"hash"`
}

// Asks reports whether a record asks for the host's verdict on its claim. It makes the claim, or it
// resumes a unit whose verdict waited for a program or the PM's decision. In the second case the same
// commit is judged again, by the directive that the record names.
func (r *Record) Asks(prev *Record) bool {
	if r.Event == MakeClaim {
		return true
	}
	return prev != nil && (prev.ReasonCode == NoTool || prev.ReasonCode == NotIncluded) && prev.State != Active && r.State == Active &&
		r.Claim != nil && r.Claim.Iteration == r.Iteration
}

// Claim says that a commit meets its directive. The verifier judges it.
type Claim struct {
	Commit    string `json:"commit"`           // object id
	Record    string `json:"record,omitempty"` // object id of the commit of the unit's record that goes with Commit (REC-4)
	Iteration int64  `json:"iteration"`        // the iteration that ends with it, from 1
}

// Expired says that the PM dropped the unit's record, and which one it was (REC-5).
type Expired struct {
	Record string `json:"record"` // object id of the record's last commit
	// Manifest is the SHA-256 of the last manifest of its evidence, "" for none. The manifest has
	// the hashes of all evidence, so that a copy can still be verified.
	Manifest string `json:"manifest,omitempty"`
}

// Budget is the ledger: the totals of the directive's present text, and what all its units have spent.
type Budget struct {
	Total Counts `json:"total"`
	Spent Counts `json:"spent"`
}

// Counts are the quantities that the journal counts, so that the host can enforce their limits (LOOP-4).
type Counts struct {
	Iterations int64 `json:"iterations"`
	Claims     int64 `json:"claims"`
	Pushes     int64 `json:"pushes"` // records of the agent
}

// Layout is the value for units whose evidence is on refs/ward/record (REC-2).
const Layout int64 = 2

// ErrHash means that a record's hash is not the hash of its content.
var ErrHash = errors.New("the record's hash is not that of its content")

// Seal computes the record's hash: SHA-256 over its canonical JSON without
// "hash" (RFC 8785), lower-case hex.
func (r *Record) Seal() error {
	_, sum, err := r.canonical()
	r.Hash = sum
	return err
}

// canonical is the record as in uow.json, and the hash that it should have.
func (r *Record) canonical() (data []byte, sum string, err error) {
	if data, err = r.Marshal(); err != nil {
		return nil, "", err
	}
	content, err := withoutHash(data)
	if err != nil {
		return nil, "", err
	}
	of := sha256.Sum256(content)
	return data, hex.EncodeToString(of[:]), nil
}

// withoutHash is an object in canonical JSON without its member "hash", which leaves it canonical.
func withoutHash(data []byte) ([]byte, error) {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	if _, err := d.ReadToken(); err != nil { // the brace
		return nil, err
	}
	for first := true; d.PeekKind() == '"'; first = false {
		begin := d.InputOffset() // a comma follows, but for the first
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		is := name.String() == "hash"
		if err := d.SkipValue(); err != nil {
			return nil, err
		}
		if is {
			rest := data[d.InputOffset():]
			if first {
				rest = bytes.TrimPrefix(rest, []byte(","))
			}
			return slices.Concat(data[:begin], rest), nil
		}
	}
	return data, nil
}

// Marshal returns the record as in uow.json: canonical JSON, no newline.
func (r *Record) Marshal() ([]byte, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	value := jsontext.Value(data)
	return value, value.Canonicalize()
}

// ParseRecord parses uow.json. It is an error if the data is not the canonical form of a well-formed
// record. If only the record's own hash is wrong, it returns the record with ErrHash.
func ParseRecord(data []byte) (*Record, error) {
	if len(data) > MaxRecord {
		return nil, fmt.Errorf("the record has %d bytes, more than %d", len(data), MaxRecord)
	}
	r := new(Record)
	if err := json.Unmarshal(data, r, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("not a record: %w", err)
	}
	again, sum, err := r.canonical()
	if err != nil {
		return nil, err
	}
	if sum != r.Hash {
		return r, ErrHash
	}
	if string(again) != string(data) {
		return nil, errors.New("not in canonical form (RFC 8785), or without a member")
	}
	return r, r.check()
}

const timeLayout = "2006-01-02T15:04:05Z"

// FormatTime is the form of a record's time.
func FormatTime(t time.Time) string { return t.UTC().Format(timeLayout) }

// check validates the members that Advance copies unchanged.
func (r *Record) check() error {
	id, err := ParseID(r.ID)
	if err != nil {
		return err
	}
	if r.Directive != id.Directive {
		return fmt.Errorf("unit %s is not of directive %.40q", r.ID, r.Directive)
	}
	if !slices.Contains(States(), r.State) {
		return fmt.Errorf("%.40q is not a state", r.State)
	}
	if t, err := time.Parse(timeLayout, r.Time); err != nil || FormatTime(t) != r.Time {
		return fmt.Errorf("the time %.40q is not of the form %s", r.Time, timeLayout)
	}
	if err := checkNote(r.Note); err != nil {
		return err
	}
	for _, n := range []int64{r.Iteration, r.Interactions, r.Calls, r.Pulse, r.Retries,
		r.Budget.Total.Iterations, r.Budget.Total.Claims, r.Budget.Total.Pushes,
		r.Budget.Spent.Iterations, r.Budget.Spent.Claims, r.Budget.Spent.Pushes} {
		if n < 0 || n > maxCount {
			return fmt.Errorf("%d is not a count", n)
		}
	}
	if !isHex(r.DirectiveHash, 64) {
		return fmt.Errorf("%.80q is not a directive's hash", r.DirectiveHash)
	}
	if r.Claim != nil && !isHex(r.Claim.Commit, 40) {
		return fmt.Errorf("the claim's commit %.80q is not an object id", r.Claim.Commit)
	}
	if r.Claim != nil && r.Claim.Record != "" && !isHex(r.Claim.Record, 40) {
		return fmt.Errorf("the claim's record %.80q is not an object id", r.Claim.Record)
	}
	if e := r.Expired; e != nil && (!isHex(e.Record, 40) || e.Manifest != "" && !isHex(e.Manifest, 64)) {
		return fmt.Errorf("what expired is not an object id and a manifest's hash: %.40q, %.64q", e.Record, e.Manifest)
	}
	if r.Layout != Layout {
		return fmt.Errorf("the record has layout %d, and this version of Ward reads layout %d", r.Layout, Layout)
	}
	return r.Policy.check()
}

func checkNote(note string) error {
	switch {
	case len(note) > MaxNote:
		return fmt.Errorf("the note has %d bytes, more than %d", len(note), MaxNote)
	case !utf8.ValidString(note):
		return errors.New("the note is not UTF-8")
	}
	for line := range strings.SplitSeq(note, "\n") {
		if diag.Clean(line) != line {
			return errors.New("the note holds control or invisible characters")
		}
	}
	return nil
}

func isHex(s string, n int) bool { return len(s) == n && strings.Trim(s, "0123456789abcdef") == "" }

// Subject is the first line of the record's commit: what `git log` shows of a
// journal.
func Subject(r *Record) string {
	s := fmt.Sprintf("%s %s: %s (%s, %s)", r.ID, r.Event, r.State, r.Actor, r.ReasonCode)
	if r.Event == Iterate || r.Event == MakeClaim {
		s += fmt.Sprintf(", iteration %d", r.Iteration)
	}
	return s
}
