package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Race is a loop of compare-and-swap: what others may move meanwhile, and how often it is
// read, changed and swapped anew before that is given up.
type Race struct {
	What  string // what moves
	While string // what is done meanwhile
	Tries int    // 0 is 20
	Slow  int    // the first pause is as long as that before retry number Slow
}

// Lost is Update's error where others were faster each time: nothing is known to be wrong,
// and the same may be tried later. It is an ErrLostRace.
type Lost struct {
	race  Race
	tries int
}

func (l *Lost) Error() string {
	if l.race.While == "" {
		return fmt.Sprintf("%s moved each of %d times; try again", l.race.What, l.tries)
	}
	return fmt.Sprintf("%s moved %d times while %s", l.race.What, l.tries, l.race.While)
}

func (l *Lost) Is(target error) bool { return target == ErrLostRace }

// Update is the one loop that moves refs by compare-and-swap (GIT-1, ONE-4). swap reads the
// refs, makes what they shall be, and moves them if they are still what it read, by
// UpdateRefs or by a push: it is done, failed with an error, or neither, which is a lost
// race. Then it is called again after a pause, and has to read anew. The error is a *Lost
// where no try is left.
func Update(ctx context.Context, race Race, swap func() (done bool, err error)) error {
	tries := cmp.Or(race.Tries, 20)
	for try := range tries {
		if try > 0 {
			if err := pause(ctx, race.Slow+try-1); err != nil {
				return err
			}
		}
		if done, err := swap(); done || err != nil {
			return err
		}
	}
	return &Lost{race, tries}
}

// Swapped is what a swap by UpdateRefs says to Update.
func Swapped(err error) (done bool, _ error) {
	if errors.Is(err, ErrLostRace) {
		return false, nil
	}
	return err == nil, err
}

// pause sleeps before retry number n (from 0) of a lost race: full jitter, at most 200 ms.
func pause(ctx context.Context, n int) error {
	limit := min(200*time.Millisecond, time.Duration(1<<min(n, 10))*2*time.Millisecond)
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(rand.N(limit) + time.Millisecond):
		return nil
	}
}
