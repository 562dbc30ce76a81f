// Package signals is how the agent asks the watcher for something: a file in
// .signal/ whose name is the kind and whose one line names a branch or a ref
// (BOOT-1). A signal is claimed by a rename to where the agent cannot reach, so
// that none is lost and none is done twice.
package signals

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// kinds, in the order in which they are done: a rollback is the way out of trouble.
var kinds = []string{Rollback, Bootstrap}

// Signal is what an agent asked for.
type Signal struct {
	Kind string `json:"kind"`
	Name string `json:"name"` // of a branch or ref, as the agent wrote it
}

// Box is the directory of signals, and what follows from one that is malformed.
type Box struct {
	Dir     *statedir.Dir
	Log     zerolog.Logger
	Refused func(kind string, why error) // is told of a malformed signal, after it was removed
}

// Waiting reports whether a signal waits that ends the agent. Malformed ones are
// removed at once: they are no reason to.
func (b *Box) Waiting() bool {
	for _, kind := range kinds {
		_, found, err := read(b.path(kind))
		switch {
		case found && err == nil:
			return true
		case found:
			b.refuse(kind, err)
		}
	}
	return false
}

// Take hands over the waiting signals. accept must have written down what it will do
// with one when it returns: then the file goes. again is whether the signal was
// claimed by a watcher that was killed, which may have written it down before.
func (b *Box) Take(accept func(s Signal, again bool)) {
	for _, kind := range kinds {
		claimed := b.claimed(kind)
		if name, found, err := read(claimed); found {
			if err == nil {
				accept(Signal{kind, name}, true)
			}
			os.RemoveAll(claimed)
		}
		if _, found, err := read(b.path(kind)); !found {
			continue
		} else if err != nil {
			b.refuse(kind, err)
			continue
		}
		if !b.claim(kind) {
			continue
		}
		if name, found, err := read(claimed); found && err == nil { // else it changed under our eyes
			accept(Signal{kind, name}, false)
		}
		os.RemoveAll(claimed)
	}
}

func (b *Box) path(kind string) string    { return filepath.Join(b.Dir.Signals(), kind) }
func (b *Box) claimed(kind string) string { return b.Dir.Own("claimed-" + kind) }

// claim moves a signal to where the agent cannot reach it. What arrives under its
// name from now on is another one.
func (b *Box) claim(kind string) bool {
	return os.Rename(b.path(kind), b.claimed(kind)) == nil
}

// refuse removes a malformed signal and reports it. A directory of the agent's
// cannot be moved to another directory or removed by another user: it is renamed.
func (b *Box) refuse(kind string, why error) {
	if b.claim(kind) {
		os.RemoveAll(b.claimed(kind))
	} else if os.RemoveAll(b.path(kind)) != nil {
		to := filepath.Join(b.Dir.Signals(), fmt.Sprintf(".refused-%s-%d", kind, time.Now().UnixNano()))
		if err := os.Rename(b.path(kind), to); err != nil {
			b.Log.Error().Err(err).Msg("the signal cannot be removed")
		}
	}
	b.Refused(kind, why)
}

// read reads a signal file. found is whether there is one; err says what is wrong
// with it.
func read(path string) (name string, found bool, err error) {
	data, err := statedir.ReadRegular(path, boot.MaxSignal)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err == nil {
		name, err = boot.ParseSignal(data)
	}
	return name, true, err
}

// String is the signal as logs and reports name it.
func (s Signal) String() string { return fmt.Sprintf("%s %s", s.Kind, s.Name) }
