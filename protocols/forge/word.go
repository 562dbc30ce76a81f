package forge

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"git-ward/internal/diag"
	"git-ward/protocols/uow"
)

// RefPrefix is the prefix of the refs in which the host keeps a forge's state between two polls.
const RefPrefix = "refs/ward/forge/"

// WordRef points to a blob with the Word of the last poll, if that left something undone.
const WordRef = RefPrefix + "word"

// Principal is the pusher of branches that come from the forge; it has a member's rights.
const Principal = "forge"

// Admits reports whether a Word's blob lists this ref and commit as refused. A PM may admit exactly
// that commit.
func Admits(word []byte, ref, commit string) bool {
	var w Word
	return json.Unmarshal(word, &w) == nil && slices.ContainsFunc(w.Stopped, func(s Stopping) bool { return s.Ref == ref && s.Commit == commit })
}

// Word is what the last poll of the forge left undone, and why.
type Word struct {
	Since    time.Time  `json:"since,omitzero"` // when a poll first left something undone
	Until    time.Time  `json:"until,omitzero"` // the forge asked for no calls before this time
	Troubles []Trouble  `json:"troubles,omitempty"`
	Stopped  []Stopping `json:"stopped,omitempty"` // refs that do not follow the forge
	Beyond   []string   `json:"beyond,omitempty"`  // fingerprints of refs beyond the limit of Stopped
	Proposed []Offer    `json:"proposed,omitempty"`
}

// Offer is a proposal that nobody has approved yet.
type Offer struct {
	Issue int64          `json:"issue"`
	Title diag.Untrusted `json:"title"`
	Hash  string         `json:"hash"`
}

// Trouble is one thing that waits.
type Trouble struct {
	Of     string         `json:"of,omitempty"` // D-1, issue 7; "" for all
	Why    diag.Untrusted `json:"why"`
	Remedy diag.Untrusted `json:"remedy,omitempty"`
}

// Stopping is a ref of the forge that could not be pushed here at that commit.
type Stopping struct {
	Ref    string         `json:"ref"`
	Commit string         `json:"commit"`
	Why    diag.Untrusted `json:"why"`
	Again  bool           `json:"again,omitempty"` // it failed without being refused, so each poll tries again
}

// Wait is one item of a Word, in the form of everything that waits.
type Wait struct {
	uow.Waiting
	Key          string // identifies the item between polls
	Title, Words diag.Untrusted
}

// Stuck reports whether something went wrong. A proposal that waits for approval is not a fault.
func (w Word) Stuck() bool {
	return !w.Until.IsZero() || len(w.Troubles)+len(w.Stopped)+len(w.Beyond) > 0
}

// Waits lists the items of a Word.
func (w Word) Waits() (list []Wait) {
	add := func(c uow.Cause, of, what, key string, title, words diag.Untrusted) {
		list = append(list, Wait{c.Waiting(of, "", diag.OneLine(what)), "forge " + key, title, words})
	}
	for _, o := range w.Proposed {
		add(uow.ProposalWaits, fmt.Sprintf("issue %d", o.Issue), o.Hash, o.Hash, o.Title, "")
	}
	away := !w.Until.IsZero()
	for _, t := range w.Troubles {
		words := t.Why
		if t.Remedy != "" {
			words += "; " + t.Remedy
		}
		if away && t.Of == "" { // the reason is part of the item above
			add(uow.ForgeIsAway, "", w.Until.Format(time.RFC3339), "away", "", words)
			away = false
			continue
		}
		add(uow.NotAtForge, "", cmp.Or(t.Of, "the rest"), diag.Cut(t.Of+" "+t.Why.String(), 200), "", words)
	}
	if away {
		add(uow.ForgeIsAway, "", w.Until.Format(time.RFC3339), "away", "", "")
	}
	for _, s := range w.Stopped {
		add(uow.StaysBehind, "", diag.Untrusted(s.Ref).String(), s.Ref+" "+s.Commit, "", diag.Untrusted(fmt.Sprintf("at %s: ", diag.Short(s.Commit)))+s.Why)
	}
	if n := len(w.Beyond); n > 0 {
		add(uow.StaysBehind, "", fmt.Sprintf("a number of refs more (%d)", n), "beyond", "", "")
	}
	return list
}

// Lines describes the items for people, one line each.
func (w Word) Lines() (list []string) {
	for _, one := range w.Waits() {
		line := one.Why
		if one.Title != "" {
			line += fmt.Sprintf(" (%s): %s", diag.CutWord(one.Title.String(), 80), one.Command)
		}
		if one.Words != "" {
			line += ": " + one.Words.String()
		}
		list = append(list, line)
	}
	return list
}
