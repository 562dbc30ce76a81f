// Package cache stores what verdicts need from the network and from earlier builds: modules,
// packages and compiled dependencies, as named by the lockfiles of the PM's own branch
// (LOOP-12). An entry is filled outside any verdict, by tools that run no code of the tree,
// sealed by a rename, and never written again. A verdict reads it below its own writable
// layer, which is removed afterwards.
package cache

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/diag"
	"git-ward/internal/scratch"
)

// Store is a directory of entries, of which the newest for a key counts.
type Store struct {
	Dir  string
	Size int64 // bytes that all entries may have together
}

// Entry is one that is sealed. Who has it holds it: it is not collected before Close.
type Entry struct {
	Dir  string
	Seal Seal
	held *os.File
}

// Seal is what an entry says of itself.
type Seal struct {
	Key   string    `json:"key"`
	Main  string    `json:"main"`  // the commit that it was filled from
	Kinds []Kind    `json:"kinds"` // of which it has something
	Time  time.Time `json:"time"`
	Bytes int64     `json:"bytes"`
	Inode uint64    `json:"inode"` // of the directory: a copy is no entry, and is nobody's to remove
}

const (
	sealFile = "ward.json"
	lockFile = "fill.lock"
)

// Close releases the entry, if there is one.
func (e *Entry) Close() error {
	if e == nil {
		return nil
	}
	return e.held.Close()
}

// Words are what a verdict says of the entry.
func (e *Entry) Words() string {
	kinds := make([]string, len(e.Seal.Kinds))
	for i, k := range e.Seal.Kinds {
		kinds[i] = string(k)
	}
	if len(kinds) == 0 {
		kinds = []string{"nothing"}
	}
	return fmt.Sprintf("%s of main's %s", strings.Join(kinds, ", "), diag.Short(e.Seal.Main))
}

// Newest is the newest entry of a key, nil for none. One that was filled from main itself
// is newer than any other.
func (s *Store) Newest(key, main string) (*Entry, error) {
	all, err := s.list()
	if err != nil {
		return nil, err
	}
	var best *Entry
	for _, e := range all {
		if e.Seal.Key == key && (best == nil || best.Seal.Main != main && (e.Seal.Main == main || e.Seal.Time.After(best.Seal.Time))) {
			best = e
		}
	}
	if best == nil {
		return nil, nil
	}
	if best.held, err = hold(best.Dir, unix.LOCK_SH); err != nil {
		return nil, nil // it is being collected
	}
	return best, nil
}

// name begins the name of an entry's directory. Its inode follows: an entry that was copied with its
// repository is none, and stands in nobody's way.
func (s *Seal) name() string { return s.Key[:min(len(s.Key), 16)] + "-" + diag.Short(s.Main) }

// list reads the seals of all entries. What has none of its own is no entry.
func (s *Store) list() (all []*Entry, err error) {
	dirs, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, d := range dirs {
		if !d.IsDir() {
			continue
		}
		e := &Entry{Dir: filepath.Join(s.Dir, d.Name())}
		data, err := os.ReadFile(filepath.Join(e.Dir, sealFile))
		info, statErr := d.Info()
		if err == nil && statErr == nil && json.Unmarshal(data, &e.Seal) == nil && e.Seal.Inode == info.Sys().(*syscall.Stat_t).Ino && strings.HasPrefix(d.Name(), e.Seal.name()) {
			all = append(all, e)
		}
	}
	return all, nil
}

// hold takes the lock of an entry, shared or alone, or fails at once.
func hold(dir string, how int) (*os.File, error) {
	f, err := os.Open(filepath.Join(dir, sealFile))
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// collect removes entries that a newer one of their key has taken
// the place of, and then the oldest until all fit. What somebody holds stays. The fill
// lock is held.
func (s *Store) collect() error {
	var all error
	entries, err := s.list()
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b *Entry) int { return cmp.Or(b.Seal.Time.Compare(a.Seal.Time), strings.Compare(a.Dir, b.Dir)) })
	total, seen := int64(0), map[string]bool{}
	for i, e := range entries {
		total += e.Seal.Bytes
		if i > 0 && (seen[e.Seal.Key] || total > s.Size) {
			removed, err := remove(e)
			all = errors.Join(all, err)
			if removed {
				total -= e.Seal.Bytes
			}
		}
		seen[e.Seal.Key] = true
	}
	return all
}

// remove takes an entry away, into a directory that is removed, so that nobody finds half
// of it.
func remove(e *Entry) (removed bool, err error) {
	f, err := hold(e.Dir, unix.LOCK_EX)
	if err != nil {
		return false, nil // in use
	}
	defer f.Close()
	aside, err := scratch.Make(filepath.Dir(e.Dir), "old-")
	if err != nil {
		return false, err
	}
	if err := os.Rename(e.Dir, filepath.Join(aside.Path, "entry")); err != nil {
		return false, errors.Join(err, aside.Remove())
	}
	return true, aside.Remove()
}
