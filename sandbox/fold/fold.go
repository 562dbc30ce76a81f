// Package fold puts what workers say into COMMS.md (MANY-2). A worker leaves its reports
// and questions as messages on its unit's record, where nobody else writes; the host takes
// them from all records, in order, and pushes them to the control branch through the hooks,
// with the rights of the agent and no more.
//
// How far a record is folded stands in refs/ward/folded/D-1.1, which moves after the push.
// A fold that was killed in between finds its entries in the document, and only moves the
// mark then.
package fold

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/rs/zerolog"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

const (
	// maxBatch bounds what one push brings.
	maxBatch = 50
	// maxRaces is how often a fold is made again because others pushed meanwhile.
	maxRaces = 20
)

// Fold folds the messages of one repository.
type Fold struct {
	Repo     *git.Repo // the bare one, by its common directory
	Settings *config.Config
	Dir      string // of its own; made anew for each push
	Log      zerolog.Logger

	done map[string]string // a record's ref -> the tip of which all is folded
}

// pending is one message that is not folded.
type pending struct {
	unit    uow.ID
	number  int
	message comms.Message
	void    bool // it cannot be read: nothing of it is folded
}

// name is where the message is.
func (p pending) name() string {
	return record.MessagePath(p.number) + " of " + record.Ref(p.unit)
}

// Once folds all that is pending, and says how many messages it put into COMMS.md. What
// cannot be folded now, because nobody can push, is pending still.
func (f *Fold) Once(ctx context.Context) (folded int, err error) {
	for {
		list, done, err := f.read(ctx)
		if err != nil {
			return folded, err
		}
		if f.done = done; len(list) == 0 {
			return folded, nil
		}
		n, err := f.fold(ctx, list[:min(len(list), maxBatch)])
		if folded += n; err != nil {
			return folded, err
		}
	}
}

// fold pushes messages, and moves the marks behind them. Where the gate refuses them, each
// is tried alone, so that one keeps no other out.
func (f *Fold) fold(ctx context.Context, list []pending) (int, error) {
	n, err := f.push(ctx, list, nil)
	if why, ok := errors.AsType[*refusal](err); ok {
		if len(list) > 1 {
			return f.singly(ctx, list)
		}
		f.Log.Warn().Str("message", list[0].name()).Err(err).Msg("a message is refused; COMMS.md says so in its place")
		if n, err = f.push(ctx, list, why); err != nil {
			err = diag.Hint(fmt.Errorf("nothing can be put into %s: %w", comms.Path, err), "git ward log --refused says why; what is pending stays on the records")
		}
	}
	if err != nil {
		return n, err
	}
	return n, f.note(ctx, list)
}

// singly folds messages one by one.
func (f *Fold) singly(ctx context.Context, list []pending) (total int, err error) {
	for _, one := range list {
		n, err := f.fold(ctx, []pending{one})
		if total += n; err != nil {
			return total, err
		}
	}
	return total, nil
}

// push appends the messages to control's document, but for those that are there, and pushes
// that. instead is why the gate refused the one message: that is appended then.
func (f *Fold) push(ctx context.Context, list []pending, instead *refusal) (int, error) {
	control := f.Settings.Control.Ref()
	for try := range maxRaces {
		tip, err := f.Repo.Ref(ctx, control)
		if err != nil {
			return 0, err
		}
		commit, n, err := f.commits(ctx, tip, list, instead)
		if err != nil || n == 0 {
			return 0, err
		}
		pushErr := f.send(ctx, commit, control)
		if pushErr == nil {
			return n, nil
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		now, err := f.Repo.Ref(ctx, control)
		switch {
		case now == commit && err == nil: // it entered, and its end was not seen
			return n, nil
		case now == tip || err != nil:
			return 0, errors.Join(pushErr, err)
		}
		if err := git.Backoff(ctx, try); err != nil {
			return 0, err
		}
	}
	return 0, fmt.Errorf("%s moved %d times while messages were folded", control, maxRaces)
}

// order sorts what is pending by time, directive and unit; of one unit, by number: its clock
// may have gone back, and its words stay in order.
func order(units [][]pending) []pending {
	var list []pending
	for {
		first := -1
		for i, unit := range units {
			if len(unit) > 0 && (first < 0 || before(unit[0], units[first][0]) < 0) {
				first = i
			}
		}
		if first < 0 {
			return list
		}
		list, units[first] = append(list, units[first][0]), units[first][1:]
	}
}

func before(a, b pending) int {
	return cmp.Or(a.message.When().Compare(b.message.When()), compareUnits(a.unit, b.unit))
}

func compareUnits(a, b uow.ID) int {
	return cmp.Or(cmp.Compare(len(a.Directive), len(b.Directive)), cmp.Compare(a.Directive, b.Directive), cmp.Compare(a.K, b.K))
}

// note moves the marks of what was folded.
func (f *Fold) note(ctx context.Context, list []pending) error {
	last := map[uow.ID]int{}
	for _, p := range list {
		last[p.unit] = max(last[p.unit], p.number)
	}
	l, err := f.look(ctx)
	if err != nil {
		return err
	}
	defer l.reader.Close()
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
		updates = append(updates, git.RefUpdate{Ref: record.FoldedRef(unit), Old: old, New: blob})
	}
	if len(updates) == 0 {
		return nil
	}
	err = f.Repo.UpdateRefs(ctx, "ward: folded", updates...)
	if errors.Is(err, git.ErrLostRace) { // another fold noted it; the next look sees how far
		return nil
	}
	for _, u := range updates {
		f.Repo.LockedOut(u.Ref) // a fold that was killed left it: the next try has its way
	}
	return err
}
