package planrun

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"git-ward/internal/git"
	"git-ward/internal/worktree"
	"git-ward/protocols/plan"
)

// Record is a unit's record, as far as steps are written to it (REC-2); store.Record is
// one.
type Record interface {
	Tip() string // its newest commit
	// Commit adds a commit; second is the work's commit that it describes, files are contents
	// by path on the record, nil leaves the tree unchanged.
	Commit(ctx context.Context, message, second string, files map[string][]byte) (id string, err error)
	// Uncommitted is what is below .ward/ but not on the record yet.
	Uncommitted(ctx context.Context) (map[string][]byte, error)
}

// trees is what a step works on: a commit of the work, and one of the record, "" for none,
// whose files are below .ward/.
type trees struct{ work, record string }

// newest is what the next plan is linted in.
func (r *Runner) newest() trees {
	if r.Record == nil {
		return trees{work: "HEAD"}
	}
	return trees{work: r.Record.Tip() + "^2", record: r.Record.Tip()}
}

// controlled finds the branch with the registry if it was not given.
func (r *Runner) controlled(ctx context.Context) error {
	if r.Control != "" {
		return nil
	}
	names, err := r.Tree.Branches(ctx)
	r.Control = names.ControlRef()
	return err
}

// maxTree bounds a tree object that is read.
const maxTree = 16 << 20

// commitTree is the tree of a commit.
func commitTree(commit string, batch *git.Batch) plan.Tree {
	return plan.InCommit[git.Entry]{Files: &git.Files{Commit: commit, Batch: batch}}
}

// lintOf lints plans that run in trees. The registry and the machines are the control branch's
// (CONF-1), at a commit or as given in the Runner; a person's branch without its own registry
// uses the same.
func (r *Runner) lintOf(batch *git.Batch, t trees, at string) (*plan.Linter, error) {
	control := commitTree(cmp.Or(at, r.Control), batch)
	work := commitTree(t.work, batch)
	if t.record != "" {
		return plan.NewRecordLinter(commitTree(t.record, batch), work, control), nil
	}
	kind, err := work.Kind(plan.RegistryPath)
	if kind == plan.Missing && err == nil {
		return plan.NewRecordLinter(noRecord{}, work, control), nil
	}
	return plan.NewLinter(work, func(path string) ([]byte, error) { return control.ReadFile(path, plan.MaxBytes) }), err
}

// noRecord stands for the record in a person's clone.
type noRecord struct{}

func (noRecord) Kind(string) (plan.Kind, error) { return plan.Missing, nil }

func (noRecord) ReadFile(path string, _ int64) ([]byte, error) {
	return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
}

// takeUp finds the plan's steps on the record, and resets the working tree to the last one.
func (u *run) takeUp(ctx context.Context) ([]done, error) {
	if _, err := os.Stat(u.intentPath()); err == nil {
		if err := u.clearLocks(ctx); err != nil {
			return nil, err
		}
	}
	u.batch = u.repo.Batch(ctx)
	control, err := u.brought(u.deps.Since)
	if err != nil {
		return nil, err
	}
	if u.lint, err = u.deps.lintOf(u.batch, trees{u.head, u.deps.Since}, control); err != nil {
		return nil, err
	}
	steps, err := u.recorded(ctx)
	if err != nil {
		return nil, err
	}
	if u.branch, u.tip, err = u.deps.Tree.Head(ctx); err != nil {
		return nil, err
	}
	return steps, u.restore(ctx)
}

// brought reads the commit of the plan: where the run begins, its name, and the control commit
// with the registry, "" if it names none.
func (u *run) brought(id string) (control string, err error) {
	_, data, err := u.batch.Read(id, maxTree)
	if err != nil {
		return "", err
	}
	c, err := git.ParseCommit(data)
	if err := git.Forgive(err); err != nil {
		return "", err
	}
	if len(c.Parents) != 2 {
		return "", fmt.Errorf("%.12s is no commit of a plan on the record", id)
	}
	message := c.Text(c.Message)
	u.base, u.head = id, c.Parents[1]
	if names := git.Trailers(message, TrailerRun); len(names) == 1 && git.IsID(names[0]) {
		u.base = names[0]
	}
	if names := git.Trailers(message, TrailerControl); len(names) == 1 && git.IsID(names[0]) {
		if _, err := u.batch.Info(names[0]); err == nil {
			control = names[0]
		}
	}
	return control, nil
}

// recorded are the run's steps on the record; the head is the work after the newest.
func (u *run) recorded(ctx context.Context) ([]done, error) {
	if u.deps.Record.Tip() == u.deps.Since {
		return nil, nil
	}
	out, err := u.deps.Tree.Git(ctx, "log", "-z", "--first-parent", "--no-show-signature", "--no-notes", "--format=%H%n%P%n%ct%n%B",
		u.deps.Since+".."+u.deps.Record.Tip(), "--")
	if err != nil {
		return nil, err
	}
	byNumber, newest := map[int]done{}, ""
	for entry := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		lines := strings.SplitN(strings.TrimPrefix(entry, "\n"), "\n", 4)
		if len(lines) < 4 {
			continue
		}
		parents := strings.Fields(lines[1])
		if len(parents) != 2 {
			continue
		}
		newest = cmp.Or(newest, parents[1])
		n, base, ok := u.stepOf(lines[3])
		if !ok || base != u.base {
			continue
		}
		at, _ := strconv.ParseInt(lines[2], 10, 64)
		byNumber[n] = done{lines[0], body(lines[3]), time.Unix(at, 0), trees{parents[1], lines[0]}}
	}
	u.head = cmp.Or(newest, u.head)
	return u.inOrder(byNumber)
}

// restore resets the index and the working tree to the last step, and the branch to its value
// after it.
func (u *run) restore(ctx context.Context) error {
	branch, tip, err := u.deps.Tree.Head(ctx)
	if u.branch != "" && (err != nil || branch != u.branch) {
		if _, err := u.deps.Tree.Git(ctx, "symbolic-ref", "HEAD", u.branch); err != nil {
			return err
		}
		tip = ""
	}
	if tip != u.tip {
		if _, err := u.deps.Tree.Git(ctx, "update-ref", "HEAD", u.tip); err != nil {
			return err
		}
	}
	return Restore(ctx, u.deps.Tree, u.head)
}

// Restore makes the index and the working tree those of a commit, and leaves HEAD where
// it is, .ward/ and what git ignores as they are.
func Restore(ctx context.Context, t *worktree.Tree, commit string) error {
	if _, err := t.Git(ctx, "read-tree", "--reset", "-u", commit+"^{tree}"); err != nil {
		return err
	}
	_, err := t.Git(ctx, "clean", "-ffdq", "--exclude=/"+worktree.RecordDir+"/")
	return err
}

// commitApart commits a step apart from the branch: one commit of the work if the step changed
// it, and one of the record.
func (u *run) commitApart(ctx context.Context, p point, message string) error {
	if err := u.commitWork(ctx, p); err != nil {
		return err
	}
	var written map[string][]byte
	if writes(p) {
		var err error
		if written, err = u.deps.Record.Uncommitted(ctx); err != nil {
			return err
		}
	}
	_, err := u.deps.Record.Commit(ctx, u.message(p, message), u.head, written)
	return err
}

// commitWork commits the tree after a step, on top of the previous step. A commit that a
// command made on the branch becomes a second parent, which keeps it.
func (u *run) commitWork(ctx context.Context, p point) error {
	if !writes(p) {
		return nil // the tree is unchanged
	}
	tip := u.tip
	if runs(p) {
		if err := u.sameBranch(ctx); err != nil {
			return err
		}
	}
	if err := u.stage(ctx, p); err != nil {
		return err
	}
	tree, err := u.deps.Tree.Git(ctx, "write-tree")
	if err != nil {
		return err
	}
	before, err := u.batch.Info(u.head + "^{tree}")
	if err != nil || before.ID == tree && tip == u.tip {
		return err
	}
	args := []string{"commit-tree", tree, "-p", u.head}
	if tip != u.tip && u.tip != u.head {
		args = append(args, "-p", u.tip)
	}
	subject, _, _ := strings.Cut(u.message(p, ""), "\n")
	id, err := u.deps.Tree.Git(ctx, append(args, "-m", subject)...)
	if err == nil {
		u.head = id
	}
	return err
}
