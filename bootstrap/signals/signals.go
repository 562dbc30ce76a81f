// Package signals reads the agent's requests to the watcher: a file in .signal/ whose name is the kind, with
// one line that names a branch or ref (BOOT-1). The watcher claims a signal by renaming it into its own
// directory, so that none is lost or done twice.
//
// Any other file in .signal/, of any type, is a malformed signal, which is removed and reported (remove.go).
package signals

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"git-ward/bootstrap/statedir"
	"git-ward/protocols/boot"
)

// The kinds of signals, which are the names of their files.
const (
	Rollback  = "rollback"  // run from a branch, ref or commit instead of main
	Bootstrap = "bootstrap" // run from a branch
)

// kinds lists the kinds in the order in which they are served: a rollback first, because it is for
// recovery.
var kinds = []string{Rollback, Bootstrap}

// Signal is one request of an agent.
type Signal struct {
	Kind string `json:"kind"`
	Name string `json:"name"` // of a branch or ref, as the agent wrote it
}

// Box is the directory of signals, with the handling of malformed ones.
type Box struct {
	Dir     *statedir.Dir
	Log     zerolog.Logger
	Refused func(kind string, why error) // called after the removal of a malformed signal
	// Remove removes a path in bounded time with the rights of the agent's user, because only that
	// user can empty its directories. If nil, this process removes the path, without a bound.
	Remove func(path string) error

	young    map[string]time.Time // when a possible signal was first seen
	looked   time.Time            // when the present check began
	refusals pace
}

// Waiting reports whether a signal waits that ends the agent. It removes malformed ones, which do not.
func (b *Box) Waiting() bool {
	b.removeStrays()
	return slices.ContainsFunc(kinds, b.waits)
}

// waits reports whether a signal of a kind waits, and removes a malformed one.
func (b *Box) waits(kind string) bool {
	_, found, err := read(b.path(kind))
	switch {
	case !found:
		delete(b.young, kind)
	case err == nil:
		return true
	case !errors.Is(err, errEmpty) || b.old(kind, emptyFor):
		b.refuse(kind, err)
	}
	return false
}

// Take passes each waiting signal to accept, which must save what it will do before it returns, because then
// Take removes the file. again says that a killed watcher had claimed the signal and may have saved it.
func (b *Box) Take(accept func(s Signal, again bool)) {
	b.removeStrays()
	for _, kind := range kinds {
		claimed := b.claimed(kind)
		if name, found, err := read(claimed); found {
			if err == nil {
				accept(Signal{kind, name}, true)
			}
			b.remove(claimed)
		}
		if !b.waits(kind) || os.Rename(b.path(kind), claimed) != nil {
			continue
		}
		if name, found, err := read(claimed); found && err == nil { // otherwise it was changed meanwhile
			accept(Signal{kind, name}, false)
		}
		b.remove(claimed)
	}
}

// Clear removes all signals, claimed or waiting, whatever they are, and returns how many
// there were.
func (b *Box) Clear() (n int) {
	b.removeStrays()
	for _, kind := range kinds {
		if statedir.Exists(b.claimed(kind)) {
			b.remove(b.claimed(kind))
			n++
		}
		if statedir.Exists(b.path(kind)) {
			b.remove(b.path(kind))
			n++
		}
	}
	return n
}

func (b *Box) path(kind string) string { return filepath.Join(b.Dir.Signals(), kind) }

// claimed returns the path of a claimed signal, which the agent cannot reach. A later file in .signal/ is a
// new signal.
func (b *Box) claimed(kind string) string { return b.Dir.Own("claimed-" + kind) }

// errEmpty is the error of an empty file, which the agent may be about to write.
var errEmpty = errors.New("it is empty")

// read reads a signal file. found says whether it exists; err says what is wrong with it.
func read(path string) (name string, found bool, err error) {
	data, err := statedir.ReadRegular(path, boot.MaxSignal)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, nil
	case err == nil && len(data) == 0:
		err = errEmpty
	case err == nil:
		name, err = boot.ParseSignal(data)
	}
	return name, true, err
}

// String is the signal as logs and reports name it.
func (s Signal) String() string { return fmt.Sprintf("%s %s", s.Kind, s.Name) }
