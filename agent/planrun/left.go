package planrun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"git-ward/internal/atomicfile"
	"git-ward/internal/diag"
	"git-ward/protocols/plan"
)

// intentPath has the current step: changes in the tree are its own, and it may have run
// already when the next run begins.
func (u *run) intentPath() string { return intentPath(u.repo.Dir) }

func intentPath(gitDir string) string { return filepath.Join(gitDir, "ward-step") }

func (u *run) intent(n int) string { return u.name(n) + " " + u.base }

func (u *run) intend(p point) error {
	now := u.intent(p.n)
	before, _ := os.ReadFile(u.intentPath())
	u.repeated = p.Tool == plan.Bash && strings.TrimSpace(string(before)) == now
	return atomicfile.Write(u.intentPath(), []byte(now+"\n"), 0o644)
}

func (u *run) clearIntent() { os.Remove(u.intentPath()) }

// intended reports whether a step of this plan was interrupted.
func (u *run) intended() bool { return intended(u.repo.Dir, u.path) }

func intended(gitDir, plan string) bool {
	data, _ := os.ReadFile(intentPath(gitDir))
	return strings.HasPrefix(string(data), plan+"#")
}

// clean resets the working tree to its commit: it sets aside what an interrupted step left,
// and does not touch changes by others.
func (u *run) clean(ctx context.Context) error {
	_, err := os.Stat(u.intentPath())
	interrupted := err == nil
	if interrupted {
		if err := u.clearLocks(ctx); err != nil {
			return err
		}
	}
	status, err := u.deps.Tree.Git(ctx, "status", "--porcelain", "--untracked-files=all", "--", ".", ":(exclude)logs")
	if err == nil && status == "" { // tracked files below logs/ are the person's
		status, err = u.deps.Tree.Git(ctx, "status", "--porcelain", "--untracked-files=no", "--", "logs")
	}
	if !interrupted && err != nil || err == nil && status == "" {
		return err
	}
	if !interrupted {
		first, _, _ := strings.Cut(status, "\n")
		return diag.Hint(fmt.Errorf("the working tree has changes that are not committed, such as %s", diag.Clean(strings.TrimSpace(first))),
			"commit them, or git stash: each step of a plan becomes a commit of its own")
	}
	return u.putAside(ctx, "an interrupted", "HEAD")
}

// leftRef is a local ref to the state that a failed or interrupted step left; its reflog has
// earlier ones.
const leftRef = "refs/ward-left"

// putAside commits the working tree to leftRef, and resets branch and tree to a commit. It can
// itself be interrupted at any point.
func (u *run) putAside(ctx context.Context, which, to string) error {
	if err := u.stageLeft(ctx); err != nil {
		return err
	}
	tree, err := u.deps.Tree.Git(ctx, "write-tree")
	if err != nil {
		return err
	}
	was, err := u.deps.Tree.Git(ctx, "rev-parse", "HEAD^{tree}")
	if err != nil {
		return err
	}
	if tree != was { // else nothing was left
		id, err := u.deps.Tree.Git(ctx, "commit-tree", tree, "-p", "HEAD", "-m", "ward: left by "+which+" step of "+u.path)
		if err != nil {
			return err
		}
		if _, err := u.deps.Tree.Git(ctx, "update-ref", "--create-reflog", "-m", "ward: left by "+which+" step", leftRef, id); err != nil {
			return err
		}
	}
	_, err = u.deps.Tree.Git(ctx, "reset", "--quiet", "--hard", to)
	return err
}

// stageLeft stages everything that a hard reset would overwrite, including tracked files below
// logs/ and files marked assume-unchanged.
func (u *run) stageLeft(ctx context.Context) error {
	index := filepath.Join(u.repo.Dir, "index")
	if _, err := os.Lstat(index); errors.Is(err, fs.ErrNotExist) {
		os.Rename(index+".ward", index) // left by a run that was killed here
	}
	stage := func() error {
		if u.deps.Record == nil {
			// It reports that files differ, which is why they are set aside.
			u.deps.Tree.Git(ctx, "update-index", "-q", "--really-refresh")
		}
		err := u.stageAll(ctx)
		if err == nil && u.deps.Record == nil {
			_, err = u.deps.Tree.Git(ctx, "add", "--update")
		}
		return err
	}
	err := stage()
	if err == nil {
		return nil
	}
	// The index may be truncated; it is rebuilt from HEAD and the tree, and kept if that does
	// not help.
	if os.Rename(index, index+".ward") != nil {
		return err
	}
	if _, err = u.deps.Tree.Git(ctx, "read-tree", "HEAD"); err == nil {
		err = stage()
	}
	if err != nil {
		return errors.Join(err, os.Rename(index+".ward", index))
	}
	return os.Remove(index + ".ward")
}

// clearLocks removes the lock files of a git that was killed with the last run, but no lock of
// a running git. It waits first, because a child may still be ending.
func (u *run) clearLocks(ctx context.Context) error {
	names := []string{"index.lock", "HEAD.lock", localRef + ".lock"}
	if ref, err := u.deps.Tree.Git(ctx, "symbolic-ref", "--quiet", "HEAD"); err == nil {
		names = append(names, ref+".lock")
	}
	there := func(name string) bool {
		_, err := os.Lstat(filepath.Join(u.repo.Dir, filepath.FromSlash(name)))
		return err == nil
	}
	for range 100 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !slices.ContainsFunc(names, there) {
			return nil
		}
		time.Sleep(20 * time.Millisecond) // git removes its lock within two seconds, unless it was killed
	}
	_, err := u.repo.UnlockFiles(ctx, names...)
	return err
}
