package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Race describes a compare-and-swap loop: what others may move meanwhile, and how many
// attempts are made.
type Race struct {
	What  string // what moves
	While string // what is done meanwhile
	Tries int    // 0 is 20
	Slow  int    // the first pause is as long as that before retry number Slow
}

// Lost is Update's error when others were faster at every attempt. The caller may try again
// later. It is an ErrLostRace.
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
// refs, computes their new values, and moves them by UpdateRefs or a push if they still have
// the values it read. It is done, has failed with an error, or has lost a race. After a lost
// race it is called again after a pause, and must read anew. When no attempt is left, the
// error is *Lost.
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

// Swapped converts the error of UpdateRefs to a swap's result for Update.
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
