package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"git-ward/internal/git"
)

// borrow lets a clone read the remote's objects by alternates, on this machine, so that
// nothing is copied. The remote may delete objects that its refs no longer reach; mend repairs
// the clone then.
func (c *clone) borrow() error {
	alternates := filepath.Join(c.gitDir(), "objects", "info", "alternates")
	if err := os.MkdirAll(filepath.Dir(alternates), 0o755); err != nil {
		return err
	}
	lent := filepath.Join(c.store.Bare, "objects") + "\n"
	if c.lends != "" {
		lent += c.lends + "\n"
	}
	return put(alternates, []byte(lent))
}

// begin makes the repository if it is missing, and repairs an existing one.
func (c *clone) begin(ctx context.Context) error {
	_, old := os.Lstat(c.gitDir())
	if err := c.ensure(ctx); err != nil || errors.Is(old, fs.ErrNotExist) {
		return err
	}
	_, err := c.mend(ctx)
	return err
}

// git runs git in the working tree. If it fails because the remote has deleted an object, the
// clone is mended and the command repeated. Exit 1 is a normal answer of most commands, but of
// git fetch a failure.
func (c *clone) git(ctx context.Context, args ...string) (out string, err error) {
	err = c.mending(ctx, func() error {
		out, err = c.plainly(ctx, args...)
		return err
	}, func(err error) bool { return git.SaidNo(err) && args[0] != "fetch" })
	return out, err
}

// moveRef moves a ref of the clone.
func (c *clone) moveRef(ctx context.Context, reflog string, update git.RefUpdate) error {
	return c.mending(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, gitTimeout)
		defer cancel()
		return git.MoveRef(ctx, c.dir, c.store.Environ(), reflog, update)
	}, git.SaidNo)
}

// mending repeats something that fails with more than a normal answer, if the clone had to be
// mended.
func (c *clone) mending(ctx context.Context, do func() error, answer func(error) bool) error {
	err := do()
	if err == nil || ctx.Err() != nil || answer(err) || c.store.Bare == "" {
		return err
	}
	if mended, no := c.mend(ctx); no != nil || !mended {
		return errors.Join(err, no)
	}
	return do()
}

func (c *clone) plainly(ctx context.Context, args ...string) (string, error) {
	return c.store.run(ctx, c.dir, args...)
}

// checkedOut is the clone's commit. Plain git reads it, because git may mend a clone that somebody
// uses.
func (c *clone) checkedOut(ctx context.Context) (string, error) {
	if head, ok := c.repo().Direct(ctx, "HEAD^{commit}"); ok && head != "" {
		return head, nil
	}
	return c.plainly(ctx, "rev-parse", "--verify", "HEAD^{commit}")
}

// gone reports whether the clone is no repository with a commit any more. Only git's own word counts,
// where there is something to read: one that did not start, or was ended, says nothing.
func (c *clone) gone(ctx context.Context) (bool, error) {
	if _, err := os.Lstat(c.gitDir()); errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return true, nil
	}
	_, err := c.checkedOut(ctx)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 128 {
		return true, nil
	}
	return false, err
}

// whole reports whether no object is missing that a commit or tree needs or, with --all, that
// HEAD and the refs need. The remote has what its refs reach, so only objects beyond them are
// walked.
func (c *clone) whole(ctx context.Context, what string) (bool, error) {
	tips, err := git.Open(c.store.Bare).Refs(ctx, "refs/")
	if err != nil || len(tips) == 0 {
		return true, err
	}
	var has strings.Builder
	for _, tip := range tips {
		fmt.Fprintf(&has, "^%s\n", tip.ID)
	}
	walk := func(what string) error {
		_, _, err := c.store.runInput(ctx, c.dir, has.String(), "rev-list", "--quiet", "--objects", what, "--stdin")
		return err
	}
	err = walk(what)
	if err == nil {
		return true, nil
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 128 { // it was cancelled, or did not start
		return false, err
	}
	return false, walk(tips[0].ID) // an error other than a missing object
}

// mend rebuilds the refs of a clone whose objects are missing, and reports whether it had to.
// Copies of the remote's refs are deleted; the next fetch brings what remains. Local commits
// stay: if their history is gone, as one commit on top of the project's. The working tree is
// not touched, because a program may run from there.
func (c *clone) mend(ctx context.Context) (bool, error) {
	if whole, err := c.whole(ctx, "--all"); whole || err != nil {
		return false, err
	}
	for _, name := range []string{"commit-graph", "commit-graphs"} { // they list commits that are gone
		if err := removeAll(filepath.Join(c.gitDir(), "objects", "info", name)); err != nil {
			return false, err
		}
	}
	tips, err := c.repo().Refs(ctx, "refs/")
	if err != nil {
		return false, err
	}
	head, err := c.plainly(ctx, "rev-parse", "--verify", "--quiet", "HEAD")
	if err != nil && !git.SaidNo(err) {
		return false, err
	}
	if head != "" {
		// Unchanged files from the remote become objects of the clone's own. If that fails,
		// HEAD may be lost, but the files stay.
		if whole, err := c.whole(ctx, head); err != nil {
			return false, err
		} else if !whole {
			for _, args := range [][]string{{"add", "--update"}, {"add", "--renormalize", "."}, {"write-tree"}} {
				c.plainly(ctx, args...)
			}
		}
		if _, err := c.plainly(ctx, "symbolic-ref", "--quiet", "HEAD"); git.SaidNo(err) {
			tips = append(tips, git.Tip{Name: "HEAD", ID: head})
		}
	}
	for _, tip := range tips {
		if err := c.mendRef(ctx, tip); err != nil {
			return false, err
		}
	}
	whole, err := c.whole(ctx, "--all")
	for _, tip := range tips { // such as a local tag of a deleted commit
		if whole || err != nil {
			break
		}
		if made(tip.Name) {
			continue
		}
		if good, no := c.whole(ctx, tip.Name); !good && no == nil {
			err = c.drop(ctx, tip.Name)
		}
	}
	return true, err
}

// made reports whether a ref has local commits: the others are copies of the remote's, or
// records, which only continue the remote's.
func made(ref string) bool {
	return !slices.ContainsFunc([]string{"refs/remotes/", "refs/tags/", "refs/notes/", "refs/ward/"},
		func(copied string) bool { return strings.HasPrefix(ref, copied) })
}

// mendRef removes a ref whose object is gone, because the remote's objects are the only ones
// that can be. A local commit on top of a deleted one becomes one on top of the project.
func (c *clone) mendRef(ctx context.Context, tip git.Tip) error {
	batch := c.repo().Batch(ctx)
	defer batch.Close()
	o, data, err := batch.Read(tip.ID, recordSize)
	switch {
	case errors.Is(err, git.ErrMissing):
		return c.drop(ctx, tip.Name)
	case err != nil || o.Kind != "commit" || !made(tip.Name):
		return err
	}
	if whole, err := c.whole(ctx, tip.ID); whole || err != nil {
		return err
	}
	commit, err := git.ParseCommit(data)
	if commit == nil {
		return err
	}
	if whole, err := c.whole(ctx, commit.Tree); err != nil {
		return err
	} else if !whole {
		return c.drop(ctx, tip.Name)
	}
	project, err := git.Open(c.store.Bare).Ref(ctx, c.store.Control.ProjectRef())
	if err != nil {
		return err
	}
	id, _, err := c.store.runInput(ctx, c.dir, commit.Message, "commit-tree", commit.Tree, "-p", project)
	if err != nil {
		return err
	}
	_, err = c.plainly(ctx, "update-ref", "--no-deref", tip.Name, strings.TrimSpace(id), tip.ID)
	return err
}

// drop deletes a ref; a detached HEAD then points to the project's branch, which need not
// exist.
func (c *clone) drop(ctx context.Context, ref string) error {
	args := []string{"update-ref", "--no-deref", "-d", ref}
	if ref == "HEAD" {
		args = []string{"symbolic-ref", "HEAD", "refs/heads/" + c.store.Control.Project}
	}
	_, err := c.plainly(ctx, args...)
	return err
}
