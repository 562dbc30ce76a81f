package git

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
)

// TestUpdate: a lost race is tried again, a bounded number of times; a failure is not; and
// the two are told apart.
func TestUpdate(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name  string
		race  Race
		swap  func(try int) (bool, error)
		tries int
		err   string
		lost  bool
	}{
		{"at once", Race{}, func(int) (bool, error) { return true, nil }, 1, "", false},
		{"the third", Race{}, func(try int) (bool, error) { return try == 3, nil }, 3, "", false},
		{"failed", Race{}, func(try int) (bool, error) { return false, broken }, 1, "broken", false},
		{"failed, and said to be done", Race{}, func(try int) (bool, error) { return true, broken }, 1, "broken", false},
		{"a race inside of it", Race{}, func(try int) (bool, error) { return false, &Lost{Race{What: "b"}, 2} }, 1, "b moved each of 2 times; try again", true},
		{"lost", Race{What: "a"}, func(int) (bool, error) { return false, nil }, 20, "a moved each of 20 times; try again", true},
		{"lost, bounded", Race{What: "a", While: "b was pushed", Tries: 4}, func(int) (bool, error) { return false, nil }, 4, "a moved 4 times while b was pushed", true},
	} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			err := Update(t.Context(), c.race, func() (bool, error) { tries++; return c.swap(tries) })
			if said := fmt.Sprint(err); tries != c.tries || said != c.err && (err != nil || c.err != "") || errors.Is(err, ErrLostRace) != c.lost {
				t.Errorf("%s: %d tries, %v", c.name, tries, err)
			}
		})
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	if err := Update(ctx, Race{}, func() (bool, error) { cancel(broken); return false, nil }); !errors.Is(err, broken) {
		t.Errorf("the end of the context: %v", err)
	}
}

// TestUpdateLosesNothing: of many who count at one ref each counts once.
func TestUpdateLosesNothing(t *testing.T) {
	r := bare(t)
	const writers = 8
	var wait sync.WaitGroup
	for range writers {
		wait.Go(func() {
			if err := Update(t.Context(), Race{Tries: 1000}, func() (bool, error) {
				old, err := r.Ref(t.Context(), "refs/ward/count")
				if err != nil {
					return false, err
				}
				n := 0
				if old != Zero {
					batch := r.Batch(t.Context())
					defer batch.Close()
					_, data, err := batch.Read(old, 100)
					if err != nil {
						return false, err
					}
					fmt.Sscan(string(data), &n)
				}
				next, err := r.WriteObject("blob", fmt.Append(nil, n+1))
				if err != nil {
					return false, err
				}
				// Git gives up on a lock in its own time; that is no verdict here.
				done, _ := Swapped(r.UpdateRefs(t.Context(), "test", RefUpdate{"refs/ward/count", old, next}))
				return done, nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	batch := r.Batch(t.Context())
	defer batch.Close()
	if _, data, err := batch.Read("refs/ward/count", 100); err != nil || string(data) != fmt.Sprint(writers) {
		t.Errorf("%s %v", data, err)
	}
}
