package verifier

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Order is a claim for another machine, with the limits of its commands there.
type Order struct {
	Commit   string         `json:"commit"`
	Main     string         `json:"main"`
	Base     string         `json:"base"`
	Commands []Command      `json:"commands"`
	Frozen   []string       `json:"frozen"`
	Pinned   []string       `json:"pinned"`
	Work     []string       `json:"work"`
	Included []Entry        `json:"included"`
	Replays  int            `json:"replays"`
	Bounds   Bounds         `json:"bounds"`
	Limits   Limits         `json:"limits"`
	Against  *time.Duration `json:"against_ns"` // of mutants; nil: plain runs will do
	Controls []string       `json:"controls"`
	Breaks   string         `json:"breaks"`
	Held     []File         `json:"held"`
	Image    string         `json:"image"`
	// Word is a secret of the two machines. No command knows it.
	Word string `json:"word"`
}

// NewOrder makes an order of a claim. It leaves out Progress, a second image and Alone: a pod
// runs one command at a time.
func NewOrder(c *Claim, l Limits, image, word string) Order {
	o := Order{Commit: c.Commit, Main: c.Main, Base: c.Base, Commands: c.Commands, Frozen: c.Frozen, Pinned: c.Pinned,
		Work: c.Work, Included: c.Included, Replays: c.Replays, Controls: c.Controls, Breaks: c.Breaks, Held: c.Held, Bounds: c.Bounds, Limits: l, Image: image, Word: word}
	if c.Against != nil {
		o.Against = &c.Against.Time
	}
	return o
}

// Claim returns the order's claim.
func (o *Order) Claim() Claim {
	c := Claim{Commit: o.Commit, Main: o.Main, Base: o.Base, Commands: o.Commands, Frozen: o.Frozen, Pinned: o.Pinned,
		Work: o.Work, Included: o.Included, Replays: o.Replays, Controls: o.Controls, Breaks: o.Breaks, Held: o.Held, Bounds: o.Bounds}
	if o.Against != nil {
		c.Against = &Against{Time: *o.Against}
	}
	return c
}

// Answer is the result of an order: facts, or why there are none.
type Answer struct {
	Word    string `json:"word"`
	Facts   *Facts `json:"facts,omitempty"`
	Ends    []end  `json:"ends,omitempty"`    // of Facts' outcomes, in their order
	Unfit   string `json:"unfit,omitempty"`   // the commit cannot be judged
	Trouble string `json:"trouble,omitempty"` // it could not be done
}

// end has what a verdict's maker needs of an outcome and the verdict does not keep.
type end struct {
	Time     time.Duration `json:"ns"`
	LastLine string        `json:"last_line"`
}

// maxAnswer bounds an answer, in bytes, most of them of output.
const maxAnswer = 64 << 20

// NewAnswer makes the answer to an order.
func NewAnswer(word string, f *Facts, err error) Answer {
	var unfit *Unfit
	switch {
	case errors.As(err, &unfit):
		return Answer{Word: word, Unfit: unfit.Why}
	case err != nil:
		return Answer{Word: word, Trouble: err.Error()}
	}
	a := Answer{Word: word, Facts: f}
	for _, o := range f.outcomes() {
		a.Ends = append(a.Ends, end{o.Time, o.LastLine})
	}
	return a
}

// Write writes an answer.
func (a *Answer) Write(w io.Writer) error { return json.NewEncoder(w).Encode(a) }

// ErrWord means that the answer lacks the order's word, so that it came from somebody else.
var ErrWord = errors.New("somebody answers who does not know the order's word")

// ReadAnswer reads an answer from another machine. It trusts that machine no more than the commands that
// ran there: it bounds the answer, and requires the order's word.
func ReadAnswer(r io.Reader, word string) (*Facts, error) {
	var a Answer
	if err := json.NewDecoder(io.LimitReader(r, maxAnswer)).Decode(&a); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrWord, err)
	}
	switch {
	case a.Word != word:
		return nil, ErrWord
	case a.Unfit != "":
		return nil, &Unfit{a.Unfit}
	case a.Trouble != "":
		return nil, errors.New(a.Trouble)
	case a.Facts == nil:
		return nil, errors.New("a verifier answers nothing")
	}
	all := a.Facts.outcomes()
	if len(all) != len(a.Ends) {
		return nil, errors.New("a verifier's answer is half of one")
	}
	for i, o := range all {
		o.Time, o.LastLine = a.Ends[i].Time, a.Ends[i].LastLine
	}
	return a.Facts, nil
}

// outcomes lists the outcomes of all runs, always in the same order.
func (f *Facts) outcomes() (all []*Outcome) {
	add := func(runs []Run) {
		for i := range runs {
			all = append(all, &runs[i].Outcome)
		}
	}
	for _, runs := range f.Replays {
		add(runs)
	}
	add(f.With)
	for i := range f.Against {
		add(f.Against[i].Runs)
	}
	return all
}
