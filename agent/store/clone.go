package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ward/internal/atomicfile"
	"git-ward/internal/git"
	"git-ward/internal/scratch"
	"git-ward/internal/shellword"
	"git-ward/protocols/record"
)

// clone is one of the agent's repositories with its working tree.
type clone struct {
	store     *Store
	dir       string
	directive string // whose work it is for, with the records of its units; "" for main's
	lends     string // objects that it reads beside the remote's, "" for none
}

func (c *clone) gitDir() string { return filepath.Join(c.dir, ".git") }

func (c *clone) repo() *git.Repo { return git.Open(c.gitDir()) }

// ensure makes the repository if it is missing, and rewrites its settings.
//
// It uses `git init` and `git fetch` instead of `git clone`: an interrupted fetch can be
// continued, and cloning from a path copies the object directory file by file, which fails if
// a push or gc changes it meanwhile.
func (c *clone) ensure(ctx context.Context) error {
	if _, err := os.Stat(c.gitDir()); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := c.create(ctx); err != nil {
			return err
		}
	}
	if err := c.clearLocks(); err != nil {
		return err
	}
	if err := c.borrow(); err != nil {
		return err
	}
	if err := c.store.writeHome(); err != nil {
		return err
	}
	return put(filepath.Join(c.gitDir(), "config"), formatConfig(c.settings()))
}

// put writes a file unless it already has that content, because settings are rewritten before
// every commit, and each write waits for the disk.
func put(path string, data []byte) error {
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() == int64(len(data)) {
		if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, data) {
			return nil
		}
	}
	return atomicfile.Write(path, data, 0o644)
}

// create makes an empty repository under a temporary name, so that a kill leaves none or a
// complete one.
func (c *clone) create(ctx context.Context) error {
	parent, name := filepath.Split(c.dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	half := filepath.Join(parent, "."+name+".half")
	if err := errors.Join(removeAll(half), removeAll(c.dir)); err != nil {
		return err
	}
	if _, err := c.store.run(ctx, parent, "init", "--quiet", "--template=", "--initial-branch=main", half); err != nil {
		return err
	}
	if err := os.Rename(half, c.dir); err != nil {
		return err
	}
	return atomicfile.SyncDir(parent)
}

// clearLocks removes a killed git's lock files. No git runs in the clone now: there is one
// agent, it waits for its children, and it has ended those of its predecessor.
func (c *clone) clearLocks() error {
	return filepath.WalkDir(c.gitDir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		parent, name := filepath.Base(filepath.Dir(path)), d.Name()
		if d.IsDir() {
			if parent == "objects" && len(name) == 2 {
				return filepath.SkipDir // objects, which are never locked
			}
			return nil
		}
		if strings.HasSuffix(name, ".lock") || (parent == "pack" && strings.HasPrefix(name, "tmp_")) {
			return os.Remove(path)
		}
		return nil
	})
}

// settings is a clone's complete config. It is rewritten each time, like the home's, because a
// model that works in the clone may change it.
func (c *clone) settings() []setting {
	list := []setting{
		{"core", "", "repositoryFormatVersion", "0"},
		{"core", "", "fileMode", "true"},
		{"core", "", "bare", "false"},
		{"core", "", "logAllRefUpdates", "true"},
		{"core", "", "hooksPath", "/dev/null"},
		// A background gc would hold locks in a tree that is being reset.
		{"gc", "", "autoDetach", "false"},
		{"maintenance", "", "autoDetach", "false"},
		{"user", "", "name", record.AgentName},
		{"user", "", "email", record.AgentMail},
		{"commit", "", "gpgSign", "false"},
		{"pull", "", "rebase", "true"},
		{"push", "", "default", "current"},
		{"ward", "", "principal", "agent"},
		{"merge", "ward-lessons", "driver", "git-ward lesson merge %O %A %B"},
		{"remote", "origin", "url", c.store.Bare},
		{"remote", "origin", "fetch", "+refs/heads/*:refs/remotes/origin/*"},
		// Lessons on other branches. A pattern, because a remote without lessons has no such
		// ref.
		{"remote", "origin", "fetch", "+refs/notes/lesson*:refs/notes/lesson*"},
	}
	list = append(list, setting{"ward", "", "control", c.store.Control.Branch}, setting{"ward", "", "project", c.store.Control.Project})
	if c.directive != "" {
		list = append(list,
			setting{"remote", "origin", "fetch", "+" + record.Prefix + c.directive + ".*:" + recordRefs + c.directive + ".*"},
			setting{"ward", "", "record", record.Dir})
	}
	if c.store.Door != "" {
		proxy := shellword.Line(c.store.Executable, "connect", c.store.Door)
		list = append(list, setting{"remote", "origin", "receivePack", proxy})
	}
	return list
}

// fetch updates refs/remotes/origin from the remote's branches, and refs/notes/lessons. Tags
// are fetched once and not moved.
func (c *clone) fetch(ctx context.Context) error {
	var refspecs []string
	for _, s := range c.settings() {
		if s.section == "remote" && s.key == "fetch" {
			refspecs = append(refspecs, s.value)
		}
	}
	if err := c.take(ctx, refspecs...); err != nil {
		return err
	}
	const tags = "refs/tags/*"
	theirs, ours, err := refsLike(ctx, git.Open(c.store.Bare), tags, c.repo(), tags)
	maps.DeleteFunc(theirs, func(name, _ string) bool { return ours[name] != "" })
	if err != nil || len(theirs) == 0 {
		return err
	}
	return c.moveRefs(ctx, "refs/tags/", theirs)
}

// take sets the clone's refs by refspecs from the remote. The clone reads the objects by
// alternates (borrow), so only refs are written: git fetch would start six children and walk
// everything new. If it fails, git fetch is used.
func (c *clone) take(ctx context.Context, refspecs ...string) error {
	for _, refspec := range refspecs {
		from, to, _ := strings.Cut(strings.TrimPrefix(refspec, "+"), ":")
		theirs, ours, err := refsLike(ctx, git.Open(c.store.Bare), from, c.repo(), to)
		if err != nil {
			return err
		}
		gone := maps.Clone(ours)
		maps.DeleteFunc(gone, func(name, _ string) bool { return theirs[name] != "" })
		for name := range gone {
			gone[name] = git.Zero
		}
		maps.DeleteFunc(theirs, func(name, id string) bool { return ours[name] == id })
		// A branch may be where a directory of branches was.
		for _, moves := range []map[string]string{gone, theirs} {
			if err := c.moveRefs(ctx, strings.TrimSuffix(to, "*"), moves); err == nil || ctx.Err() != nil {
				continue
			}
			if _, err := c.git(ctx, "fetch", "--quiet", "--prune", "--no-write-fetch-head", "--no-recurse-submodules", "origin", refspec); err != nil {
				return err
			}
			break // that does both
		}
	}
	return ctx.Err()
}

// moveRefs updates the refs below a prefix to a set, and deletes those that map to nothing.
func (c *clone) moveRefs(ctx context.Context, prefix string, ids map[string]string) error {
	if len(ids) == 0 {
		return nil
	}
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		if id := ids[name]; id == git.Zero {
			fmt.Fprintf(&lines, "delete %s%s\n", prefix, name)
		} else {
			fmt.Fprintf(&lines, "update %s%s %s\n", prefix, name, id)
		}
	}
	_, _, err := c.store.runInput(ctx, c.dir, lines.String(), "update-ref", "--no-deref", "--stdin")
	return err
}

// refsLike lists the refs of two repositories that match patterns ending in a star: ids by
// what the star matches.
func refsLike(ctx context.Context, far *git.Repo, from string, near *git.Repo, to string) (theirs, ours map[string]string, err error) {
	like := func(repo *git.Repo, pattern string) map[string]string {
		prefix := strings.TrimSuffix(pattern, "*")
		tips, no := repo.Refs(ctx, prefix[:strings.LastIndexByte(prefix, '/')+1])
		err = errors.Join(err, no)
		ids := map[string]string{}
		for _, tip := range tips {
			if rest, ok := strings.CutPrefix(tip.Name, prefix); ok {
				ids[rest] = tip.ID
			}
		}
		return ids
	}
	return like(far, from), like(near, to), err
}

// remote is a remote branch's commit at the last fetch, "" if it did not exist.
func (c *clone) remote(ctx context.Context, branch string) (string, error) {
	id, err := c.repo().Ref(ctx, "refs/remotes/origin/"+branch)
	if id == git.Zero {
		id = ""
	}
	return id, err
}

// resolve is a revision's commit, "" for none.
func (c *clone) resolve(ctx context.Context, revision string) (string, error) {
	batch := c.repo().Batch(ctx)
	defer batch.Close()
	o, err := batch.Info(revision + "^{commit}")
	if errors.Is(err, git.ErrMissing) {
		return "", nil
	}
	return o.ID, err
}

// isAncestor reports whether old equals new or is in its history.
func (c *clone) isAncestor(ctx context.Context, old, new string) (bool, error) {
	if git.IsID(old) { // mostly it is the same commit, by its id or by a name of it, or one beside it
		reader := c.repo().Reader(ctx)
		defer reader.Close()
		if tip, err := reader.Tip(new + "^{commit}"); err == nil && (tip == old || reader.Follows(tip, old)) {
			return true, nil
		} else if err == nil && reader.Follows(old, tip) {
			return false, nil
		}
	}
	_, err := c.git(ctx, "merge-base", "--is-ancestor", old, new)
	if git.SaidNo(err) {
		return false, nil
	}
	return err == nil, err
}

// setting is one line of a git config file.
type setting struct{ section, sub, key, value string }

// formatConfig writes a file that git-config(1) reads as these settings.
func formatConfig(list []setting) []byte {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	var b strings.Builder
	for _, s := range list {
		if s.sub == "" {
			fmt.Fprintf(&b, "[%s]\n", s.section)
		} else {
			fmt.Fprintf(&b, "[%s \"%s\"]\n", s.section, quote.Replace(s.sub))
		}
		fmt.Fprintf(&b, "\t%s = \"%s\"\n", s.key, quote.Replace(s.value))
	}
	return []byte(b.String())
}

// removeAll removes the agent's files in its state directory, which has nothing else
// (fence.Spec.State), also read-only directories, which build caches have. It follows no link
// out.
func removeAll(path string) error {
	parent, err := os.OpenRoot(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer parent.Close()
	name := filepath.Base(path)
	if parent.RemoveAll(name) == nil {
		return nil
	}
	scratch.MakeWritable(parent, name)
	return parent.RemoveAll(name)
}
