package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"git-ward/protocols/boot"
)

// maxRescued bounds the branches of one rescue.
const maxRescued = 10

// Rescue pushes what a tree of the agent's holds beyond the remote, so that the tree can be reset
// or removed (BOOT-4): each branch that is not pushed and, with all, what is not committed, as a
// commit. It pushes to rescue/<time> or, for a worker that has the lease of D-3, to
// rescue/D-3-<time>. It returns the branches; what the remote refuses stays in the tree below
// refs/rescue/.
func (s *Store) Rescue(ctx context.Context, dir, directive string, all bool, now time.Time) ([]string, error) {
	c := &clone{store: s, dir: dir}
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	if err := c.fetch(ctx); err != nil {
		return nil, err
	}
	tips, err := c.unpushed(ctx, all)
	if err != nil {
		return nil, err
	}
	var done []string
	var errs []error
	for i, tip := range tips {
		name := now.UTC().Format("20060102T150405Z")
		if directive != "" {
			name = directive + "-" + name
		}
		name = "rescue/" + name
		if i > 0 {
			name += fmt.Sprintf("-%d", i+1)
		}
		if _, err := c.git(ctx, "update-ref", "refs/"+name, tip); err != nil {
			return done, err
		}
		if err := c.push(ctx, tip, name); err != nil {
			errs = append(errs, fmt.Errorf("%s, which stays in %s as refs/%s: %w", name, dir, name, err))
			continue
		}
		done = append(done, name)
	}
	return done, errors.Join(errs...)
}

// unpushed are commits that together contain everything that the remote lacks: the working
// tree's first.
func (c *clone) unpushed(ctx context.Context, all bool) ([]string, error) {
	var tips []string
	take := func(ctx context.Context) (string, error) { return c.resolve(ctx, "HEAD") }
	if all {
		take = c.commitAll
	}
	head, err := take(ctx)
	if err != nil {
		return nil, err
	}
	out, err := c.git(ctx, "for-each-ref", "--format=%(objectname)", "refs/heads/")
	if err != nil {
		return nil, err
	}
	for _, id := range append([]string{head}, strings.Fields(out)...) {
		if id == "" || slices.Contains(tips, id) || len(tips) == maxRescued {
			continue
		}
		pushed, err := c.pushed(ctx, id)
		if err != nil {
			return nil, err
		}
		held := slices.ContainsFunc(tips, func(tip string) bool {
			ok, err := c.isAncestor(ctx, id, tip)
			return err == nil && ok
		})
		if !pushed && !held {
			tips = append(tips, id)
		}
	}
	return tips, nil
}

// commitAll commits the working tree as it is: HEAD if nothing differs, "" if there is
// nothing. No branch moves.
func (c *clone) commitAll(ctx context.Context) (string, error) {
	head, err := c.resolve(ctx, "HEAD")
	if err != nil {
		return "", err
	}
	if status, err := c.git(ctx, "status", "--porcelain", "--untracked-files=all"); err != nil || status == "" {
		return head, err
	}
	if _, err := c.git(ctx, "add", "--all"); err != nil {
		return "", err
	}
	tree, err := c.git(ctx, "write-tree")
	if err != nil {
		return "", err
	}
	parent := head
	if parent == "" {
		if parent, err = c.resolve(ctx, c.store.projectRef()); err != nil {
			return "", err
		}
	}
	return c.git(ctx, "commit-tree", "-m", "agent: what was in the working tree", "-p", parent, tree)
}

// SameCode reports whether a commit and a branch of the remote are the same
// program (protocols/boot). A commit that is not known is not.
func (w *Work) SameCode(ctx context.Context, commit, branch string) (bool, error) {
	if err := w.clone.fetch(ctx); err != nil {
		return false, err
	}
	return w.clone.sameCode(ctx, commit, "refs/remotes/origin/"+branch)
}

// HasCode reports whether a commit and the newest one here are the same program.
func (w *Work) HasCode(ctx context.Context, commit string) (bool, error) {
	return w.clone.sameCode(ctx, commit, "HEAD")
}

// SameCode is the same for two commits of main.
func (s *Store) SameCode(ctx context.Context, a, b string) (bool, error) {
	return s.main.sameCode(ctx, a, b)
}

func (c *clone) sameCode(ctx context.Context, a, b string) (bool, error) {
	var trees [2]string
	for i, revision := range []string{a, b} {
		id, err := c.resolve(ctx, revision)
		if err != nil || id == "" {
			return false, err
		}
		out, err := c.git(ctx, "ls-tree", "--full-tree", id)
		if err != nil {
			return false, err
		}
		for line := range strings.Lines(out) {
			if _, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); boot.IsCode(name) {
				trees[i] += line
			}
		}
		trees[i] = strings.TrimSuffix(trees[i], "\n")
	}
	return trees[0] == trees[1], nil
}
