package podman

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
)

// shelf is a podman that has volumes and no container.
type shelf struct {
	api
	runs   map[string]string // by their names
	reaper bool              // another is faster at each volume
	stuck  bool
}

func (*shelf) list(context.Context, string, func([]string) bool) ([]string, error) { return nil, nil }

func (s *shelf) volumes(context.Context) (map[string]string, error) { return maps.Clone(s.runs), nil }

func (s *shelf) removeVolume(_ context.Context, name string) error {
	if s.stuck {
		return errors.New("it is in use")
	}
	delete(s.runs, name)
	if s.reaper {
		return errors.New("no such volume")
	}
	return nil
}

// TestSweepVolumes: what a killed launch left goes with the next launch of its owner, and
// nobody else's, whose name may begin alike, nor this launch's own.
func TestSweepVolumes(t *testing.T) {
	for what, s := range map[string]*shelf{"alone": {}, "beside a reaper": {reaper: true}, "in use": {stuck: true}} {
		s.runs = map[string]string{"left": "x-AB2", "own": "x-CD3", "another's": "x-y-AB2", "verifier's": "verify1-x-AB2", "a person's": ""}
		e := &Engine{api: s, opts: Options{Owner: "x"}, run: "x-CD3"}
		if _, err := e.Sweep(t.Context()); (err != nil) != s.stuck {
			t.Errorf("%s: %v", what, err)
		}
		want := []string{"a person's", "another's", "own", "verifier's"}
		if s.stuck {
			want = slices.Insert(want, 2, "left")
		}
		if left := slices.Sorted(maps.Keys(s.runs)); !slices.Equal(left, want) {
			t.Errorf("%s: %q", what, left)
		}
	}
}
