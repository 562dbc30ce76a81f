package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"git-ward/internal/glob"
	"git-ward/internal/lines"
)

// Arrived reports whether an object lies loose in the quarantine: then it came with this push,
// and the repository does not have it, because git unpacks no object that is there
// (object-file.c, write_object_file). It returns false for a push that git keeps as a pack,
// and outside hooks; then the caller must find out otherwise.
func (b *Batch) Arrived(id string) bool {
	dir := b.repo.quarantineDir()
	if dir == "" || !IsID(id) {
		return false
	}
	_, err := os.Stat(loosePath(dir, id))
	return err == nil
}

func loosePath(objects, id string) string { return objects + "/" + id[:2] + "/" + id[2:] }

// Quarantined calls visit with the id of every object of the push, unreachable ones included,
// in no order. An error of visit ends it.
func (r *Repo) Quarantined(ctx context.Context, visit func(id string) error) error {
	dir := r.quarantineDir()
	if dir == "" {
		return nil
	}
	if packs, err := glob.Below(dir, "pack/*.idx"); err != nil || len(packs) > 0 {
		return r.quarantinedByGit(ctx, dir, visit)
	}
	fans, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a push that only deletes brings no objects
	}
	if err != nil {
		return err
	}
	for _, fan := range fans {
		if len(fan.Name()) != 2 || !fan.IsDir() {
			continue
		}
		files, err := os.ReadDir(filepath.Join(dir, fan.Name()))
		if err != nil {
			return err
		}
		for _, f := range files {
			if id := fan.Name() + f.Name(); IsID(id) {
				if err := visit(id); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// quarantinedByGit asks git for the objects in packs and beside them: the
// quarantine is all of the object database that the child is shown.
func (r *Repo) quarantinedByGit(ctx context.Context, dir string, visit func(id string) error) error {
	cmd := r.writer(ctx, "cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objectname)")
	cmd.Env = append(cmd.Env, "GIT_OBJECT_DIRECTORY="+dir)
	errs := new(lines.Head)
	cmd.Stderr = errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if err := visit(lines.Text()); err != nil {
			cmd.Cancel()
			cmd.Wait()
			return err
		}
	}
	if err := errors.Join(lines.Err(), cmd.Wait()); err != nil {
		return ChildError(ctx, "cat-file", err, errs.Bytes())
	}
	return nil
}

// Stored returns those ids that the repository has outside the quarantine.
func (r *Repo) Stored(ctx context.Context, ids []string) (map[string]bool, error) {
	plain := *r
	plain.quarantine = nil
	out, err := plain.OutputFrom(ctx, []byte(strings.Join(ids, "\n")+"\n"), "cat-file", "--batch-check=%(objectname)")
	if err != nil {
		return nil, err
	}
	stored := make(map[string]bool, len(ids))
	for line := range strings.Lines(string(out)) {
		if id, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); rest == "" {
			stored[id] = true
		} else if rest != "missing" {
			return nil, fmt.Errorf("git cat-file: unexpected answer %q", line)
		}
	}
	return stored, nil
}

// QuarantineDir is the directory of the pushed objects, "" outside pre-receive and for a push
// that only deletes.
func (r *Repo) QuarantineDir() string {
	dir := r.quarantineDir()
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return dir
}

// quarantineDir is where receive-pack has put the pushed objects, "" outside
// pre-receive.
func (r *Repo) quarantineDir() string {
	for _, v := range r.quarantine {
		if path, ok := strings.CutPrefix(v, "GIT_OBJECT_DIRECTORY="); ok {
			if !filepath.IsAbs(path) {
				path = filepath.Join(r.Dir, path)
			}
			return path
		}
	}
	return ""
}

// WithObjectDir is the repository with an additional object directory, which receives what is written
// (WriteObject), also by reading commands (hash-object). The caller removes the directory with them.
func (r *Repo) WithObjectDir(dir string) *Repo {
	other := *r
	other.beside = dir
	other.quarantine = []string{"GIT_OBJECT_DIRECTORY=" + dir, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + filepath.Join(r.Dir, "objects")}
	return &other
}
