// Package standing finds out where each directive stands: it reads the refs of a
// repository, once for all of them, and review.Stand says what they come to. Whoever shows
// a directive, a list or a page, reads it here.
package standing

import (
	"errors"
	"fmt"
	"slices"

	"git-ward/internal/diag"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
	"git-ward/protocols/review"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// Taken begins the trailer by which a project's commit says that it took work.
const Taken = record.TrailerTaken + ": "

// Refs has the full names of the refs that are read.
type Refs struct {
	Control string // the branch of COMMS.md
	Project string // the project's branch
	Work    string // what stands before D-1 in the name of its work branch: refs/heads/agent/
}

// Snapshot is a repository's state when it was opened.
type Snapshot struct {
	Doc   state.Comms
	Units []state.Unit // by directive and number

	reader state.Reader
	refs   Refs
	tips   map[string]string // of the work branches, by ref; nil before they are read
	by     map[string][]state.Unit
	named  map[string]*comms.Directive
	said   map[string]comms.Said // by directive
	record func(tip string) (*uow.Record, error)
}

// Open reads what is the same for all directives. record reads a unit's newest record; nil
// is for state.Record.
func Open(r state.Reader, refs Refs, record func(tip string) (*uow.Record, error)) (*Snapshot, error) {
	d := &Snapshot{reader: r, refs: refs, by: map[string][]state.Unit{}, named: map[string]*comms.Directive{}, record: record}
	if record == nil {
		d.record = func(tip string) (*uow.Record, error) { return state.Record(r, tip) }
	}
	var err error
	if d.Doc, err = Documents(r, refs.Control); err != nil {
		return nil, err
	}
	if d.Units, _, err = state.Units(r); err != nil {
		return nil, err
	}
	for _, unit := range d.Units {
		d.by[unit.ID.Directive] = append(d.by[unit.ID.Directive], unit)
	}
	d.said = d.Doc.Said()
	for i := range d.Doc.Directives {
		d.named[d.Doc.Directives[i].Name()] = &d.Doc.Directives[i]
	}
	return d, nil
}

// Documents is COMMS.md of the control branch.
func Documents(r state.Files, control string) (state.Comms, error) {
	doc, err := state.ReadComms(r, control)
	if err == nil && doc.Data == nil {
		err = diag.Hint(fmt.Errorf("the branch %s has no %s", control, comms.Path), "is this a repository of Ward's? its control branch is named by git config ward.control")
	}
	return doc, err
}

// UnitsOf are the units of a directive, oldest first.
func (d *Snapshot) UnitsOf(directive string) []state.Unit { return d.by[directive] }

// Gone lists the directives that have units but are no longer in COMMS.md, in the order of the
// units.
func (d *Snapshot) Gone() (list []string) {
	seen := map[string]bool{}
	for _, unit := range d.Units {
		if name := unit.ID.Directive; d.named[name] == nil && !seen[name] {
			seen[name] = true
			list = append(list, name)
		}
	}
	return list
}

// Position is what the refs say of a directive ("D-1") and of one of its units, 0 for the
// newest, but for what the project has of it.
func (d *Snapshot) Position(name string, unit int) (p review.Position, err error) {
	said := d.said[name]
	p = review.Position{Name: name, Directive: d.named[name], Reported: said.State, Dropped: said.Dropped, Report: said.Newest, After: said.Waits}
	if p.Branch, err = d.branch(name); err != nil {
		return p, err
	}
	for _, u := range slices.Backward(d.by[name]) {
		if unit == 0 || unit == u.ID.K {
			if p.Unit, err = d.record(u.Tip); err != nil {
				return p, err
			}
			break
		}
	}
	if p.Unit != nil && p.Unit.Claim != nil {
		p.Verdict, err = d.verdict(p.Unit)
	}
	if p.Verdict != nil && p.Directive != nil {
		told := p.Verdict.Told(p.Directive.Options.Included)
		p.Verdict = &told
	}
	return p, err
}

// Positions are those of all directives that COMMS.md has, in its order, with what the
// project has of them; history is asked once, about the commits in question. A directive
// whose journal cannot be read is given to broken, which says whether to go on without its
// unit; a nil broken is for who does not.
func (d *Snapshot) Positions(history func(tip string, commits []string) (state.Ancestry, error), broken func(directive string, err error) error) ([]review.Position, error) {
	if err := d.branches(); err != nil {
		return nil, err
	}
	var list []review.Position
	var commits []string
	for i := range d.Doc.Directives {
		name := d.Doc.Directives[i].Name()
		p, err := d.Position(name, 0)
		if _, ok := errors.AsType[*state.BrokenRecord](err); ok && broken != nil {
			err = broken(name, err)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, p)
		if commit := Asked(p); commit != "" {
			commits = append(commits, commit)
		}
	}
	project, err := d.reader.Tip(d.refs.Project)
	if err != nil {
		return nil, err
	}
	h := past{}
	if h.Ancestry, err = history(project, commits); err != nil {
		return nil, err
	}
	if h.taken, err = d.reader.Refs(state.TakenPrefix); err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].Taken, err = state.Taken(h, project, Asked(list[i])); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// past is history with what forges took, which was read at once: a look at one ref of many costs
// nearly as much as one at all.
type past struct {
	state.Ancestry
	taken map[string]string
}

// Tip is asked of state.TakenPrefix alone.
func (p past) Tip(ref string) (string, error) { return p.taken[ref], nil }

// branches reads the tips of all work branches.
func (d *Snapshot) branches() (err error) {
	d.tips, err = d.reader.Refs(d.refs.Work)
	return err
}

func (d *Snapshot) branch(name string) (string, error) {
	if d.tips != nil {
		return d.tips[d.refs.Work+name], nil
	}
	return d.reader.Tip(d.refs.Work + name)
}

// verdict is the host's last on a unit's last claim, nil for none.
func (d *Snapshot) verdict(r *uow.Record) (*loop.Verdict, error) {
	list, err := state.VerdictsOn(d.reader, r.Claim.Commit)
	for _, v := range slices.Backward(list) {
		if v.Unit == r.ID {
			return &v, err
		}
	}
	return nil, err
}

// Asked is the commit of which the project may have taken the work, "" for none: a branch
// of the name alone is nobody's work yet.
func Asked(p review.Position) string {
	switch {
	case p.Unit != nil && p.Unit.Claim != nil:
		return p.Unit.Claim.Commit
	case p.Unit == nil && p.Reported == comms.Open:
		return ""
	}
	return p.Branch
}

// Known reports whether there was ever such a directive, as far as can be told.
func Known(p review.Position) bool {
	return p.Directive != nil || p.Unit != nil || p.Report != nil || p.Branch != ""
}
