package planrun

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"strings"

	"git-ward/internal/git"
	"git-ward/internal/scratch"
	"git-ward/internal/worktree"
	"git-ward/protocols/record"
)

// localRef has the steps of plans that a program runs by itself in an agent's working clone.
// It is not pushed: what counts is the result, which the iteration's end commits, and the
// files below .ward/.
const localRef = "refs/ward-steps"

// LocalRecord is a Record in the clone alone (git ward plan run in an agent's clone).
type LocalRecord struct {
	tree *worktree.Tree
	repo *git.Repo
	tip  string
}

// OpenLocal opens the steps of a working clone.
func OpenLocal(ctx context.Context, t *worktree.Tree) (*LocalRecord, error) {
	repo, err := t.Repo(ctx)
	if err != nil {
		return nil, err
	}
	r := &LocalRecord{tree: t, repo: repo}
	if r.tip, err = r.repo.Ref(ctx, localRef); r.tip == git.Zero {
		r.tip = ""
	}
	return r, err
}

// Tip implements Record.
func (r *LocalRecord) Tip() string { return r.tip }

// Plan brings a plan, and returns its commit: a new one on the working tree as it is, or
// the newest there is where its text is the same. What was changed in the tree since the
// last step is then taken along as well, unless a kill left it.
func (r *LocalRecord) Plan(ctx context.Context, path string, data []byte, again bool) (since string, err error) {
	if !again {
		if since, err = r.newest(ctx, path, data); err != nil {
			return "", err
		}
	}
	if since != "" && intended(r.repo.Dir, path) {
		return since, nil
	}
	onto := "HEAD"
	if since != "" {
		onto = r.tip + "^2"
	}
	work, err := r.work(ctx, onto)
	if err != nil || since != "" && work == "" {
		return since, err
	}
	if since != "" {
		_, err = r.Commit(ctx, "plan: the tree was changed between steps of "+path+"\n", work, nil)
		return since, err
	}
	if work == "" {
		if work, err = r.tree.Git(ctx, "rev-parse", "--verify", "HEAD^{commit}"); err != nil {
			return "", err
		}
	}
	files, err := r.Uncommitted(ctx)
	if err != nil {
		return "", err
	}
	files[path] = data
	return r.Commit(ctx, fmt.Sprintf("plan: %s\n\n%s: %s\n%s: %s\n", path, record.TrailerPlan, path, TrailerRun, git.BlobID([]byte(rand.Text()))), work, files)
}

// newest is the commit of a path's newest plan, "" if its text differs.
func (r *LocalRecord) newest(ctx context.Context, path string, data []byte) (string, error) {
	if r.tip == "" {
		return "", nil
	}
	out, err := r.tree.Git(ctx, "log", "--first-parent", "--no-show-signature", "--no-notes", "--format=%H", "-1", "--fixed-strings",
		"--grep="+record.TrailerPlan+": "+path, r.tip, "--")
	if err != nil || out == "" {
		return "", err
	}
	batch := r.repo.Batch(ctx)
	defer batch.Close()
	o, err := batch.Info(out + ":" + path)
	if err != nil || o.ID != git.BlobID(data) {
		return "", err
	}
	return out, nil
}

// work is a commit of the working tree on top of another one, "" if the trees are equal.
func (r *LocalRecord) work(ctx context.Context, onto string) (string, error) {
	if _, err := r.tree.Git(ctx, "add", "--all"); err != nil {
		return "", err
	}
	tree, err := r.tree.Git(ctx, "write-tree")
	if err != nil {
		return "", err
	}
	before, err := r.tree.Git(ctx, "rev-parse", "--verify", onto+"^{tree}")
	if err != nil || before == tree {
		return "", err
	}
	return r.tree.Git(ctx, "commit-tree", tree, "-p", onto, "-m", "plan: the tree before a plan")
}

// Commit implements Record.
func (r *LocalRecord) Commit(ctx context.Context, message, second string, files map[string][]byte) (string, error) {
	tree, err := r.treeWith(ctx, files)
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree", tree}
	for _, parent := range []string{r.tip, second} {
		if parent != "" {
			args = append(args, "-p", parent)
		}
	}
	if r.tip == "" { // so that the second parent has its position
		root, err := r.tree.Git(ctx, "commit-tree", tree, "-m", "plan: begin")
		if err != nil {
			return "", err
		}
		args = []string{"commit-tree", tree, "-p", root, "-p", second}
	}
	out, err := r.tree.GitInput(ctx, nil, []byte(message), append(args, "-F", "-")...)
	if err != nil {
		return "", err
	}
	id, old := strings.TrimSpace(string(out)), r.tip
	if old == "" {
		old = git.Zero
	}
	if _, err := r.tree.Git(ctx, "update-ref", "-m", "ward: a step", localRef, id, old); err != nil {
		return "", err
	}
	r.tip = id
	return id, nil
}

// treeWith is the tip's tree with added files, by a temporary index.
func (r *LocalRecord) treeWith(ctx context.Context, files map[string][]byte) (string, error) {
	if len(files) == 0 && r.tip != "" {
		return r.tree.Git(ctx, "rev-parse", "--verify", r.tip+"^{tree}")
	}
	dir, err := scratch.Make("", "index-")
	if err != nil {
		return "", err
	}
	defer dir.Remove()
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(dir.Path, "index")}
	if r.tip != "" {
		if _, err := r.tree.GitInput(ctx, env, nil, "read-tree", r.tip); err != nil {
			return "", err
		}
	}
	var info bytes.Buffer
	for path, data := range files {
		id, err := r.repo.WriteObject("blob", data)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&info, "100644 %s\t%s\x00", id, path)
	}
	if _, err := r.tree.GitInput(ctx, env, info.Bytes(), "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	out, err := r.tree.GitInput(ctx, env, nil, "write-tree")
	return strings.TrimSpace(string(out)), err
}

// Uncommitted implements Record. Nothing is below .ward/ that another program could not have
// put there, so that it is taken as it is.
func (r *LocalRecord) Uncommitted(ctx context.Context) (map[string][]byte, error) {
	paths, err := r.tree.Walk(worktree.RecordDir, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	have := map[string]string{}
	if r.tip != "" {
		out, err := r.tree.Git(ctx, "ls-tree", "-r", "-z", "--full-tree", r.tip)
		if err != nil {
			return nil, err
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
			if head, path, ok := strings.Cut(line, "\t"); ok {
				have[path] = strings.Fields(head)[2]
			}
		}
	}
	files := map[string][]byte{}
	for _, path := range paths {
		data, err := r.tree.Read(path, maxFile)
		if err != nil {
			return nil, err
		}
		if name := strings.TrimPrefix(path, worktree.RecordDir+"/"); git.BlobID(data) != have[name] {
			files[name] = data
		}
	}
	return files, nil
}
