// Package signals reads the agent's requests to the watcher: a file in .signal/ whose name is
// the kind, with one line that names a branch or ref (BOOT-1). A signal is claimed by a rename
// to where the agent cannot reach, so that none is lost and none is done twice.
//
// Whatever else lies there, of whatever shape, is one malformed signal: it is removed and
// reported (remove.go).
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
	Rollback  = "rollback"  // to a branch, ref or commit, whose tree takes the place of main's
	Bootstrap = "bootstrap" // from a branch
)

// kinds are in the order in which they are served: a rollback first, because it is the way out
// of trouble.
var kinds = []string{Rollback, Bootstrap}

// Signal is one request of an agent.
type Signal struct {
	Kind string `json:"kind"`
	Name string `json:"name"` // of a branch or ref, as the agent wrote it
}

// Box is the directory of signals, and what follows from one that is malformed.
type Box struct {
	Dir     *statedir.Dir
	Log     zerolog.Logger
	Refused func(kind string, why error) // is called for a malformed signal after its removal
	// Remove removes a path with the rights of the agent's user, who alone can empty its
	// directories, in bounded time; nil removes as this process, without a bound.
	Remove func(path string) error

	young    map[string]time.Time // when a possible signal was first seen
	looked   time.Time            // when the present look began
	refusals pace
}

// Waiting reports whether a signal waits that ends the agent. Malformed ones are
// removed at once: they are no reason to.
func (b *Box) Waiting() bool {
	b.removeStrays()
	return slices.ContainsFunc(kinds, b.waits)
}

// waits reports whether a signal of a kind waits, and removes what is none.
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

// Take hands over the waiting signals. accept must have written down what it will do
// with one when it returns: then the file goes. again is whether the signal was
// claimed by a watcher that was killed, which may have written it down before.
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
		if name, found, err := read(claimed); found && err == nil { // else it changed under our eyes
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

// claimed is where the agent cannot reach a signal. What arrives under its name from now
// on is another one.
func (b *Box) claimed(kind string) string { return b.Dir.Own("claimed-" + kind) }

// errEmpty is a signal that somebody may be about to write.
var errEmpty = errors.New("it is empty")

// read reads a signal file. found is whether there is one; err says what is wrong
// with it.
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
