package audit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/hooks/push"
	"git-ward/internal/atomicfile"
	"git-ward/internal/git"
)

func reflogPath(repo *git.Repo, ref string) string {
	return filepath.Join(repo.Dir, "logs", filepath.FromSlash(UnquoteRef(ref)))
}

func noReflog(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EISDIR)
}

// reflogSize is the size of a ref's reflog in bytes, 0 when there is none.
func reflogSize(repo *git.Repo, ref string) (int64, error) {
	info, err := os.Stat(reflogPath(repo, ref))
	if noReflog(err) || err == nil && info.IsDir() {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Move is one line of a reflog.
type Move struct{ Old, New string }

// Reflog calls visit with each move in a ref's reflog from a byte offset on, oldest first. ok
// is false if there is no reflog.
func Reflog(repo *git.Repo, ref string, from int64, visit func(Move)) (ok bool, err error) {
	f, err := os.Open(reflogPath(repo, ref))
	if noReflog(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.IsDir() {
		return false, err
	}
	if from <= info.Size() { // else the ref was deleted and created again
		if _, err := f.Seek(from, io.SeekStart); err != nil {
			return false, err
		}
	}
	for lines := bufio.NewReaderSize(f, 4096); ; {
		line, err := lines.ReadSlice('\n')
		head := string(line[:min(len(line), 82)])
		for errors.Is(err, bufio.ErrBufferFull) { // a long message: git cuts none
			_, err = lines.ReadSlice('\n')
		}
		if old, rest, found := strings.Cut(head, " "); found {
			to, _, _ := strings.Cut(rest, " ")
			visit(Move{old, to})
		}
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return true, err
		}
	}
}

// applied reports whether a ref made its move after the push was admitted, without another
// push's record having it: by the reflog or, if that is gone with a deleted ref, by its
// present value.
func (p *Pending) applied(repo *git.Repo, batch *git.Batch, u push.Update) (bool, error) {
	made, err := p.made(repo, batch, u)
	if err != nil || made == 0 {
		return false, err
	}
	recorded, err := recordedSince(batch, p.Since, u)
	return made > recorded, err
}

// made counts how often a ref made its move after the push was admitted.
//
// The position in the reflog counts, not the time: git reads the clock once per process,
// perhaps a second before the hook's start.
func (p *Pending) made(repo *git.Repo, batch *git.Batch, u push.Update) (n int, err error) {
	now := git.Zero
	object, err := batch.Info(UnquoteRef(u.Ref))
	if err == nil {
		now = object.ID
	} else if !errors.Is(err, git.ErrMissing) {
		return 0, err
	}
	least := 0
	if now == u.New { // the least, where no reflog says more
		least = 1
	}
	if u.New == git.Zero {
		return least, nil
	}
	ok, err := Reflog(repo, u.Ref, p.Reflogs[u.Ref], func(m Move) {
		if m.Old == u.Old && m.New == u.New {
			n++
		}
	})
	if !ok {
		n = least
	}
	return n, err
}

// recordedSince counts the records after a chain commit that have a move.
func recordedSince(batch *git.Batch, since string, u push.Update) (n int, err error) {
	for r, err := range recordsSince(batch, since) {
		if err != nil {
			return 0, err
		}
		for _, ref := range r.Refs {
			if ref.Applied && ref.Update == u {
				n++
			}
		}
	}
	return n, nil
}

// BeginReflog writes the first line, the present value, of the reflog of a ref without one,
// such as a ref from a clone. It reports whether there was none. A push that begins it at the
// same time does the same job.
func BeginReflog(repo *git.Repo, ref, tip string, when time.Time) (begun bool, err error) {
	path := reflogPath(repo, ref)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	dirs, file := fs.FileMode(0o755), fs.FileMode(0o644)
	if top, err := os.Stat(repo.Dir); err == nil && atomicfile.Shared(top.Mode()) {
		dirs, file = top.Mode(), 0o664 // the group's pushes append to it
	}
	if err := makeDirs(repo.Dir, filepath.Dir(path), dirs); err != nil {
		return false, err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "tmp_reflog_")
	if err != nil {
		return false, err
	}
	defer os.Remove(f.Name())
	_, err = fmt.Fprintf(f, "%s %s %s %d +0000\tward: the reflog begins\n", git.Zero, tip, git.Ward, when.Unix())
	if err := errors.Join(err, f.Chmod(file), f.Sync(), f.Close()); err != nil {
		return false, err
	}
	if err = os.Link(f.Name(), path); errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// makeDirs makes what is missing of the directories between top and dir.
func makeDirs(top, dir string, mode fs.FileMode) error {
	if dir == top {
		return nil
	}
	if err := makeDirs(top, filepath.Dir(dir), mode); err != nil {
		return err
	}
	if err := os.Mkdir(dir, mode.Perm()); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	return os.Chmod(dir, mode)
}
