package correct

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/failpoint"
	"git-ward/internal/git"
	"git-ward/internal/worktree"
	"git-ward/protocols/charter"
	"git-ward/protocols/lesson"
)

// maxFile bounds a file that a lesson changes.
const maxFile = 10 << 20

// indexPrefix begins the name of the temporary index for a commit.
const indexPrefix = "ward-lesson-index-"

// base is the parent of the next commit.
type base struct {
	tree   *worktree.Tree
	gitDir string
	batch  *git.Batch
	id     string
}

// open reads the checked out branch's tip.
func open(ctx context.Context, t *worktree.Tree) (*base, error) {
	repo, err := t.Repo(ctx)
	if err != nil {
		return nil, diag.Hint(err, "run it in a clone of a ward repository")
	}
	id, err := t.Git(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil {
		return nil, errors.New("the branch has no commit yet")
	}
	t.Sweep(indexPrefix)
	return &base{t, repo.Dir, repo.Batch(ctx), id}, nil
}

func (b *base) close() { b.batch.Close() }

// entry is a line of ls-tree; the zero entry is no file.
type entry struct{ mode, id, path string }

func (e entry) regular() bool { return e.mode == "100644" || e.mode == "100755" }

// entries lists the files of the commit at or below paths.
func (b *base) entries(ctx context.Context, paths ...string) (list []entry, err error) {
	args := append([]string{"--literal-pathspecs", "ls-tree", "-r", "-z", "--full-tree", b.id, "--"}, paths...)
	out, err := b.tree.GitInput(ctx, nil, nil, args...)
	if err != nil {
		return nil, err
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		head, path, _ := strings.Cut(line, "\t")
		if words := strings.Fields(head); len(words) == 3 {
			list = append(list, entry{words[0], words[2], path})
		}
	}
	return list, nil
}

// entry is the file at a path of the commit.
func (b *base) entry(ctx context.Context, path string) (entry, error) {
	list, err := b.entries(ctx, path)
	if err != nil || len(list) != 1 || list[0].path != path {
		return entry{}, err
	}
	return list[0], nil
}

// file reads a regular file of the commit, nil when there is none.
func (b *base) file(ctx context.Context, path string) ([]byte, error) {
	e, err := b.entry(ctx, path)
	if err != nil || !e.regular() {
		return nil, err
	}
	_, data, err := b.batch.Read(e.id, maxFile)
	return data, err
}

// protocols reads all of the commit's sources of AGENTS.md.
func (b *base) protocols(ctx context.Context) (files []charter.File, err error) {
	list, err := b.entries(ctx, strings.TrimSuffix(charter.Dir, "/"))
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		if e.mode == "100644" && charter.IsSource(e.path) {
			_, data, err := b.batch.Read(e.id, charter.MaxBytes)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.path, err)
			}
			files = append(files, charter.File{Path: e.path, Data: data})
		}
	}
	return files, nil
}

// lessonTree is the commit as a lesson sees it.
func (b *base) lessonTree(ctx context.Context) (lesson.Tree, error) {
	sources, err := b.protocols(ctx)
	return lesson.Tree{Protocols: sources, File: func(path string) ([]byte, error) { return b.file(ctx, path) }}, err
}

// commit commits files on top of the base, and updates the branch, the index and the working
// tree. Other uncommitted changes stay.
func (b *base) commit(ctx context.Context, files []charter.File, message string) (string, error) {
	var info bytes.Buffer
	for _, f := range files {
		e, err := b.entry(ctx, f.Path)
		if err != nil {
			return "", err
		}
		if err := b.settled(ctx, f, e); err != nil {
			return "", err
		}
		id, err := b.tree.GitInput(ctx, nil, f.Data, "hash-object", "-w", "--stdin")
		if err != nil {
			return "", err
		}
		e.mode = cmp.Or(e.mode, "100644")
		fmt.Fprintf(&info, "%s %s\t%s\x00", e.mode, strings.TrimSpace(string(id)), f.Path)
	}
	for _, f := range files {
		if err := b.tree.Write(f.Path, f.Data); err != nil {
			return "", err
		}
	}
	failpoint.Reach("correct/written")
	if _, err := b.tree.GitInput(ctx, nil, info.Bytes(), "update-index", "-z", "--index-info"); err != nil {
		return "", diag.Hint(err, "another git is at work here, or one was killed: then remove %s/index.lock and run this again", b.gitDir)
	}
	failpoint.Reach("correct/indexed")
	id, err := b.write(ctx, info.Bytes(), message)
	if err != nil {
		return "", err
	}
	subject, _, _ := strings.Cut(message, "\n")
	if _, err := b.tree.Git(ctx, "update-ref", "-m", subject, "HEAD", id, b.id); err != nil {
		return "", err
	}
	failpoint.Reach("correct/committed")
	return id, nil
}

// settled refuses to overwrite uncommitted work: a file must be as in the commit, or as a
// killed run wrote it.
func (b *base) settled(ctx context.Context, f charter.File, e entry) error {
	busy := diag.Hint(fmt.Errorf("%s has changes that are not committed", f.Path), "commit or stash them first: git stash push -- %s", f.Path)
	data, err := b.tree.Read(f.Path, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if e.mode != "" {
			return busy
		}
	case err != nil:
		return err
	case !bytes.Equal(data, f.Data) && (e.mode == "" || git.BlobID(data) != e.id):
		return busy
	}
	staged, err := b.tree.GitInput(ctx, nil, nil, "--literal-pathspecs", "ls-files", "-z", "--stage", "--", f.Path)
	if err != nil {
		return err
	}
	words := strings.Fields(string(staged))
	switch {
	case len(words) == 0 && e.mode == "", len(words) > 1 && (words[1] == e.id || words[1] == git.BlobID(f.Data)):
		return nil
	}
	return busy
}

// write stores the tree and the commit by a temporary index.
func (b *base) write(ctx context.Context, info []byte, message string) (string, error) {
	index, err := os.CreateTemp(b.gitDir, indexPrefix)
	if err != nil {
		return "", err
	}
	index.Close()
	os.Remove(index.Name()) // git creates it; it rejects an empty file
	defer os.Remove(index.Name())
	env := []string{"GIT_INDEX_FILE=" + index.Name()}
	for _, step := range []struct {
		stdin []byte
		args  []string
	}{{nil, []string{"read-tree", b.id}}, {info, []string{"update-index", "-z", "--index-info"}}} {
		if _, err := b.tree.GitInput(ctx, env, step.stdin, step.args...); err != nil {
			return "", err
		}
	}
	tree, err := b.tree.GitInput(ctx, env, nil, "write-tree")
	if err != nil {
		return "", err
	}
	id, err := b.tree.GitInput(ctx, nil, []byte(message), "commit-tree", "-p", b.id, "-F", "-", strings.TrimSpace(string(tree)))
	return strings.TrimSpace(string(id)), err
}
