package view

import (
	"context"
	"strconv"
	"strings"
	"time"

	"git-ward/internal/git"
	"git-ward/protocols/loop"
	"git-ward/protocols/state"
)

// notes are the host's verdicts in short, by unit: what curves are drawn of. A note that
// was read once is not read again.
type notes struct {
	tip    string             // of loop.VerdictsRef, as they were read
	blobs  map[string][]short // by the note's blob and the object that it is on
	byUnit map[string][]short // in no order
}

// short is a verdict, of which a list needs no more.
type short struct {
	unit      string
	iteration int
	residual  loop.Residual
	verdict   string
	time      time.Time
}

// refresh reads the notes that are new.
func (n *notes) refresh(ctx context.Context, repo *git.Repo, r *git.Reader) error {
	tip, err := r.Tip(loop.VerdictsRef)
	if err != nil || tip == n.tip {
		return err
	}
	now := notes{tip, map[string][]short{}, map[string][]short{}}
	if tip != "" {
		for line, err := range repo.Records(ctx, "ls-tree", "-r", "-z", tip) {
			if err != nil {
				return err
			}
			if err := now.add(n, r, line); err != nil {
				return err
			}
		}
	}
	*n = now
	return nil
}

// add takes a line of the notes' tree: what was read before, or else the note itself.
func (n *notes) add(before *notes, r *git.Reader, line string) error {
	info, path, _ := strings.Cut(line, "\t")
	on := strings.ReplaceAll(path, "/", "")
	words := strings.Fields(info)
	if len(words) != 3 || !git.IsID(on) {
		return nil
	}
	key := words[2] + " " + on
	list, known := before.blobs[key]
	if !known {
		verdicts, err := state.VerdictsOn(r, on)
		if err != nil {
			return err
		}
		for _, v := range verdicts {
			if v.Commit == on { // one that was copied to another commit says nothing of it
				at, _ := time.Parse(time.RFC3339, v.Time)
				list = append(list, short{v.Unit, v.Iteration, v.Residual, v.Verdict, at})
			}
		}
	}
	n.blobs[key] = list
	for _, v := range list {
		n.byUnit[v.unit] = append(n.byUnit[v.unit], v)
	}
	return nil
}

// residuals are the points of a unit's curve, oldest first, the newest of each iteration.
func (n *notes) residuals(unit string) []Point {
	best := map[int]short{}
	for _, v := range n.byUnit[unit] {
		if have, ok := best[v.iteration]; !ok || !v.time.Before(have.time) {
			best[v.iteration] = v
		}
	}
	list := []Point{}
	for _, v := range best {
		list = append(list, Point{X: v.iteration, Time: v.time, Y: number(v.residual), Label: v.residual.Words() + ": " + loop.VerdictWords(v.verdict)})
	}
	sortPoints(list)
	return list
}

// number is a residual for a picture; nil where it is not known.
func number(r loop.Residual) *float64 {
	if r.IsNull() {
		return nil
	}
	f, err := strconv.ParseFloat(r.Decimal.String(), 64)
	if err != nil {
		return nil
	}
	return &f
}
