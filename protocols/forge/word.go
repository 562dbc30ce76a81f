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
	Since    time.Time  `json:"since,omitzero"` // when the first look ended so
	Until    time.Time  `json:"until,omitzero"` // where the forge wants to be left alone
	Troubles []Trouble  `json:"troubles,omitempty"`
	Stopped  []Stopping `json:"stopped,omitempty"` // refs that do not follow the forge
	Beyond   []string   `json:"beyond,omitempty"`  // marks of more of them than a word can name
	Proposed []Offer    `json:"proposed,omitempty"`
}

// Offer is a proposal that nobody approved yet.
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

// Stopping is a ref of the forge's that did not come here, at that commit.
type Stopping struct {
	Ref    string         `json:"ref"`
	Commit string         `json:"commit"`
	Why    diag.Untrusted `json:"why"`
	Again  bool           `json:"again,omitempty"` // a fault, and no answer: each look tries it
}

// Wait is one of the things that a word says, as everything shows it that waits.
type Wait struct {
	uow.Waiting
	Key          string // the same as long as it is the same thing
	Title, Words diag.Untrusted
}

// Stuck reports whether the look left something undone. That a person is to approve something is
// no fault of anything.
func (w Word) Stuck() bool {
	return !w.Until.IsZero() || len(w.Troubles)+len(w.Stopped)+len(w.Beyond) > 0
}

// Waits are the sentences of what a word says; none where all is done.
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
		if away && t.Of == "" { // why it is away
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

// Lines says it to people, one line a thing.
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
