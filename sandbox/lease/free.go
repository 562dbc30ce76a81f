package lease

import (
	"context"
	"slices"
	"time"

	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// Free lists the directives that a worker would get now and has something to do on, in the
// order in which they are to be taken. It is for whoever counts the workers that are wanted;
// what a worker takes is its own choice.
func (b *Book) Free(ctx context.Context) ([]string, error) {
	v, err := b.view(ctx)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	list := slices.Clone(v.doc.Directives)
	slices.SortStableFunc(list, comms.Compare)
	var free []string
	for _, d := range list {
		e, ok := v.leases[d.Name()]
		if !ok {
			e.blob = git.Zero
		}
		if v.free(e, d.Name()) == nil && v.may(d.Name()) == nil && v.wants(d) {
			free = append(free, d.Name())
		}
	}
	return append(free, v.orphans()...), nil
}

// orphans are directives that the PM took out of the list while a unit of theirs was not
// put away: somebody has to.
func (v *view) orphans() (list []string) {
	for name := range v.units {
		e, ok := v.leases[name]
		if !ok {
			e.blob = git.Zero
		}
		last, err := v.last(name)
		if _, listed := v.listed[name]; listed || err != nil || last.State == uow.Archived || last.State == uow.Breached || v.free(e, name) != nil {
			continue
		}
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// wants reports whether there is something to do on a directive that waits for nobody.
func (v *view) wants(d comms.Directive) bool {
	last, err := v.last(d.Name())
	if err != nil || last == nil || last.DirectiveHash != d.Hash() {
		return true
	}
	switch last.State {
	case uow.Active:
		return !last.PulseDue()
	case uow.Pending, uow.Completed, uow.Failed, uow.Refinement:
		return true
	case uow.ZombiedSoft:
		return last.ReasonCode.Free() && !v.stopped() || last.ReasonCode.Passes() && !v.rests(last)
	}
	return false
}

// stopped reports whether control has scratch/STOP.
func (v *view) stopped() bool {
	data, err := v.reader.File(v.Settings.Control.Ref(), loop.StopPath, 1<<20)
	return data != nil || err != nil
}

// rests reports whether the policy's pause before another try is not over.
func (v *view) rests(last *uow.Record) bool {
	at, err := time.Parse(time.RFC3339, last.Time)
	a := v.Settings.Agent
	return err == nil && v.now().Before(at.Add(last.RetryAfter(a.RetryPause.Duration, a.Poll.Duration)))
}
