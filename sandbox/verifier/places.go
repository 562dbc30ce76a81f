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
// (ext4 without a journal). The zero value makes each anew.
type Places struct {
	once   sync.Once
	shared string // see Processes.Shared

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

// link has a command's own place lead to what a place of the machine has. What has gone meanwhile, and
// the command's own directory, which is there already, are passed over.
func (p *Places) link(at, own string, entries []fs.DirEntry) error {
	if p.dir == nil {
		for _, e := range entries {
			_ = os.Symlink(filepath.Join(hostName, e.Name()), filepath.Join(own, e.Name()))
		}
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := filepath.Join(p.dir.Path, at)
	if err := os.MkdirAll(kept, 0o700); err != nil {
		return err
	}
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
		return p.prune(at, kept, entries)
	}
	return nil
}

// spareLinks is how many links to what has gone are kept at least.
const spareLinks = 100

// prune removes the links to what has gone.
func (p *Places) prune(at, kept string, entries []fs.DirEntry) error {
	there := make(map[string]bool, len(entries))
	for _, e := range entries {
		there[e.Name()] = true
	}
	links, err := os.ReadDir(kept)
	if err != nil {
		return err
	}
	p.made[at] = 0
	for _, l := range links {
		if there[l.Name()] {
			p.made[at]++
		} else if err := os.Remove(filepath.Join(kept, l.Name())); err != nil {
			return err
		}
	}
	return nil
}
