package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"git-ward/hooks/push"
	"git-ward/internal/git"
)

func pendingDir(repo *git.Repo) string { return filepath.Join(repo.Dir, "ward", "pending") }

// asideDir is the directory for unreadable files.
func asideDir(repo *git.Repo) string { return filepath.Join(repo.Dir, "ward", "aside") }

// ownMode is the mode of files that nobody but the owner reads.
const ownMode fs.FileMode = 0o600

// fileMode is the mode of files in ward/: if several users push (ID-3), the directory is their
// group's, and each must be able to continue what another left.
func fileMode(dir string) fs.FileMode {
	if info, err := os.Stat(dir); err == nil && info.Mode()&0o020 != 0 {
		return ownMode | 0o060
	}
	return ownMode
}

func removeFile(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// LoadPending reads the pending pushes, and lists unreadable files. Each of those may be the
// only trace of a push, and none blocks the others.
func LoadPending(repo *git.Repo) (all []*Pending, broken []string, err error) {
	dir, err := os.Open(pendingDir(repo))
	if err != nil {
		return nil, nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(maxPendingFiles)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	slices.Sort(names) // by time: that is how push ids begin
	for _, name := range names {
		if strings.HasPrefix(name, ".") && strings.Contains(name, ".json") {
			sweep(filepath.Join(pendingDir(repo), name))
			continue
		}
		if strings.HasPrefix(name, ".") || !strings.HasSuffix(name, ".json") {
			continue // somebody's
		}
		p, err := readPending(filepath.Join(pendingDir(repo), name))
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			// its post-receive was faster, or it is another user's
		case err != nil:
			broken = append(broken, name)
		default:
			all = append(all, p)
		}
	}
	return all, broken, nil
}

// Waiting lists the files of pushes without a record, those under way included.
func Waiting(repo *git.Repo) (names []string, err error) {
	all, _, err := LoadPending(repo)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, p := range all {
		names = append(names, filepath.Base(p.path))
	}
	return names, err
}

// Moving lists admitted pushes that may still move their refs.
func Moving(repo *git.Repo, batch *git.Batch) (ids []string, err error) {
	all, _, err := LoadPending(repo)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, p := range all {
		if p.State == Admitted && !p.Over(repo, batch) {
			ids = append(ids, p.Record.Push)
		}
	}
	return ids, err
}

// UnderWay lists, by git's names, the refs that pushes being judged or admitted create or
// move, without those of one push. Deletions do not count, nor refs that the agent may not
// create, so that they cannot block others.
func UnderWay(repo *git.Repo, batch *git.Batch, but string) (names []string, err error) {
	all, _, err := LoadPending(repo)
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if p.Record.Push == but || p.State == Rejected || p.Over(repo, batch) {
			continue
		}
		for _, ref := range p.Record.Refs {
			name := UnquoteRef(ref.Ref)
			if ref.New != git.Zero && (p.Record.Principal != string(push.Agent) || push.IsAgentBranch(name)) {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// sweep removes the temporary file of a killed writer.
func sweep(path string) {
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > time.Hour {
		os.Remove(path)
	}
}

func readPending(path string) (*Pending, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxPending {
		return nil, errors.New("not a file of a push")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p := &Pending{path: path, written: info.ModTime()}
	if err := json.Unmarshal(data, p); err != nil {
		return nil, err
	}
	if p.Record == nil || p.Record.Push+".json" != filepath.Base(path) ||
		!slices.Contains([]State{Admitted, Arrived, Rejected}, p.State) {
		return nil, errors.New("not the record of its push")
	}
	return p, nil
}

// SetAside moves a broken pending file to ward/aside, where git ward fsck names it.
func SetAside(repo *git.Repo, name string) error {
	if err := os.Mkdir(asideDir(repo), 0o700); err == nil && fileMode(pendingDir(repo)) != ownMode {
		os.Chmod(asideDir(repo), 0o770|fs.ModeSetgid)
	} else if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	from, to := filepath.Join(pendingDir(repo), name), filepath.Join(asideDir(repo), name)
	for n := 1; ; n++ {
		if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil { // the directory is none, or another user's
			return err
		}
		to = filepath.Join(asideDir(repo), fmt.Sprintf("%s.%d", name, n))
	}
	err := os.Rename(from, to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // somebody else was faster
	}
	return err
}

// maxAside is how many files that were set aside are named.
const maxAside = 1000

// Aside lists the files that were set aside.
func Aside(repo *git.Repo) ([]string, error) {
	dir, err := os.Open(asideDir(repo))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(maxAside)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	slices.Sort(names)
	return names, err
}
