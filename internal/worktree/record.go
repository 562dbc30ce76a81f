package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"git-ward/internal/branches"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// RecordDir is the directory in which the agent's working clone shows its unit's record
// (REC-1), and recordKey the setting of the clone that says so. Git has both by
// .git/info/exclude, and no commit has them.
const (
	RecordDir = ".ward"
	recordKey = "ward.record"
)

// RecordDir is that directory in the agent's working clone. It is "" in a person's clone,
// where plans, post-mortems and lessons lie at the top of the tree.
func (t *Tree) RecordDir(ctx context.Context) (string, error) {
	if t.record != nil {
		return *t.record, nil
	}
	repo, err := t.Repo(ctx)
	if err != nil {
		return "", err
	}
	settings, err := repo.Settings(ctx)
	if err != nil {
		return "", err
	}
	values := settings[recordKey]
	var dir string
	if len(values) > 0 {
		dir = values[len(values)-1]
	}
	if len(values) > 0 && dir != RecordDir {
		return "", diag.Hint(fmt.Errorf("git config %s is %q, which it cannot be", recordKey, dir), "git config --unset %s", recordKey)
	}
	t.record = &dir
	return dir, nil
}

// RecordPath is where a file of the record, such as postmortems/2026-11-22-D-1.md, lies in
// this tree.
func (t *Tree) RecordPath(ctx context.Context, name string) (string, error) {
	dir, err := t.RecordDir(ctx)
	return path.Join(dir, name), err
}

// InRecord reports whether a path of the tree is below RecordDir.
func InRecord(name string) bool { return name == RecordDir || strings.HasPrefix(name, RecordDir+"/") }

// Documents is the ref from which the control branch's documents are read. It is "" if the
// working tree itself has them: in a person's clone that has the control branch checked out.
func (t *Tree) Documents(ctx context.Context) (ref string, err error) {
	if t.documents != nil {
		return *t.documents, nil
	}
	names, err := t.Branches(ctx)
	if err != nil {
		return "", err
	}
	dir, err := t.RecordDir(ctx)
	if err != nil {
		return "", err
	}
	if ref = names.ControlRef(); dir == "" {
		if ref, err = t.besides(ctx, names); err != nil {
			return "", err
		}
	}
	t.documents = &ref
	return ref, nil
}

// besides is the ref of control's where a person's tree is of another history, as it is in
// an adopted project.
func (t *Tree) besides(ctx context.Context, names branches.Names) (string, error) {
	if !names.Split() {
		return "", nil
	}
	if _, err := t.Git(ctx, "merge-base", "HEAD", names.ControlRef()); git.SaidNo(err) {
		return names.ControlRef(), nil
	}
	return "", nil // related, or there is nothing to read at the ref
}

// Apart reports whether the tree is a person's of a project that knows nothing of Ward: no
// paper of Ward's belongs into it.
func (t *Tree) Apart(ctx context.Context) (bool, error) {
	if dir, err := t.RecordDir(ctx); err != nil || dir != "" {
		return false, err
	}
	ref, err := t.Documents(ctx)
	return ref != "", err
}

// Branches are the two branches of the clone (CTRL-1).
func (t *Tree) Branches(ctx context.Context) (branches.Names, error) {
	repo, err := t.Repo(ctx)
	if err != nil {
		return branches.Names{}, err
	}
	return branches.Of(ctx, repo)
}

// Document reads one of the control branch's documents, of at most limit bytes. A missing one
// is fs.ErrNotExist.
func (t *Tree) Document(ctx context.Context, path string, limit int64) ([]byte, error) {
	ref, err := t.Documents(ctx)
	if err != nil {
		return nil, err
	}
	if ref == "" {
		return t.Read(path, limit)
	}
	return t.At(ctx, ref, path, limit)
}

// At reads a regular file of a commit.
func (t *Tree) At(ctx context.Context, commit, path string, limit int64) ([]byte, error) {
	repo, err := t.Repo(ctx)
	if err != nil {
		return nil, err
	}
	batch := repo.Batch(ctx)
	defer batch.Close()
	o, data, err := batch.Read(commit+":"+path, limit)
	if errors.Is(err, git.ErrMissing) || err == nil && o.Kind != "blob" {
		return nil, &fs.PathError{Op: "read", Path: path + " of " + commit, Err: fs.ErrNotExist}
	}
	return data, err
}
