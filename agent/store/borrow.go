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

	"git-ward/internal/git"
)

// borrow lets a clone read the remote's objects where they lie, on this machine: what is
// there already is not copied, however much it is. The remote may free what no ref of its
// own leads to any more; mend puts that right.
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

// begin makes the repository if it is not there, and puts right what is broken in it: not in a new one.
func (c *clone) begin(ctx context.Context) error {
	_, old := os.Lstat(c.gitDir())
	if err := c.ensure(ctx); err != nil || errors.Is(old, fs.ErrNotExist) {
		return err
	}
	_, err := c.mend(ctx)
	return err
}

// git runs git in the working tree. It fails, too, for an object that the remote has freed;
// then the clone is mended, and it is done again. Of exit 1, an answer of most commands, git
// fetch makes a failure.
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

// mending does something again where it fails, with another error than an answer, and the
// clone had to be mended.
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

// whole reports whether no object is missing that a commit or a tree needs, or with --all,
// that HEAD and the refs need. What the remote's refs lead to, the remote has, so only what
// is here beyond them is walked.
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
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 128 { // it was ended, or not begun
		return false, err
	}
	return false, walk(tips[0].ID) // which is not for a missing object
}

// mend makes the refs of a clone anew where objects that they need are freed, and reports
// whether it did. What was the remote's goes; the next fetch brings what the remote still
// has. What was committed here stays: where the history below it is gone, as one commit
// upon the project's. The working tree is not touched, a program may run from there.
func (c *clone) mend(ctx context.Context) (bool, error) {
	if whole, err := c.whole(ctx, "--all"); whole || err != nil {
		return false, err
	}
	for _, name := range []string{"commit-graph", "commit-graphs"} { // they know commits that are gone
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
		// Files that the remote had, and that lie here as they were, become objects of the
		// clone's own. Where that does not go, HEAD may go, and the files stay.
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
	for _, tip := range tips { // such as a tag that was made here of what is gone
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

// made reports whether a ref is of commits that are made here: the others are copies of the
// remote's, or records, which continue what the remote has or nothing.
func made(ref string) bool {
	return !slices.ContainsFunc([]string{"refs/remotes/", "refs/tags/", "refs/notes/", "refs/ward/"},
		func(copied string) bool { return strings.HasPrefix(ref, copied) })
}

// mendRef takes away a ref whose object is gone. That was the remote's: what is made here
// lies here. A commit that was made here, on what is gone, becomes one upon the project.
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

// drop removes a ref; a HEAD that names a commit then names the project's branch, which
// need not be there.
func (c *clone) drop(ctx context.Context, ref string) error {
	args := []string{"update-ref", "--no-deref", "-d", ref}
	if ref == "HEAD" {
		args = []string{"symbolic-ref", "HEAD", "refs/heads/" + c.store.Control.Project}
	}
	_, err := c.plainly(ctx, args...)
	return err
}
