package podman

import (
	"context"
	"errors"
	"testing"
)

// late is a podman whose containers end while it removes them; some never go.
type late struct {
	api
	removals, fail int
}

func (e *late) remove(context.Context, string) error {
	if e.removals++; e.removals <= e.fail {
		return errors.New("container state improper: stopped")
	}
	return nil
}

// TestRemoveEnding: a container that ends while podman is about to kill it is removed, and one
// that podman cannot remove is an error, and still to be removed.
func TestRemoveEnding(t *testing.T) {
	for fails, removed := range map[int]bool{0: true, 1: true, 2: false} {
		e := &late{fail: fails}
		c := &Container{ID: "78fc385d23d2", engine: &Engine{api: e}}
		if err := c.Remove(t.Context()); (err == nil) != removed || c.removed != removed {
			t.Errorf("%d failures: %v after %d removals, removed %v", fails, err, e.removals, c.removed)
		}
	}
}
