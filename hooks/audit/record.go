// Package audit keeps the record of every push: a chain of commits on
// refs/ward/audit, one a push, and the same records as notes on the new tips
// (AUD-1). Only the host writes it; a record is never changed.
package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"git-ward/hooks/push"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/lease"
)

// The files of each commit in the chain.
const (
	recordFile = "record.json"
	configFile = "config.toml"
	// certificateFile is a signed push's certificate, as sent.
	certificateFile = "push-certificate"
	// tombstoneFile says what the PM redacted with this record.
	tombstoneFile = "redacted.json"
)

// Verdict is how a push ended.
type Verdict string

// The verdicts. A push that was admitted by the checks but moved no ref, because
// others were faster, is lost.
const (
	Accepted Verdict = "accepted"
	Refused  Verdict = "refused"
	Lost     Verdict = "lost"
)

// Ref is one ref of a push. Applied says that it moved.
type Ref struct {
	push.Update
	Applied bool `json:"applied"`
	// Size is the uncompressed size of a unit's record: the next push adds to it.
	Size int64 `json:"size,omitzero"`
}

// Record is the audit's record of a push. It has rule ids and places, never content, so that
// no secret can enter it.
type Record struct {
	// Format is the record's format version, omitted for the first: see recordFormat.
	Format     int         `json:"format,omitzero"`
	ID         int64       `json:"id"` // position in the chain, from 1
	Time       time.Time   `json:"time"`
	Principal  string      `json:"principal"`      // pm, agent, or unknown when it was not proved
	Name       string      `json:"name,omitempty"` // who pushed, as the transport proves it
	User       string      `json:"user"`           // the hook's user id
	Push       string      `json:"push"`           // push id
	Refs       []Ref       `json:"refs"`
	Verdict    Verdict     `json:"verdict"`
	Rules      []string    `json:"rules"`             // rule ids of all findings, sorted
	Allowed    []string    `json:"allowed,omitempty"` // RULE:PATH that the PM let pass
	Would      []string    `json:"would,omitempty"`   // RULE:PATH that [hooks] mode = "observe" let pass, RULE where it is of no path
	Counts     push.Counts `json:"counts"`
	DurationMS int64       `json:"duration_ms"`
	// Repeats is how many identical refusals followed the previous record and were not
	// recorded individually.
	Repeats int `json:"repeats,omitzero"`
	// Beyond is how many refusals, by pusher, followed the previous record and were only
	// counted because the pusher had used up its recorded ones of the hour.
	Beyond map[string]int `json:"beyond,omitempty"`
	// Reconciled says that the push's own post-receive died, so that a later one wrote this
	// from the reflog.
	Reconciled bool `json:"reconciled,omitzero"`
	// Retired are ranges of directive ids that were used and are gone.
	Retired string `json:"retired,omitempty"`
	// Config is the SHA-256 of the settings that judged the push; config.toml is in the tree
	// of the newest record up to this one that has it.
	Config string `json:"config,omitempty"`
	// Omitted says what was left out because it was too large.
	Omitted *Omitted `json:"omitted,omitempty"`
	// Aside are the chain positions of unreadable records; git ward fsck --repair sets them
	// aside with a record that has their moves.
	Aside []int64 `json:"aside,omitempty"`
}

// Omitted is how much a record leaves out: so many refs (the SHA-256 is of their
// lines "old SP new SP ref LF", in the order of the push, and of the hash of those
// that were not even kept in memory), findings let pass, and rules.
type Omitted struct {
	Refs    int    `json:"refs,omitzero"`
	SHA256  string `json:"sha256,omitempty"`
	Allowed int    `json:"allowed,omitzero"`
	Would   int    `json:"would,omitzero"`
	Rules   int    `json:"rules,omitzero"`
}

// Killed is the rule for a push whose hook was killed before its verdict: by a limit, by the
// machine, or by hand.
const Killed = "trouble/killed"

// fit cuts a record's lists to their limits, and says so. Refs are cut when they are read,
// before the push is judged: a push with too many is refused.
func (r *Record) fit() {
	rules, allowed, would := max(0, len(r.Rules)-maxListed), max(0, len(r.Allowed)-maxListed), max(0, len(r.Would)-maxListed)
	if rules+allowed+would > 0 {
		if r.Omitted == nil {
			r.Omitted = &Omitted{}
		}
		r.Omitted.Rules += rules
		r.Omitted.Allowed += allowed
		r.Omitted.Would += would
		r.Rules, r.Allowed, r.Would = r.Rules[:len(r.Rules)-rules], r.Allowed[:len(r.Allowed)-allowed], r.Would[:len(r.Would)-would]
	}
	for _, list := range [][]string{r.Rules, r.Allowed, r.Would} {
		for i, s := range list {
			list[i] = short(s, maxWord)
		}
	}
	r.Name, r.User = short(r.Name, 200), short(r.User, 200)
}

// cut limits a refused push's record to maxRefused refs, or fewer for agents, which can invent
// any number of names.
func (r *Record) cut() {
	most := maxRefused
	if r.pusher() != "" {
		most = maxRefusedAgent
	}
	if r.Verdict == Accepted || len(r.Refs) <= most {
		return
	}
	sum := sha256.New()
	for _, ref := range r.Refs[most:] {
		fmt.Fprintf(sum, "%s %s %s\n", ref.Old, ref.New, ref.Ref)
	}
	omitted := Omitted{Refs: len(r.Refs) - most}
	if o := r.Omitted; o != nil {
		fmt.Fprintf(sum, "%s\n", o.SHA256)
		omitted.Refs, omitted.Allowed, omitted.Would, omitted.Rules = omitted.Refs+o.Refs, o.Allowed, o.Would, o.Rules
	}
	omitted.SHA256 = hex.EncodeToString(sum.Sum(nil))
	r.Omitted, r.Refs = &omitted, slices.Clone(r.Refs[:most])
}

// short is valid text of at most so many bytes.
func short(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most-3], "") + "..."
	}
	return s
}

// Marshal returns the canonical JSON of a record (RFC 8785), on one line.
func (r *Record) Marshal() ([]byte, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	value := jsontext.Value(data)
	err = value.Canonicalize()
	return value, err
}

// ParseRecord reads a record, strictly. One of a newer Ward is a *NewerRecord.
func ParseRecord(data []byte) (*Record, error) {
	if err := newer(data); err != nil {
		return nil, err
	}
	r := new(Record)
	if err := json.Unmarshal(data, r, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("%w: %w", errRecord, err)
	}
	return r, nil
}

// Tips are the new values of refs that an accepted push set.
func (r *Record) Tips() []string {
	var tips []string
	seen := map[string]bool{git.Zero: true}
	for _, ref := range r.Refs {
		if ref.Applied && !seen[ref.New] {
			seen[ref.New] = true
			tips = append(tips, ref.New)
		}
	}
	return tips
}

// Worker is the directive by whose lease the agent pushed (MANY-2), "" for none.
func (r *Record) Worker() string {
	directive, _, ok := lease.ParseName(r.Name)
	if !ok || r.Principal != string(push.Agent) {
		return ""
	}
	return directive
}

// subject is the first line of the record's commit.
func (r *Record) subject() string {
	names := make([]string, 0, len(r.Refs))
	for _, ref := range r.Refs[:min(3, len(r.Refs))] {
		names = append(names, strings.TrimPrefix(strings.TrimPrefix(ref.Ref, "refs/"), "heads/"))
	}
	if len(r.Refs) > 3 {
		names = append(names, fmt.Sprintf("and %d more", len(r.Refs)-3))
	}
	return diag.Clean(fmt.Sprintf("push %d %s: %s %s", r.ID, r.Verdict, r.Principal, strings.Join(names, ", ")))
}

// sameRefusal reports whether two refusals say the same about the same push.
func (r *Record) sameRefusal(o *Record) bool {
	if r.Verdict != Refused || o.Verdict != Refused || r.Principal != o.Principal ||
		len(r.Refs) != len(o.Refs) || strings.Join(r.Rules, " ") != strings.Join(o.Rules, " ") {
		return false
	}
	for i := range r.Refs {
		if r.Refs[i] != o.Refs[i] {
			return false
		}
	}
	return r.Name == o.Name && r.hash() == o.hash()
}

// hash is of the refs that the record leaves out.
func (r *Record) hash() string {
	if r.Omitted == nil {
		return ""
	}
	return r.Omitted.SHA256
}
