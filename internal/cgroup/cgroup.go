// Package cgroup puts a process and its future children into a cgroup of its own, with limits
// on their total use (cgroups(7)).
package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Limits bound the processes of a group together; 0 means no limit.
type Limits struct {
	Memory    int64 // bytes, with swap
	Processes int64 // and threads
}

// Group is a cgroup that this process is in.
type Group struct {
	dirs []string // one of each hierarchy, of those that were made; none for a scope
	back []string // where the process was, in the same order
	name string
}

// ErrNone means that the caller cannot make a cgroup with limits on this machine.
var ErrNone = errors.New("this user can make no cgroup that limits memory and processes")

// Join makes the group of that name, or reuses the one that a dead process left, and moves
// this process into it. Where systemd owns cgroups, the group is a scope; otherwise it is a
// directory beside or below the process's own group. If none can be made, the error wraps
// ErrNone and gives the reason.
func Join(name string, l Limits) (*Group, error) {
	at, err := read(self)
	if err != nil {
		return nil, errors.Join(ErrNone, err)
	}
	if at.unified() && systemdRuns() {
		return joinScope(name, l)
	}
	g := &Group{name: name}
	for _, h := range at.hierarchies() {
		if err := g.join(h, l); err != nil {
			return nil, errors.Join(ErrNone, err, g.Leave())
		}
	}
	if len(g.dirs) == 0 {
		return nil, fmt.Errorf("%w: the kernel has no controller of memory and processes", ErrNone)
	}
	return g, nil
}

// join makes the group in one hierarchy.
func (g *Group) join(h hierarchy, l Limits) error {
	dir := filepath.Join(h.parent, g.name)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	// It is recorded first, so that Leave removes a half-made group.
	g.dirs, g.back = append(g.dirs, dir), append(g.back, h.own)
	for _, s := range h.settings(l) {
		err := os.WriteFile(filepath.Join(dir, s.file), []byte(s.value), 0)
		if err != nil && !(s.optional && errors.Is(err, os.ErrNotExist)) {
			return err
		}
	}
	return move(dir)
}

// move puts this process, with all its threads, into a group.
func move(dir string) error {
	return os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0)
}

// leaving is how long Leave waits for the last processes of a group, which the kernel counts
// until they are reaped.
const leaving = 3 * time.Second

// Leave moves this process back to where it was and removes the group. If other processes are
// still in it, it stays, and the next Join of the same name reuses it.
func (g *Group) Leave() error {
	var errs []error
	for i, dir := range g.dirs {
		if err := move(g.back[i]); err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, remove(dir))
	}
	return errors.Join(errs...)
}

// remove removes a group and its descendants.
func remove(dir string) error {
	below, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range below {
		if e.IsDir() {
			err = errors.Join(err, remove(filepath.Join(dir, e.Name())))
		}
	}
	if err != nil {
		return err
	}
	for end := time.Now().Add(leaving); ; time.Sleep(5 * time.Millisecond) { // the kernel sends no notification
		if err = os.Remove(dir); err == nil || time.Now().After(end) {
			return err
		}
	}
}

// String describes the group's limits for people.
func (g *Group) String() string {
	if len(g.dirs) == 0 {
		return "systemd's scope " + g.name
	}
	return "cgroup " + strings.Join(g.dirs, ", ")
}
