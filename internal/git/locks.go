package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"git-ward/internal/flock"
	"git-ward/internal/pattern"
	"git-ward/internal/process"
)

// staleAfter is the age at which git's lock on a ref belongs to nobody: Ward's own lock
// serializes updates of these refs, and git update-ref takes milliseconds.
const staleAfter = 5 * time.Second

// LockedOut reports whether git's lock file exists for one of the refs, which only the caller
// moves. It removes a lock that a killed process left.
func (r *Repo) LockedOut(refs ...string) bool {
	locked := false
	for _, ref := range refs {
		path := filepath.Join(r.Dir, ref+".lock")
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		locked = true
		if time.Since(info.ModTime()) > staleAfter {
			os.Remove(path)
		}
	}
	return locked
}

// Unlock removes git's lock files on refs that anybody may move, if no process is left that
// could have made them, and returns their names. SIGKILL leaves git's lock files, and other
// signals may leave the one being created. A leftover lock would refuse every later push to
// its ref. It waits until a lock is staleAfter old, for a holder that this machine cannot see.
func (r *Repo) Unlock(ctx context.Context, refs ...string) (removed []string, err error) {
	var names []string
	for _, ref := range refs {
		if lockable(ref) {
			names = append(names, ref+".lock")
		}
	}
	return r.UnlockFiles(ctx, names...)
}

// UnlockFiles is Unlock for lock files by their names in the repository, such as index.lock.
func (r *Repo) UnlockFiles(ctx context.Context, names ...string) (removed []string, err error) {
	root, err := os.OpenRoot(r.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for _, name := range names {
		was, err := root.Lstat(name)
		if err != nil || r.maybeHeld(ownerOf(was)) {
			continue
		}
		if age := time.Since(was.ModTime()); age >= 0 && age < staleAfter {
			select {
			case <-ctx.Done():
				return removed, context.Cause(ctx)
			case <-time.After(staleAfter - age):
			}
		}
		gone, err := r.unlock(ctx, root, name, was)
		if err != nil {
			return removed, err
		}
		if gone {
			removed = append(removed, name)
		}
	}
	return removed, nil
}

// lockable reports whether git makes a lock for this name itself. A pusher chooses names,
// and nobody has judged them yet: refs/../ward/audit is another file's.
func lockable(ref string) bool {
	ref = strings.TrimPrefix(ref, "logs/") // a reflog is locked while it expires
	return ref == "HEAD" || ref == "packed-refs" || strings.HasPrefix(ref, "refs/") && filepath.Clean(ref) == ref
}

// UnlockRefs is Unlock for every ref and reflog that has a lock.
func (r *Repo) UnlockRefs(ctx context.Context) (removed []string, err error) {
	names := []string{"HEAD.lock", "packed-refs.lock", "logs/HEAD.lock"}
	return r.UnlockFiles(ctx, slices.Concat(names, r.locks("logs/refs"), r.locks("refs"))...)
}

// atTop are the files at the top of a repository that git makes locks for
// (gitrepository-layout(5)). A name that is missing here costs a lock that stays.
var atTop = pattern.New(`^([A-Z_]+|config(\.worktree)?|gc\.pid|index|packed-refs|shallow)$`)

// UnlockAll is Unlock for every lock file of git's in the repository, and for half-written
// packs of a killed git. Maintenance calls it. Files of hooks and people, such as
// hooks/yarn.lock, stay.
func (r *Repo) UnlockAll(ctx context.Context) (removed []string, err error) {
	var names []string
	entries, err := os.ReadDir(r.Dir)
	for _, e := range entries {
		if file, ok := strings.CutSuffix(e.Name(), ".lock"); ok && e.Type().IsRegular() && atTop.MatchString(file) {
			names = append(names, e.Name())
		}
	}
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{"logs", "objects", "refs", "worktrees"} {
		names = append(names, r.locks(dir)...)
	}
	return r.UnlockFiles(ctx, append(names, r.halfPacks()...)...)
}

// halfPack is what a repack calls the files of a pack before they are whole. One of a repack that
// was killed has every later `git gc --cruft` fail.
var halfPack = pattern.New(`^\.tmp-\d+-pack-[0-9a-f]+\.[a-z]+$`)

// halfPacks are the names of such files. What was packed lies where it was: a repack removes it last.
func (r *Repo) halfPacks() (names []string) {
	entries, _ := os.ReadDir(filepath.Join(r.Dir, "objects/pack"))
	for _, e := range entries {
		if e.Type().IsRegular() && halfPack.MatchString(e.Name()) {
			names = append(names, filepath.Join("objects/pack", e.Name()))
		}
	}
	return names
}

// locks are the names of git's lock files below a directory of git's own.
func (r *Repo) locks(below string) (names []string) {
	filepath.WalkDir(filepath.Join(r.Dir, below), func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(r.Dir, path)
		switch {
		case err != nil:
			return nil // it is gone, or nobody may look
		case d.IsDir() && filepath.Dir(name) == "objects" && len(d.Name()) == 2: // loose objects
			return fs.SkipDir
		case d.Type().IsRegular() && strings.HasSuffix(name, ".lock"):
			names = append(names, name)
		}
		return nil
	})
	return names
}

// unlock removes a lock that has not changed. Only one process at a time does, so that none
// removes a newer process's lock.
func (r *Repo) unlock(ctx context.Context, root *os.Root, name string, was os.FileInfo) (bool, error) {
	alone, err := flock.Within(ctx, r.Dir, flock.Exclusive, staleAfter)
	if alone != nil {
		defer alone.Close()
	}
	if err != nil {
		return false, fmt.Errorf("%s, which a git that was killed left, cannot be removed: %w", name, err)
	}
	now, err := root.Lstat(name)
	if err != nil || !os.SameFile(was, now) || !was.ModTime().Equal(now.ModTime()) || r.maybeHeld(ownerOf(was)) {
		return false, nil
	}
	err = root.Remove(name)
	if errors.Is(err, fs.ErrNotExist) { // whoever made it has removed it meanwhile
		return false, nil
	}
	return err == nil, err
}

// maybeHeld reports whether a git works in the repository that is not one of those who
// started this process, or one of the lock's owner works where may not be looked: a lock is
// its maker's. Ward's own cat-file holds nothing, and may live as long as an agent; Ward's own programs
// have a git make their locks, and a launch is there for days.
func (r *Repo) maybeHeld(owner uint32) bool {
	all := process.All()
	parent := map[int]int{}
	for _, p := range all {
		parent[p.PID] = p.Parent
	}
	for pid := os.Getpid(); pid > 0; pid = parent[pid] {
		all = slices.DeleteFunc(all, func(p process.Info) bool { return p.PID == pid })
	}
	places, err := r.places()
	below := func(dir string) bool {
		return slices.ContainsFunc(places, func(place string) bool { return dir == place || strings.HasPrefix(dir, place+"/") })
	}
	named := func(text []byte) bool {
		return slices.ContainsFunc(places, func(place string) bool { return bytes.Contains(text, []byte(place)) })
	}
	return err != nil || slices.ContainsFunc(all, func(p process.Info) bool {
		if p.Dead {
			return false
		}
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID))
		program, rest, _ := bytes.Cut(line, []byte{0})
		name := filepath.Base(string(program))
		if !strings.HasPrefix(name, "git") || strings.HasPrefix(name, "git-ward") || isBatch(rest) {
			return false
		}
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID)) // GIT_DIR, of one that works elsewhere
		if named(rest) || named(environ) {
			return true
		}
		there, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", p.PID))
		if err != nil {
			info, gone := os.Stat(fmt.Sprintf("/proc/%d", p.PID))
			return gone == nil && ownerOf(info) == owner
		}
		return below(there)
	})
}

// isBatch reports whether these arguments of a git are a Batch's. A git that takes a lock does
// not know them, so they are not words of its message, or names of files.
func isBatch(args []byte) bool {
	return bytes.HasSuffix(append([]byte{0}, args...), []byte("\x00"+strings.Join(batchArgs, "\x00")+"\x00"))
}

// places are the directories in which a git works on the repository: its own or the tree around
// it, and each linked worktree, which has its locks in here.
func (r *Repo) places() ([]string, error) {
	common, err := ledTo(r.Dir, "commondir") // of a linked worktree's
	common = cmp.Or(common, r.Dir)
	here, notHere := filepath.EvalSymlinks(common)
	if err = errors.Join(err, notHere); err != nil {
		return nil, err
	}
	if filepath.Base(here) == ".git" { // it works at the top of the tree
		here = filepath.Dir(here)
	}
	places := []string{here}
	linked, _ := os.ReadDir(filepath.Join(common, "worktrees")) // mostly there are none
	for _, e := range linked {
		file, notRead := ledTo(filepath.Join(common, "worktrees", e.Name()), "gitdir")
		err = errors.Join(err, notRead)
		if real, gone := filepath.EvalSymlinks(filepath.Dir(file)); file != "" && gone == nil {
			places = append(places, real)
		}
	}
	return places, err
}

// ledTo is the path in one of git's files, such as a worktree's gitdir, "" if there is no such
// file.
func ledTo(dir, name string) (string, error) {
	data, err := os.ReadFile(filepath.Join(dir, name))
	switch path := strings.TrimSpace(string(data)); {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil || filepath.IsAbs(path):
		return path, err
	default:
		return filepath.Join(dir, path), nil
	}
}

func ownerOf(info os.FileInfo) uint32 { return info.Sys().(*syscall.Stat_t).Uid }
