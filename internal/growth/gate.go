package growth

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"git-ward/internal/atomicfile"
	"git-ward/internal/diag"
	"git-ward/internal/flock"
)

// A push and maintenance that takes objects away must not meet between the moment at which
// git finds an object there, so that the push need not bring it, and the one at which a ref
// leads to it. Pushes share the gate while they are judged; after that their pending files
// tell. Who takes away is alone in it, and leaves a mark by which a push that came before
// knows that it has to look again.
const (
	gatePath = "ward/maintain.lock"
	turnPath = "ward/maintain.turn" // held for a moment to enter, and by who waits to be alone: no stream of pushes keeps him out
	markPath = "ward/maintain.mark"
)

const (
	enterPatience = time.Minute
	alonePatience = 30 * time.Second
	// markAge is longer than a push may last that began before objects were taken away.
	markAge = 2 * time.Hour
)

// Enter admits a push to the gate. It leaves when the file is closed, or its process ends.
func Enter(ctx context.Context, bare string) (*os.File, error) {
	turn, err := flock.Any(ctx, filepath.Join(bare, turnPath), flock.Shared, enterPatience)
	if err != nil {
		return nil, busy(err)
	}
	defer turn.Close()
	gate, err := flock.Any(ctx, filepath.Join(bare, gatePath), flock.Shared, enterPatience)
	return gate, busy(err)
}

// Alone waits until no push is being judged, and keeps pushes out until leave is called.
func Alone(ctx context.Context, bare string) (leave func(), err error) {
	turn, err := flock.Any(ctx, filepath.Join(bare, turnPath), flock.Exclusive, alonePatience)
	if err != nil {
		return nil, busy(err)
	}
	gate, err := flock.Any(ctx, filepath.Join(bare, gatePath), flock.Exclusive, alonePatience)
	if err != nil {
		turn.Close()
		return nil, busy(err)
	}
	return func() { gate.Close(); turn.Close() }, nil
}

// ErrBusy means that others held the gate for longer than the wait.
var ErrBusy = errors.New("pushes and maintenance wait for one another")

func busy(err error) error {
	if errors.Is(err, flock.ErrHeld) {
		return diag.Hint(fmt.Errorf("%w: %s", ErrBusy, gatePath), "try again in a minute")
	}
	return err
}

// Mark records that objects are about to be removed. Only the holder of Alone calls it, before
// the removal.
func Mark(bare string) error {
	// A new file each time: the last one may be another user's (ID-3).
	return atomicfile.Write(filepath.Join(bare, markPath), nil, 0o644)
}

// Marked reports whether objects may have been removed since a present push began. A mark with
// a later time, after a clock was set back, counts, too.
func Marked(bare string) bool {
	info, err := os.Stat(filepath.Join(bare, markPath))
	return err == nil && time.Since(info.ModTime()) < markAge
}
