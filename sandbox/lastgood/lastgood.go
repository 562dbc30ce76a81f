// Package lastgood keeps, in refs below refs/ward, which programs can be trusted to run: the commit of
// main whose program worked last (refs/ward/last-good), the earlier ones, the one that was given up for
// an earlier one, the target of a rollback, those of branches that passed a probation, and a count of
// each program's failures. The watcher in the fence reports the events (BOOT-2, BOOT-4, ONE-2).
package lastgood

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/lines"
	"git-ward/protocols/boot"
)

// maxSaid is longer than any report of the watcher.
const maxSaid = len(boot.RolledBack) + 96

// NewWriter passes the fence's output on, except the watcher's reports about commits of main: for each
// report with the prefix it calls do. It is safe for concurrent use.
func NewWriter(out io.Writer, prefix string, do func(commit string) error) io.Writer {
	return lines.NewTaker(out, prefix, maxSaid, func(commit []byte) []byte {
		if err := do(string(bytes.TrimSpace(commit))); err != nil {
			return fmt.Appendf(nil, "ward: what held is not written down: %v\n", err)
		}
		return nil
	})
}

// Book is this list in a repository with these branch names.
type Book struct {
	Bare    string
	Control config.Control
}

// Held makes a commit whose program is reported to work the last good one. Another commit with the same
// program leaves the list; all others move down, and the oldest drops out. If the project's branch has
// that program now, no program counts as given up any more. A report about a program that was given up
// is ignored, because it started each time before it died. So is one about an earlier program of main's
// that is not on the list, because an agent may have rolled back to something that a person reverted.
func (b Book) Held(ctx context.Context, commit string) error {
	return b.move(ctx, commit, "watcher: held", b.onProject, func(ctx context.Context, r *git.Repo) ([]git.RefUpdate, error) {
		program, fallen, err := b.fallen(ctx, r, commit)
		if err != nil || program == "" {
			return nil, err
		}
		tip, err := b.program(ctx, r, b.Control.ProjectRef())
		if err != nil {
			return nil, err
		}
		if listed, err := b.listed(ctx, r, program); err != nil || tip != program && !listed {
			return nil, err
		}
		moves, err := b.list(ctx, r, program, commit)
		if err != nil || fallen == git.Zero || tip != program {
			return moves, err
		}
		return append(moves, git.RefUpdate{Ref: boot.Fallen, Old: fallen, New: git.Zero}), nil
	})
}

// Passed records that the program of a branch's commit is reported, by a directive's worker, to have
// passed a probation. It replaces the directive's earlier one.
func (b Book) Passed(ctx context.Context, commit, directive string) error {
	ref := boot.PassedRef(directive)
	return b.move(ctx, commit, "watcher: passed", onBranch, func(ctx context.Context, r *git.Repo) ([]git.RefUpdate, error) {
		old, err := r.Ref(ctx, ref)
		if err != nil || old == commit {
			return nil, err
		}
		if program, _, err := b.fallen(ctx, r, commit); err != nil || program == "" {
			return nil, err
		}
		return []git.RefUpdate{{Ref: ref, Old: old, New: commit}}, nil
	})
}

// Program names a commit's program, "" if it has none of its own.
func (b Book) Program(ctx context.Context, commit string) (string, error) {
	return b.program(ctx, git.Open(b.Bare), commit)
}

// Earlier reports whether the list has another program that can replace this one.
func (b Book) Earlier(ctx context.Context, program string) (bool, error) {
	r := git.Open(b.Bare)
	for _, ref := range boot.GoodRefs() {
		id, err := r.Ref(ctx, ref)
		if err != nil {
			return false, err
		}
		other, err := b.program(ctx, r, id)
		if err != nil || other != "" && other != program && leadsTo(ctx, r, b.Control.ProjectRef(), id) == nil {
			return err == nil, err
		}
	}
	return false, nil
}

// fallen returns the name of a commit's program, "" if it is the one that was given up, and the commit of
// that one's ref.
func (b Book) fallen(ctx context.Context, r *git.Repo, commit string) (program, fallen string, err error) {
	if fallen, err = r.Ref(ctx, boot.Fallen); err != nil {
		return "", "", err
	}
	gave, err := b.program(ctx, r, fallen)
	if err != nil {
		return "", "", err
	}
	if program, err = b.program(ctx, r, commit); program == gave {
		program = ""
	}
	return program, fallen, err
}

// Tried reports whether a commit's program is the newest of a directive that passed a probation, or the
// one that the project's branch has now: even if that one was given up, the commit does not change it.
func (b Book) Tried(ctx context.Context, commit string) (bool, error) {
	r := git.Open(b.Bare)
	wanted, err := b.program(ctx, r, commit)
	if err != nil || wanted == "" {
		return false, err
	}
	tips, err := r.Refs(ctx, boot.PassedPrefix)
	if err != nil {
		return false, err
	}
	for _, tip := range append(tips, git.Tip{Name: b.Control.ProjectRef()}) {
		if other, err := b.program(ctx, r, tip.Name); err != nil || other == wanted {
			return err == nil, err
		}
	}
	return false, nil
}

// listed reports whether a program is in the list.
func (b Book) listed(ctx context.Context, r *git.Repo, program string) (bool, error) {
	for _, ref := range boot.GoodRefs() {
		id, err := r.Ref(ctx, ref)
		if err != nil {
			return false, err
		}
		if other, err := b.program(ctx, r, id); err != nil || other == program {
			return err == nil, err
		}
	}
	return false, nil
}

// list removes a program from the list and puts commits before it. Commits that the project's
// branch no longer contains were reverted by a person, and are removed, too.
func (b Book) list(ctx context.Context, r *git.Repo, program string, list ...string) (moves []git.RefUpdate, err error) {
	refs, old := boot.GoodRefs(), map[string]string{}
	for _, ref := range refs {
		if old[ref], err = r.Ref(ctx, ref); err != nil {
			return nil, err
		}
		other, err := b.program(ctx, r, old[ref])
		if err != nil {
			return nil, err
		}
		if other != "" && other != program && leadsTo(ctx, r, b.Control.ProjectRef(), old[ref]) == nil {
			list = append(list, old[ref])
		}
	}
	for i, ref := range refs {
		now := git.Zero
		if i < len(list) {
			now = list[i]
		}
		if now != old[ref] {
			moves = append(moves, git.RefUpdate{Ref: ref, Old: old[ref], New: now})
		}
	}
	return moves, nil
}

// FellBack records that a commit's program is reported to have been given up for an earlier one. It
// leaves the list, and no longer counts as having passed a probation.
func (b Book) FellBack(ctx context.Context, commit string) error {
	return b.move(ctx, commit, "watcher: fell back", b.onProject, func(ctx context.Context, r *git.Repo) ([]git.RefUpdate, error) {
		program, err := b.program(ctx, r, commit)
		if err != nil || program == "" {
			return nil, err
		}
		moves, err := b.list(ctx, r, program)
		if err != nil {
			return nil, err
		}
		passed, err := r.Refs(ctx, boot.PassedPrefix)
		if err != nil {
			return nil, err
		}
		for _, tip := range passed {
			if other, err := b.program(ctx, r, tip.ID); err != nil {
				return nil, err
			} else if other == program {
				moves = append(moves, git.RefUpdate{Ref: tip.Name, Old: tip.ID, New: git.Zero})
			}
		}
		// A report about another program says nothing about the earlier main that is tried now.
		tip, err := b.program(ctx, r, b.Control.ProjectRef())
		if err != nil || tip != program {
			return moves, err
		}
		old, err := r.Ref(ctx, boot.Fallen)
		if err == nil && old != commit {
			moves = append(moves, git.RefUpdate{Ref: boot.Fallen, Old: old, New: commit})
		}
		return moves, err
	})
}

// Again records that a commit whose program was replaced is to be tried again, because the
// earlier programs fail, too.
func (b Book) Again(ctx context.Context, commit string) error {
	return b.move(ctx, commit, "watcher: tries again", b.onProject, func(ctx context.Context, r *git.Repo) ([]git.RefUpdate, error) {
		if fallen, err := r.Ref(ctx, boot.Fallen); err != nil || fallen != commit {
			return nil, err
		}
		return []git.RefUpdate{{Ref: boot.Fallen, Old: commit, New: git.Zero}}, nil
	})
}

// Forget makes the next start try the program that was given up, run main where an agent rolled back, and
// begin all counts anew, because the PM asked for that.
func (b Book) Forget(ctx context.Context) error {
	r := git.Open(b.Bare)
	err := b.unpin(ctx, "launch: reset", func(*git.Repo, string, string) (bool, error) { return true, nil })
	for _, of := range boot.Counted() {
		err = errors.Join(err, forgetCount(ctx, r, boot.Prefix+of+"/"))
	}
	if err != nil {
		return err
	}
	return git.Update(ctx, git.Race{What: boot.Fallen}, func() (bool, error) {
		fallen, err := r.Ref(ctx, boot.Fallen)
		if err != nil || fallen == git.Zero {
			return true, err
		}
		return git.Swapped(r.UpdateRefs(ctx, "launch: reset", git.RefUpdate{Ref: boot.Fallen, Old: fallen, New: git.Zero}))
	})
}

// program names a revision's program; "" is none, or a missing revision.
func (b Book) program(ctx context.Context, r *git.Repo, rev string) (string, error) {
	commit, err := r.Commit(ctx, rev)
	if err != nil {
		return "", ctx.Err()
	}
	return boot.Program(r.Tree(ctx, commit), b.Control.Split())
}

// onProject says why a commit is not on the project branch's first-parent history.
func (b Book) onProject(ctx context.Context, r *git.Repo, commit string) error {
	reader := r.Reader(ctx)
	defer reader.Close()
	if tip, err := reader.Tip(b.Control.ProjectRef()); err == nil && (tip == commit || reader.Follows(tip, commit)) {
		return nil
	}
	line, err := r.Output(ctx, "rev-list", "--first-parent", "--max-count=1000000", "--end-of-options", b.Control.ProjectRef(), "--")
	if err == nil && !bytes.Contains(line, []byte(commit+"\n")) {
		err = fmt.Errorf("%s is not a commit of %s", commit, b.Control.ProjectRef())
	}
	return err
}

// leadsTo says why a ref, or a set such as --branches, does not lead to a commit. It follows
// all parents, because fast-forwarding main to a merge of main makes main's old line the
// second parent.
func leadsTo(ctx context.Context, r *git.Repo, refs, commit string) error {
	beyond, err := r.Output(ctx, "rev-list", "--max-count=1", commit, "--not", refs, "--")
	if err == nil && len(beyond) > 0 {
		err = fmt.Errorf("%s is not on %s", commit, refs)
	}
	return err
}

// onBranch says why no branch leads to a commit.
func onBranch(ctx context.Context, r *git.Repo, commit string) error {
	return leadsTo(ctx, r, "--branches", commit)
}

// move moves refs after a report about a commit. Reports from inside the fence are not
// believed: the commit must be where it is required to be (BOOT-2).
func (b Book) move(ctx context.Context, commit, reflog string, is func(context.Context, *git.Repo, string) error, moves func(context.Context, *git.Repo) ([]git.RefUpdate, error)) error {
	if !git.IsID(commit) || commit == git.Zero {
		return fmt.Errorf("%.80q is no commit", commit)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	r := git.Open(b.Bare)
	r.Limits = config.Default().GitLimits()
	return git.Update(ctx, git.Race{What: "last-good", Tries: 10}, func() (bool, error) {
		if err := is(ctx, r, commit); err != nil {
			return false, err
		}
		list, err := moves(ctx, r)
		if err != nil || len(list) == 0 {
			return true, err
		}
		return git.Swapped(r.UpdateRefs(ctx, reflog, list...))
	})
}
