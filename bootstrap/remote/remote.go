// Package remote reads the bare repository for the watcher: which commit a signal names, and which code of
// a commit can run. It reads as the watcher's own user. The agent can write to the repository only by pushes.
package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/protocols/boot"
)

// lookTime bounds one git command.
const lookTime = 30 * time.Second

// Remote is the repository.
type Remote struct {
	// Main is the full name of the project's branch, from which agents are started, and
	// Control that of the branch with COMMS.md, which may be the same (CTRL-1).
	Main, Control string

	repo *git.Repo
}

// Open opens a bare repository with these branch names for reading.
func Open(bare string, c config.Control) *Remote {
	r := git.Open(bare)
	r.Limits = config.Default().GitLimits()
	return &Remote{Main: c.ProjectRef(), Control: c.Ref(), repo: r}
}

// ErrNotFound means that the repository has nothing under a name.
var ErrNotFound = errors.New("the repository has no such branch, ref or commit")

// Watch returns a watch for moves of full refs; it starts no process.
func (r *Remote) Watch(refs ...string) *git.Watch { return r.repo.Watch(refs...) }

// Commit returns the object id of a full ref, "" if the ref does not exist.
func (r *Remote) Commit(ctx context.Context, ref string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	id, err := r.repo.Ref(ctx, ref)
	if err != nil || id == git.Zero {
		return "", err
	}
	return id, nil
}

// Branch returns the commit of a branch, or ErrNotFound.
func (r *Remote) Branch(ctx context.Context, name string) (string, error) {
	return r.first(ctx, r.branch(name))
}

// branch returns the full name of a branch; boot.Main means the project's branch, whatever its name.
func (r *Remote) branch(name string) string {
	if name == boot.Main {
		return r.Main
	}
	return "refs/heads/" + name
}

// Revision returns the commit of a branch, tag, full ref or commit id of at least seven digits, or
// ErrNotFound.
func (r *Remote) Revision(ctx context.Context, name string) (string, error) {
	refs := []string{r.branch(name), "refs/tags/" + name}
	if strings.HasPrefix(name, "refs/") {
		refs = append(refs, name)
	}
	commit, err := r.first(ctx, refs...)
	if errors.Is(err, ErrNotFound) && strings.Trim(name, "0123456789abcdef") == "" && len(name) >= 7 {
		return r.peel(ctx, name)
	}
	return commit, err
}

// first returns the commit of the first ref that exists, or ErrNotFound.
func (r *Remote) first(ctx context.Context, refs ...string) (string, error) {
	for _, ref := range refs {
		id, err := r.Commit(ctx, ref)
		if err != nil {
			return "", err
		}
		if id != "" {
			return r.peel(ctx, id)
		}
	}
	return "", ErrNotFound
}

// peel returns the commit of an object id, which may be abbreviated.
func (r *Remote) peel(ctx context.Context, id string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	commit, err := r.repo.Commit(ctx, id)
	if err != nil {
		return "", ErrNotFound
	}
	return commit, nil
}

// Code returns a name for the runnable part of a commit's tree (boot.Program).
func (r *Remote) Code(ctx context.Context, commit string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	return boot.Program(r.repo.Tree(ctx, commit), r.Main != r.Control)
}

// Copied returns input for git update-ref --stdin that creates the branches and tags in a new clone.
func (r *Remote) Copied(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	var lines strings.Builder
	for _, prefix := range [][2]string{{"refs/heads/", "refs/remotes/origin/"}, {"refs/tags/", "refs/tags/"}} {
		tips, err := r.repo.Refs(ctx, prefix[0])
		if err != nil {
			return "", err
		}
		for _, tip := range tips {
			fmt.Fprintf(&lines, "create %s%s %s\n", prefix[1], strings.TrimPrefix(tip.Name, prefix[0]), tip.ID)
		}
	}
	return lines.String(), nil
}

// Good returns the commits of main whose programs held, newest first (boot.LastGood). It leaves out commits
// that main no longer has, because they were taken back.
func (r *Remote) Good(ctx context.Context) (list []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	for _, ref := range boot.GoodRefs() {
		id, err := r.Commit(ctx, ref)
		if err != nil {
			return nil, err
		}
		if id == "" {
			continue
		}
		beyond, err := r.repo.Output(ctx, "rev-list", "--max-count=1", id, "--not", r.Main, "--")
		if err != nil {
			return nil, err
		}
		if len(beyond) == 0 {
			list = append(list, id)
		}
	}
	return list, nil
}

// Counted returns the commits of the refs below a prefix of the host's counters (boot.CountPrefix).
func (r *Remote) Counted(ctx context.Context, prefix string) (list []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	tips, err := r.repo.Refs(ctx, prefix)
	for _, tip := range tips {
		list = append(list, tip.ID)
	}
	return list, err
}

// Passed reports whether the host lists a commit whose program passed a probation.
func (r *Remote) Passed(ctx context.Context, commit string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	tips, err := r.repo.Refs(ctx, boot.PassedPrefix)
	return slices.ContainsFunc(tips, func(tip git.Tip) bool { return tip.ID == commit }), err
}

// IsWard reports whether main, whatever branch runs, is Ward's own source.
func (r *Remote) IsWard(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	is, err := r.repo.Has(ctx, r.Main, boot.WardFiles...)
	return is && err == nil
}
