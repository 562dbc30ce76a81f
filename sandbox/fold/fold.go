// Package fold folds workers' messages into COMMS.md (MANY-2). A worker leaves its reports and
// questions as messages on its unit's record, where nobody else writes; the host takes them
// from all records, in order, and pushes them to the control branch through the hooks, with
// the rights of the agent and no more.
//
// refs/ward/folded/D-1.1 says how far a record is folded, and moves after the push. After a
// kill in between, the next fold finds its entries in the document and only moves the ref.
package fold

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/rs/zerolog"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// maxBatch bounds one push.
const maxBatch = 50

// Fold folds the messages of one repository.
type Fold struct {
	Repo     *git.Repo // the bare repository, by its common directory
	Settings *config.Config
	Dir      string // where each push's own repository is made
	Log      zerolog.Logger
	// Waits gets the directives with messages that stay pending, and why, after each turn of
	// Serve that could look at all of them.
	Waits func(map[string]error)

	done map[string]string // a record's ref -> the tip up to which it is folded
	held atomic.Bool       // the last turn left messages where they are
}

// once folds all pending messages, and returns how many it put into COMMS.md. A message that
// cannot be folded now stays pending: once adds its unit to skip, with the reason. It holds back
// only later messages of that unit.
func (f *Fold) once(ctx context.Context, skip map[uow.ID]error) (folded int, err error) {
	defer func() { f.held.Store(err != nil || len(skip) > 0) }()
	for {
		list, done, err := f.read(ctx, skip)
		if err != nil {
			return folded, err
		}
		if f.done = done; len(list) == 0 {
			return folded, nil
		}
		n, err := f.fold(ctx, list, skip)
		if folded += n; err != nil {
			return folded, err
		}
	}
}

// skipped is the error that names the skipped units, nil for none.
func skipped(skip map[uow.ID]error) error {
	var list []error
	for _, unit := range slices.SortedFunc(maps.Keys(skip), compareUnits) {
		list = append(list, skip[unit])
	}
	return errors.Join(list...)
}

// fold pushes messages and moves their marks. If the gate refuses them together, it tries each
// alone. It adds the units whose messages do not enter to skip.
func (f *Fold) fold(ctx context.Context, list []record.Pending, skip map[uow.ID]error) (int, error) {
	b, err := f.push(ctx, list, nil)
	if why, refused := errors.AsType[*refusal](err); refused {
		if len(list) > 1 {
			return f.oneByOne(ctx, list, skip)
		}
		f.Log.Warn().Str("message", list[0].Name()).Err(err).Msg("a message is refused; COMMS.md says so in its place")
		if b, err = f.push(ctx, list, why); errors.As(err, new(*refusal)) {
			skip[list[0].Unit] = diag.Hint(fmt.Errorf("%s cannot be put into %s: %w", list[0].Name(), comms.Path, err), "git ward log --refused says why; it stays on its record, and is tried again")
			return 0, nil
		}
	}
	if err != nil {
		return 0, err
	}
	maps.Copy(skip, b.left)
	return b.n, f.note(ctx, b.done, skip)
}

// singly folds messages one by one, and skips a unit's later messages once one of them waits.
func (f *Fold) oneByOne(ctx context.Context, list []record.Pending, skip map[uow.ID]error) (total int, err error) {
	for _, one := range list {
		if skip[one.Unit] != nil {
			continue
		}
		n, err := f.fold(ctx, []record.Pending{one}, skip)
		if total += n; err != nil {
			return total, err
		}
	}
	return total, nil
}

// push adds the messages that are missing to control's document and pushes it. instead is the
// gate's reason to refuse the one message, which is then entered in the message's place.
func (f *Fold) push(ctx context.Context, list []record.Pending, instead *refusal) (b batch, err error) {
	control := f.Settings.Control.Ref()
	repo, dir, err := f.Repo.Borrow(f.Dir)
	if err != nil {
		return batch{}, err
	}
	defer dir.Remove()
	err = git.Update(ctx, git.Race{What: control, While: "messages were folded"}, func() (bool, error) {
		tip, err := f.Repo.Ref(ctx, control)
		if err != nil {
			return false, err
		}
		if b, err = f.batch(ctx, repo, tip, list, instead); err != nil || b.n == 0 {
			return true, err
		}
		pushErr := f.send(ctx, repo, b.commit, control)
		if pushErr == nil {
			return true, nil
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		now, err := f.Repo.Ref(ctx, control)
		if err != nil || now == tip {
			return false, errors.Join(pushErr, err)
		}
		return now == b.commit, nil // the push may have entered although its end was lost
	})
	return b, err
}

// order lists the pending messages unit by unit in the order of directives, so that no clock
// decides. Each unit has the same number of places in a push.
func order(units [][]record.Pending) (list []record.Pending) {
	for _, unit := range units {
		list = append(list, unit[:min(len(unit), max(1, maxBatch/len(units)))]...)
	}
	return list[:min(len(list), maxBatch)]
}

func compareUnits(a, b uow.ID) int {
	return cmp.Or(cmp.Compare(len(a.Directive), len(b.Directive)), cmp.Compare(a.Directive, b.Directive), cmp.Compare(a.K, b.K))
}

// note moves the marks of what was folded, and adds a unit whose mark cannot be moved to skip.
func (f *Fold) note(ctx context.Context, list []record.Pending, skip map[uow.ID]error) error {
	last := map[uow.ID]int{}
	for _, p := range list {
		last[p.Unit] = max(last[p.Unit], p.Number)
	}
	l, err := f.look(ctx)
	if err != nil {
		return err
	}
	defer l.reader.Close()
	var units []uow.ID
	var updates []git.RefUpdate
	for _, unit := range slices.SortedFunc(maps.Keys(last), compareUnits) {
		old, folded, err := l.mark(unit)
		if err != nil {
			return err
		}
		if folded >= last[unit] {
			continue
		}
		blob, err := f.Repo.WriteObject("blob", record.FormatFolded(unit, last[unit]))
		if err != nil {
			return err
		}
		units, updates = append(units, unit), append(updates, git.RefUpdate{Ref: record.FoldedRef(unit), Old: old, New: blob})
	}
	if len(updates) == 0 || f.mark(ctx, updates...) == nil {
		return nil
	}
	for i, u := range updates { // git moves all of them or none
		if err := f.mark(ctx, u); err != nil {
			skip[units[i]] = fmt.Errorf("%s is in %s, and its mark cannot say so: %w", units[i], comms.Path, err)
		}
	}
	return ctx.Err()
}

// mark moves marks. If another fold was faster, the next turn reads how far.
func (f *Fold) mark(ctx context.Context, updates ...git.RefUpdate) error {
	err := f.Repo.UpdateRefs(ctx, "ward: folded", updates...)
	if err == nil || errors.Is(err, git.ErrLostRace) {
		return nil
	}
	for _, u := range updates {
		f.Repo.LockedOut(u.Ref) // left by a killed fold; the next try succeeds
	}
	return err
}
