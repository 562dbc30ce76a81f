package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/lease"
	"git-ward/protocols/schedule"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// refs caches what a launch reads from refs. Only moved refs are read again.
type refs struct {
	marks [4]git.Mark // of units, control, leases and work branches, when they were read
	known schedule.Known
	stop  bool  // scratch/STOP is on control
	fault error // what is wrong with COMMS.md: nothing is assigned from it
	held  map[string]time.Time
	moved bool // since workers were attended to
}

// look updates the cache if something has moved.
func (h *Host) look(ctx context.Context) (moved bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, repo, control := &h.refs, h.spec.Book.Repo, h.spec.Settings.Control.Ref()
	marks := [4]git.Mark{repo.Mark(uow.RefPrefix), repo.Mark(control), repo.Mark(lease.Prefix)}
	if r.known.Shared = !h.spec.Settings.Control.Split(); r.known.Shared {
		marks[3] = repo.Mark(schedule.Work)
	}
	if marks == r.marks {
		return false, nil
	}
	if marks[0] != r.marks[0] || marks[1] != r.marks[1] || marks[3] != r.marks[3] {
		reader := repo.Reader(ctx)
		defer reader.Close()
		if marks[1] != r.marks[1] {
			doc, err := state.ReadComms(reader, control)
			if err != nil {
				return false, err
			}
			if r.stop, err = schedule.Stop(reader, control); err != nil {
				return false, err
			}
			if r.fault = fault(doc, h.spec.Settings.Control.Branch); r.fault == nil {
				r.known.Control(doc.Document)
			}
		}
		if err := r.known.Units(reader, h.spec.Only); err != nil {
			return false, err
		}
	}
	r.marks, r.moved = marks, true
	return true, nil
}

// fault is the first error of a COMMS.md, nil for none. The hooks admit none, but a ref can be
// moved past them. Running workers are attended to by the last sound text.
func fault(doc state.Comms, branch string) error {
	at := slices.IndexFunc(doc.Findings, diag.Diagnostic.IsError)
	if at < 0 {
		return nil
	}
	first := doc.Findings[at]
	return diag.Hint(fmt.Errorf("%s of %s has errors, and no directive is assigned from it: %s: %s", comms.Path, branch, first.Pos, diag.Clean(first.Message)),
		"mend %s and push it; `git ward lint` shows every error", comms.Path)
}

// obstacle is why nobody can work on the launch's only directive; nil if it is done, or itself
// says what it waits for.
func (r *refs) obstacle(directive string) error {
	d := r.known.Directive(directive)
	switch {
	case d == nil:
		return fmt.Errorf("%s is not among the directives", directive)
	case len(d.Waits) > 0:
		return fmt.Errorf("%s comes after %s", directive, strings.Join(d.Waits, ", "))
	case d.Unit.Last != nil && d.Unit.Last.State == uow.Paused:
		return diag.Hint(fmt.Errorf("%s is paused", directive), "%s", d.Unit.Last.Next())
	}
	if until, held := r.held[directive]; held && !until.IsZero() {
		return diag.Hint(fmt.Errorf("somebody else has %s", directive), "git ward lease --bare DIR says who")
	}
	return nil
}

// open are the directives that are.
func (r *refs) open(only string) (names []string) {
	for _, d := range r.known.Directives {
		if !d.Gone && d.State == comms.Open && (only == "" || d.Name == only) {
			names = append(names, d.Name)
		}
	}
	return names
}

// trace is the refs that work on a directive moves.
type trace struct {
	tip    string // tip of its newest journal
	branch string // of its branch
	state  comms.State
	hash   string
	done   done
}

// done is how far a directive's newest unit has got, by its journal; zero without one.
type done struct {
	unit      string
	iteration int64  // that it has begun
	claim     string // the commit of its last one
}

// trace is a directive's trace now. An unreadable branch counts as unmoved; so does a branch
// that maintenance packs.
func (r *refs) trace(ctx context.Context, repo *git.Repo, directive string) trace {
	branch, _ := repo.Ref(ctx, schedule.Work+directive)
	t := trace{tip: r.known.Tip(directive), branch: branch}
	if d := r.known.Directive(directive); d != nil {
		t.state, t.hash = d.State, d.Hash
		if last := d.Unit.Last; last != nil {
			t.done = done{unit: last.ID, iteration: last.Iteration}
			if last.Claim != nil {
				t.done.claim = last.Claim.Commit
			}
		}
	}
	return t
}
