package schedule

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"git-ward/internal/diag"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// Known is the state by the refs, updated incrementally: an unchanged document or journal is
// not read again. The zero value is empty.
type Known struct {
	Directives []Directive      // in the order of the document, and then those that are gone
	Clock      func() time.Time // dates what is first read; nil where what is known does not last
	Shared     bool             // control is the project's branch: scratch/STOP stops on a directive's, too

	listed []Directive
	places map[string]int   // of Directives
	units  map[string]known // by directive
}

// Work is the prefix of work branches, before D-1.
const Work = "refs/heads/agent/"

// known is the newest unit of a directive.
type known struct {
	id   uow.ID
	tip  string
	unit Unit
}

// Control takes in the control branch's state.
func (k *Known) Control(doc *comms.Document) {
	all := doc.Said()
	k.listed = k.listed[:0:0]
	for _, d := range doc.Directives {
		k.listed = append(k.listed, Directive{Name: d.Name(), ID: d.ID, Priority: d.Options.Priority, Said: all[d.Name()]})
	}
	k.join()
}

// Units takes in the journals' state, of one directive if only is set.
func (k *Known) Units(r state.Reader, only string) error {
	list, _, err := state.Units(r)
	if err != nil {
		return err
	}
	now := make(map[string]known, len(k.units))
	for i, u := range list { // by directive and number
		name := u.ID.Directive
		if i+1 < len(list) && list[i+1].ID.Directive == name || only != "" && name != only {
			continue
		}
		old := k.units[name]
		if old.tip != u.Tip {
			was := old
			if old = (known{id: u.ID, tip: u.Tip}); was.id == u.ID {
				old.unit.Forked = was.unit.Forked
			} else {
				old.unit.Forked = forked(r, u)
			}
			if err := old.unit.read(r, u.Tip); err != nil {
				return err
			}
			if k.Clock != nil {
				old.unit.Seen = k.Clock()
			}
		}
		if last := old.unit.Last; k.Shared && last != nil && last.ReasonCode.Free() {
			if old.unit.Stop, err = Stop(r, Work+name); err != nil {
				return err
			}
		}
		now[name] = old
	}
	k.units = now
	k.join()
	return nil
}

// read reads the newest of a journal's records, and those before it that are remarks. What
// is broken further down is said by who works on it.
func (u *Unit) read(r state.Reader, tip string) error {
	for record, err := range state.History(r, tip) {
		var broken *state.BrokenRecord
		switch {
		case err != nil && u.Last != nil:
			return nil
		case errors.As(err, &broken):
			u.Broken = true
			return nil
		case err != nil:
			return err
		case u.Last == nil:
			u.Last = record
		}
		if !record.Remark() {
			u.Midway = record.Event == uow.Iterate || record.Event == uow.MakeClaim
			return nil
		}
	}
	return nil
}

// forked reports whether the PM opened a unit on a text that the one before had.
func forked(r state.Reader, u state.Unit) (is bool) {
	if u.ID.K == 1 {
		return false
	}
	for record, err := range state.History(r, u.Tip) {
		is = err == nil && record.Event == uow.Fork
		if err != nil {
			return false
		}
	}
	return is
}

// join puts both together.
func (k *Known) join() {
	left := make(map[string]known, len(k.units))
	for name, u := range k.units {
		left[name] = u
	}
	k.Directives = slices.Clone(k.listed)
	for i := range k.Directives {
		d := &k.Directives[i]
		d.Unit = left[d.Name].unit
		delete(left, d.Name)
	}
	from := len(k.Directives)
	for name, u := range left {
		id, _ := strconv.Atoi(strings.TrimPrefix(name, "D-"))
		k.Directives = append(k.Directives, Directive{Name: name, ID: id, Gone: true, Unit: u.unit})
	}
	slices.SortFunc(k.Directives[from:], func(a, b Directive) int { return cmp.Compare(a.ID, b.ID) })
	k.places = make(map[string]int, len(k.Directives))
	for i, d := range k.Directives {
		k.places[d.Name] = i
	}
}

// Directive is one by its name, nil for none.
func (k *Known) Directive(name string) *Directive {
	if i, ok := k.places[name]; ok {
		return &k.Directives[i]
	}
	return nil
}

// Tip is the newest commit of a directive's newest journal, "" for none.
func (k *Known) Tip(name string) string { return k.units[name].tip }

// Stop reports whether a revision has the stop file, of any size.
func Stop(r state.Files, rev string) (bool, error) {
	data, err := r.File(rev, loop.StopPath, 1<<20)
	if errors.Is(err, diag.ErrTooLarge) {
		return true, nil
	}
	return data != nil, err
}
