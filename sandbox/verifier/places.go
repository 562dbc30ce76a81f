package verifier

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"git-ward/internal/scratch"
)

// hostName is where a command's own /tmp has the machine's.
const hostName = ".host"

// Places is what the commands of one launch, each apart from the others, come by in common: the
// links to what lies in /tmp are made once, and a command gets another name of each. A link that is
// made and removed for each command is an inode made and removed, which takes ten times as long,
// and far longer on a file system that looks for inodes that were not removed a moment ago
// (ext4 without a journal).
type Places struct {
	trying sync.Mutex
	apart  bool // commands can be kept apart here, which was tried

	dir  *scratch.Dir
	mu   sync.Mutex
	made map[string]int // how many links there are for each place
}

// NewPlaces makes places for many commands. The caller closes them.
func NewPlaces() (*Places, error) {
	dir, err := scratch.Make("", "places-")
	return &Places{dir: dir, made: map[string]int{}}, err
}

// Close removes the links. Each command keeps its own.
func (p *Places) Close() error { return p.dir.Remove() }

// shared is why commands cannot be kept apart, "" where they can. Only a failure is tried again: the
// machine may have had no room for a moment.
func (p *Places) shared(try func() error) string {
	p.trying.Lock()
	defer p.trying.Unlock()
	if p.apart {
		return ""
	}
	if err := try(); err != nil {
		return err.Error()
	}
	p.apart = true
	return ""
}

// link has a command's own place lead to what a place of the machine has. What has gone meanwhile, and
// the command's own directory, which is there already, are passed over.
func (p *Places) link(at, own string, entries []fs.DirEntry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := filepath.Join(p.dir.Path, at)
	_ = os.MkdirAll(kept, 0o700) // without it each link is made anew
	for _, e := range entries {
		to, from, link := filepath.Join(hostName, e.Name()), filepath.Join(kept, e.Name()), filepath.Join(own, e.Name())
		err := os.Link(from, link)
		if errors.Is(err, fs.ErrNotExist) && os.Symlink(to, from) == nil {
			p.made[at]++
			err = os.Link(from, link)
		}
		if err != nil { // a file system without such names, or no room for one more
			_ = os.Symlink(to, link)
		}
	}
	if p.made[at] > 2*len(entries)+spareLinks {
		p.prune(at, kept, entries)
	}
}

// spareLinks is how many links to what has gone are kept at least.
const spareLinks = 100

// prune removes the links to what has gone. One that stays costs an inode and nothing more.
func (p *Places) prune(at, kept string, entries []fs.DirEntry) {
	there := make(map[string]bool, len(entries))
	for _, e := range entries {
		there[e.Name()] = true
	}
	links, err := os.ReadDir(kept)
	if err != nil {
		return
	}
	p.made[at] = 0
	for _, l := range links {
		if there[l.Name()] || os.Remove(filepath.Join(kept, l.Name())) != nil {
			p.made[at]++
		}
	}
}
