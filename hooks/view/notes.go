package view

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"git-ward/internal/git"
	"git-ward/protocols/loop"
	"git-ward/protocols/state"
)

// notes caches what curves need of the host's verdicts, by unit. Each note is read once.
type notes struct {
	tip    string             // of loop.VerdictsRef when they were read
	on     map[string]string  // from the annotated object to the note's blob
	data   map[string][]byte  // contents of the notes read last, by blob
	blobs  map[string][]short // by the note's blob and the annotated object
	byUnit map[string][]short // in no order
}

// reading is a reader that also caches notes and commits' parents.
type reading struct {
	*git.Reader
	notes   *notes
	parents map[string]string
}

// Note returns an object's note; a verdict's note comes from the cache.
func (r reading) Note(ref, object string, limit int64) ([]byte, error) {
	if ref != loop.VerdictsRef {
		return r.Reader.Note(ref, object, limit)
	}
	blob, ok := r.notes.on[object]
	if !ok {
		return nil, nil
	}
	if data, ok := r.notes.data[blob]; ok {
		return data, nil
	}
	data, err := r.Blob(blob, limit)
	if err == nil {
		r.notes.data[blob] = data
	}
	return data, err
}

// maxAhead is how many parents one request to git asks for.
const maxAhead = 32

// ahead caches the parents of a commit and of its nearest ancestors in one request, for readers of many
// journals. Parent finds out whether the last of them has a parent.
func (r reading) ahead(commit string) error {
	var names []string
	for n := range maxAhead {
		names = append(names, fmt.Sprintf("%s~%d", commit, n+1))
	}
	return r.Sizes(names, func(o git.Object) {
		r.parents[commit], commit = o.ID, o.ID
	})
}

// Parent returns a commit's first parent.
func (r reading) Parent(commit string) (parent string, err error) {
	parent, ok := r.parents[commit]
	if !ok {
		if parent, err = r.Reader.Parent(commit); err == nil {
			r.parents[commit] = parent
		}
	}
	return parent, err
}

// short has the parts of a verdict that a list needs.
type short struct {
	note      string // the note's blob and the annotated object
	unit      string
	iteration int
	residual  loop.Residual
	verdict   string
	time      time.Time
}

// refresh reads the new notes.
func (n *notes) refresh(ctx context.Context, repo *git.Repo, r *git.Reader) error {
	tip, err := r.Tip(loop.VerdictsRef)
	if err != nil || tip == n.tip {
		return err
	}
	now := notes{tip, map[string]string{}, map[string][]byte{}, map[string][]short{}, map[string][]short{}}
	if tip != "" {
		for line, err := range repo.Records(ctx, "ls-tree", "-r", "-z", tip) {
			if err != nil {
				return err
			}
			info, path, _ := strings.Cut(line, "\t")
			on := strings.ReplaceAll(path, "/", "")
			if words := strings.Fields(info); len(words) == 3 && git.IsID(on) {
				now.on[on] = words[2] // if an object has two notes, the one in fewer directories wins; it comes last
			}
		}
	}
	var unread []string
	for on, blob := range now.on {
		if _, known := n.blobs[blob+" "+on]; !known {
			unread = append(unread, blob)
		}
	}
	if err := r.Prefetch(unread, state.MaxNote); err != nil {
		return err
	}
	for on, blob := range now.on {
		if err := now.add(n, reading{Reader: r, notes: &now}, on, blob); err != nil {
			return err
		}
	}
	*n = now
	return nil
}

// add adds an object's note, from the cache or by reading it.
func (n *notes) add(before *notes, r reading, on, blob string) error {
	key := blob + " " + on
	list, known := before.blobs[key]
	if !known {
		verdicts, err := state.VerdictsOn(r, on)
		if err != nil {
			return err
		}
		for _, v := range verdicts {
			if v.Commit == on { // a verdict that was copied to another commit is not about that commit
				at, _ := time.Parse(time.RFC3339, v.Time)
				list = append(list, short{key, v.Unit, v.Iteration, v.Residual, v.Verdict, at})
			}
		}
	}
	n.blobs[key] = list
	for _, v := range list {
		n.byUnit[v.unit] = append(n.byUnit[v.unit], v)
	}
	return nil
}

// residuals returns the points of a unit's curve, oldest first, with the newest verdict of each
// iteration.
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

// number converts a residual for a picture; nil if it is unknown.
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
