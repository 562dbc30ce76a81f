package signals

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// emptyFor is how long an empty file may still be written: a writer that does not rename
	// opens it first.
	emptyFor = time.Second
	// strayFor is how long a file of another name may still be renamed to a signal's.
	strayFor = 10 * time.Second
	// maxLooked bounds the names that are read in one check, and those that are remembered.
	maxLooked = 64
	// emptyTime bounds the time of one check for emptying directories, because the agent is not
	// watched meanwhile.
	emptyTime = time.Second
	// refusedPrefix begins the names of files that are being removed.
	refusedPrefix = ".refused-"
)

// refuse removes a malformed signal and reports it.
func (b *Box) refuse(name string, why error) {
	delete(b.young, name)
	b.remove(b.path(name))
	if more, now := b.refusals.count(time.Now()); now {
		if more > 0 {
			why = fmt.Errorf("%w; %d more of them were removed before", why, more)
		}
		b.Refused(name, why)
	}
}

// remove renames the path away at once, whatever it is. The watcher owns the directory of
// signals and may rename there; only the agent's user may empty or move a directory of its
// own.
func (b *Box) remove(path string) {
	if os.Remove(path) == nil {
		return
	}
	to := filepath.Join(b.Dir.Signals(), fmt.Sprintf("%s%d", refusedPrefix, time.Now().UnixNano()))
	if err := os.Rename(path, to); err != nil {
		b.Log.Error().Err(err).Msg("the signal cannot be removed")
		return
	}
	b.empty(to)
}

// empty removes a renamed directory, as much as the time of one check allows; later checks continue. The
// watcher does not walk the directory itself, because the agent could fill it faster.
func (b *Box) empty(path string) {
	remove := b.Remove
	if remove == nil {
		remove = b.removeBelow
	}
	if time.Since(b.looked) > emptyTime {
		return
	}
	if err := remove(path); err != nil {
		b.Log.Warn().Err(err).Msg("a malformed signal is out of the way and not gone yet")
	}
}

// removeBelow removes a path in the directory of signals.
func (b *Box) removeBelow(path string) error {
	root, err := os.OpenRoot(b.Dir.Signals())
	if err != nil {
		return err
	}
	defer root.Close()
	return root.RemoveAll(filepath.Base(path))
}

// removeStrays removes files without a signal's name that stay, and what an earlier look left.
// Names that begin with a dot are about to be renamed to a signal's.
func (b *Box) removeStrays() {
	b.looked = time.Now()
	names := b.names()
	for _, name := range names {
		switch {
		case strings.HasPrefix(name, refusedPrefix):
			b.empty(b.path(name))
		case !strings.HasPrefix(name, ".") && !isKind(name) && b.old(name, strayFor):
			b.refuse(name, errors.New("no signal has this name"))
		}
	}
	for name := range b.young {
		if !isKind(name) && !slices.Contains(names, name) {
			delete(b.young, name)
		}
	}
}

// names returns at most maxLooked names in the directory.
func (b *Box) names() []string {
	dir, err := os.Open(b.Dir.Signals())
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxLooked)
	return names
}

func isKind(name string) bool { return slices.Contains(kinds, name) }

// old reports whether a name has existed for some time since it was first seen.
func (b *Box) old(name string, after time.Duration) bool {
	first, known := b.young[name]
	if !known && (isKind(name) || len(b.young) < maxLooked) {
		if b.young == nil {
			b.young = map[string]time.Time{}
		}
		b.young[name] = time.Now()
	}
	return known && time.Since(first) >= after
}

const (
	// pacedBurst is how many refusals are reported individually within pacedTime; the others
	// are one report with their number.
	pacedBurst = 20
	pacedTime  = time.Minute
)

// pace limits how often a message is written, and counts those suppressed.
type pace struct {
	began  time.Time // of the present interval of pacedTime
	said   int       // messages written in it
	unsaid int       // messages suppressed since the last written one
}

// count counts a message, and reports whether to write it now and how many were suppressed
// before.
func (p *pace) count(now time.Time) (unsaid int, say bool) {
	if p.began.IsZero() || now.Sub(p.began) >= pacedTime {
		p.began, p.said = now, 0
	}
	if p.said >= pacedBurst {
		p.unsaid++
		return 0, false
	}
	p.said++
	unsaid, p.unsaid = p.unsaid, 0
	return unsaid, true
}
