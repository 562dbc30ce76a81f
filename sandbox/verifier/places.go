package verifier

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"git-ward/internal/scratch"
)

// hostName is where a command's own /tmp shows the machine's.
const hostName = ".host"

// Places has what the isolated commands of one launch share: the symbolic links to what lies in /tmp are
// made once, and each command gets a hard link to each of them. A symbolic link for each command would
// be an inode made and removed, which takes ten times as long, and far longer on a file system that
// avoids recently removed inodes (ext4 without a journal).
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

// Close removes the links. Running commands keep theirs.
func (p *Places) Close() error { return p.dir.Remove() }

// shared says why commands cannot be isolated, "" if they can. Only a failure is tried again, because
// the machine may have been short of room for a moment.
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

// link fills a command's own place with links to the entries of the machine's. It skips entries that are
// gone, and the command's own directory, which exists already.
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

// spareLinks is how many links, beyond two for each present entry, are kept before prune removes the
// dangling ones.
const spareLinks = 100

// prune removes dangling links. One that stays costs an inode and nothing else.
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
