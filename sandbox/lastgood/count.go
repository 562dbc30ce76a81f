package lastgood

import (
	"context"
	"errors"
	"path"

	"git-ward/internal/git"
	"git-ward/protocols/boot"
)

// Counted records an event that the watcher in a worker's container reports, so that the next
// container continues from the count.
func (b Book) Counted(ctx context.Context, said, directive string) error {
	c, err := boot.ParseCount(said)
	if err != nil {
		return err
	}
	is := onBranch
	if c.Of == boot.Deaths {
		is = b.inProject
	}
	_, err = b.count(ctx, boot.CountPrefix(c.Of, directive), c.Commit, c.By, is)
	return err
}

// Idle counts a worker whose program, that of a commit of main, answered and then did nothing. It returns
// how many in a row have.
func (b Book) Idle(ctx context.Context, commit string) (n int, err error) {
	return b.count(ctx, boot.CountPrefix(boot.Idle, ""), commit, 1, b.inProject)
}

// Works resets that count: a worker with the program has done something, or the program was given up.
func (b Book) Works(ctx context.Context, commit string) error {
	_, err := b.count(ctx, boot.CountPrefix(boot.Idle, ""), commit, -boot.MaxCount, b.inProject)
	return err
}

// Ended records how a worker of a directive ended, so that the next launch, too, knows how many in a row
// ended badly.
func (b Book) Ended(ctx context.Context, directive string, well bool) error {
	r, prefix := git.Open(b.Bare), boot.CountPrefix(boot.Ends, directive)
	if well {
		return forgetCount(ctx, r, prefix)
	}
	tip, err := r.Ref(ctx, b.Control.ProjectRef())
	if err == nil {
		_, err = b.count(ctx, prefix, tip, 1, b.inProject)
	}
	return err
}

// BadEnds counts, by directive, how many workers in a row have ended badly. It removes counts from when
// the project had another program. If some cannot be read, it returns the others with the error.
func (b Book) BadEnds(ctx context.Context) (map[string]int, error) {
	r, ends := git.Open(b.Bare), map[string]int{}
	list, err := r.Refs(ctx, boot.Prefix+boot.Ends+"/")
	if err != nil || len(list) == 0 {
		return nil, err
	}
	now, err := b.program(ctx, r, b.Control.ProjectRef())
	if err != nil {
		return nil, err
	}
	type program struct {
		code string
		err  error
	}
	programs := map[string]program{} // by commit: usually all have the same
	var over []git.RefUpdate
	for _, tip := range list {
		p, known := programs[tip.ID]
		if !known {
			p.code, p.err = b.program(ctx, r, tip.ID)
			programs[tip.ID] = p
			err = errors.Join(err, p.err)
		}
		switch {
		case p.err != nil:
		case p.code == now:
			ends[path.Base(path.Dir(tip.Name))]++
		default:
			over = append(over, git.RefUpdate{Ref: tip.Name, Old: tip.ID, New: git.Zero})
		}
	}
	if len(over) > 0 { // if one has moved meanwhile, all stay for the next launch
		_, lost := git.Swapped(r.UpdateRefs(ctx, "launch: reset", over...))
		err = errors.Join(err, lost)
	}
	return ends, err
}

// inProject says why a commit is not in the project's branch.
func (b Book) inProject(ctx context.Context, r *git.Repo, commit string) error {
	return leadsTo(ctx, r, b.Control.ProjectRef(), commit)
}

// count makes a list longer or shorter, and returns its new length. If two do so at once, one
// finds the ref already created or deleted, and counts again. A list of another program is
// replaced; another program's result is not subtracted from it.
func (b Book) count(ctx context.Context, prefix, commit string, by int, is func(context.Context, *git.Repo, string) error) (n int, err error) {
	if by < 0 { // usually there is none
		if list, err := git.Open(b.Bare).Refs(ctx, prefix); err != nil || len(list) == 0 {
			return 0, err
		}
	}
	return n, b.move(ctx, commit, "launch: counts", is, func(ctx context.Context, r *git.Repo) (moves []git.RefUpdate, err error) {
		list, err := r.Refs(ctx, prefix)
		if err != nil {
			return nil, err
		}
		stays := len(list)
		if stays > 0 {
			was, err := b.program(ctx, r, list[0].ID)
			if err != nil {
				return nil, err
			}
			switch now, err := b.program(ctx, r, commit); {
			case err != nil:
				return nil, err
			case now != was && by < 0:
				return nil, nil
			case now != was:
				stays = 0
			}
		}
		n = min(max(stays+by, 0), boot.MaxCount)
		for i := min(stays, n); i < max(n, len(list)); i++ {
			m := git.RefUpdate{Ref: boot.CountRef(prefix, i+1), Old: git.Zero, New: git.Zero}
			if i < len(list) {
				m.Old = list[i].ID
			}
			if i < n {
				m.New = commit
			}
			if m.New != m.Old {
				moves = append(moves, m)
			}
		}
		return moves, nil
	})
}

// forgetCount deletes the lists below a prefix.
func forgetCount(ctx context.Context, r *git.Repo, prefix string) error {
	return git.Update(ctx, git.Race{What: prefix}, func() (bool, error) {
		list, err := r.Refs(ctx, prefix)
		if err != nil || len(list) == 0 {
			return true, err
		}
		var moves []git.RefUpdate
		for _, tip := range list {
			moves = append(moves, git.RefUpdate{Ref: tip.Name, Old: tip.ID, New: git.Zero})
		}
		return git.Swapped(r.UpdateRefs(ctx, "launch: reset", moves...))
	})
}
