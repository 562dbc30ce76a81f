package checks

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"git-ward/hooks/secret"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// Judge runs every check on a push. Its error is trouble: the push could not be
// judged and must be refused (exit 2). Batch is a running child of repo.
func Judge(ctx context.Context, repo *git.Repo, batch *git.Batch, push *Push) (*Result, error) {
	r := &Run{ctx: ctx, Push: push, repo: repo, batch: batch}
	r.trees = &trees{batch: batch, config: push.Config, spend: r.spend}
	r.secrets = secret.New(push.Config.Limits.SecretScan)
	err := r.judge()
	var limit *limitError
	if errors.As(err, &limit) {
		// Only what is outside any commit gets here, such as the byte limit.
		r.limit(&Commit{}, limit)
		err = nil
	}
	if err != nil {
		return nil, err
	}
	r.allow()
	r.result.Findings = diag.Normalize(r.result.Findings)
	return &r.result, nil
}

func (r *Run) judge() error {
	main, err := r.batch.Info(r.Main)
	if err != nil && !errors.Is(err, git.ErrMissing) {
		return err
	}
	r.mainTip = main.ID
	table := Table()
	for _, u := range r.Updates {
		for _, check := range table {
			if check.Ref != nil {
				check.Ref(r, u)
			}
		}
	}
	if r.result.Refused() {
		return nil // such refs are not to be read
	}
	if r.Received {
		if err := r.stale(); err != nil || r.result.Refused() {
			return err
		}
	}
	tips, commits, exact, err := r.discover()
	if err != nil || r.stopped {
		return err
	}
	if err := r.judgeCommits(commits, table); err != nil {
		return err
	}
	if !exact && r.result.Refused() {
		if err := r.dropKnown(tips); err != nil {
			return err
		}
	}
	if r.stopped {
		return nil
	}
	for _, t := range tips {
		if err := r.judgeTip(t, table); err != nil {
			return err
		}
	}
	return nil
}

// stale refuses an update whose old value is not the ref's. Git would refuse it
// too, but later: until then a forged old value would count as judged before.
func (r *Run) stale() error {
	for _, u := range r.Updates {
		now, err := r.batch.Info(u.Ref)
		if errors.Is(err, git.ErrMissing) {
			now.ID = git.Zero
		} else if err != nil {
			return err
		}
		if now.ID != u.Old {
			r.Report(diag.Diagnostic{Ref: u.Ref, Rule: "ref/stale",
				Message: fmt.Sprintf("is at %s, not at %s", diag.Short(now.ID), diag.Short(u.Old)),
				Hint:    "someone pushed first: fetch, rebase, push again"})
		}
	}
	return nil
}

// content is a blob in one of its two roles: the same bytes are harmless as a
// file and an escape as the target of a link.
type content struct {
	id   string
	link bool
}

// judgeCommits runs the per-commit checks, oldest commit first. Each content is
// read once, wherever it appears.
func (r *Run) judgeCommits(commits []*Commit, table []Check) error {
	r.result.Counts.Commits = len(commits)
	r.treeOf = make(map[string]string, len(commits))
	for _, c := range commits {
		r.treeOf[c.ID] = c.Tree
	}
	seen := map[content]bool{}
	for i, c := range commits {
		if i%readAhead == 0 && len(commits) > readAhead/8 {
			if err := r.readAhead(commits[i:min(i+readAhead, len(commits))]); err != nil {
				return err
			}
		}
		for _, check := range table {
			if check.Commit != nil {
				check.Commit(r, c)
			}
		}
		parents, err := r.parentTrees(c)
		if err != nil {
			return err
		}
		walk := comparison{trees: r.trees}
		walk.names = func(dir string, entries []git.Entry) {
			for _, check := range table {
				if check.Names != nil {
					check.Names(r, c, dir, entries)
				}
			}
		}
		walk.visit = func(change Change) error {
			r.result.Counts.Paths++
			for _, check := range table {
				if check.Path != nil {
					check.Path(r, c, change)
				}
			}
			blob := content{change.New.ID, change.New.Mode == git.ModeSymlink}
			if change.New.Mode == git.ModeGitlink || seen[blob] {
				return nil
			}
			seen[blob] = true
			return r.judgeBlob(c, change, table)
		}
		err = walk.compare(parents, c.Tree)
		var limit *limitError
		if errors.As(err, &limit) {
			r.limit(c, limit)
			return nil
		}
		if err != nil {
			return fmt.Errorf("commit %s: %w", diag.Short(c.ID), err)
		}
		for _, check := range table {
			if check.Whole == nil {
				continue
			}
			if err := check.Whole(r, c, parents); err != nil {
				return fmt.Errorf("commit %s: %s: %w", diag.Short(c.ID), check.Name, err)
			}
		}
	}
	return nil
}

// readAhead is how many commits are warmed at once; a push of a few is judged
// without.
const readAhead = 64

func (r *Run) readAhead(commits []*Commit) error {
	var pairs []pair
	for _, c := range commits {
		parents, err := r.parentTrees(c)
		if err != nil {
			return err
		}
		pairs = append(pairs, pair{strings.Join(parents[:min(1, len(parents))], ""), c.Tree})
	}
	err := r.trees.warm(pairs)
	if errors.Is(err, errLimit) {
		return nil // the comparison meets it again, and knows its place
	}
	return err
}

// maxParents bounds an octopus: each parent's tree is read beside the others.
const maxParents = 16

func (r *Run) parentTrees(c *Commit) ([]string, error) {
	if len(c.Parents) > maxParents {
		return nil, &limitError{"", fmt.Sprintf("commit %s has %d parents, more than %d", diag.Short(c.ID), len(c.Parents), maxParents)}
	}
	var trees []string
	for _, id := range c.Parents {
		tree, known := r.treeOf[id]
		if !known {
			parent, err := r.commit(id)
			if err != nil {
				return nil, err
			}
			tree = parent.Tree
			r.treeOf[id] = tree
		}
		trees = append(trees, tree)
	}
	return trees, nil
}

func (r *Run) judgeBlob(c *Commit, change Change, table []Check) error {
	_, data, err := r.batch.Read(change.New.ID, r.Config.Limits.BlobSize)
	var large *git.TooLarge
	if errors.As(err, &large) {
		r.Report(diag.Diagnostic{Pos: at(c, change.Path), Rule: "limit/blob",
			Message: fmt.Sprintf("the file has %d bytes, more than %d", large.Object.Size, large.Limit),
			Hint:    "keep large files out of git; remove it from every commit of the push (git rebase -i)"})
		return nil
	}
	if err != nil {
		return err
	}
	if err := r.spend(int64(len(data))); err != nil {
		return err
	}
	r.result.Counts.Blobs++
	for _, check := range table {
		if check.Blob != nil {
			check.Blob(r, c, change, data)
		}
	}
	return nil
}

// judgeTip runs the per-update checks on the difference of one ref.
func (r *Run) judgeTip(t *Tip, table []Check) error {
	if journal(t.Ref) {
		return r.judgeUnit(t, table)
	}
	if err := r.findBase(t); err != nil {
		return err
	}
	baseTree := ""
	if t.Base != "" {
		base, err := r.commit(t.Base)
		if err != nil {
			return err
		}
		baseTree = base.Tree
	}
	walk := comparison{trees: r.trees, deletions: true, visit: func(change Change) error {
		t.Changes = append(t.Changes, change)
		return nil
	}}
	err := walk.compare([]string{baseTree}, t.Commit.Tree)
	var limit *limitError
	if errors.As(err, &limit) {
		r.limit(&Commit{ID: t.New}, limit)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", diag.Clean(t.Ref), err)
	}
	for _, check := range table {
		if check.Tip != nil {
			if err := check.Tip(r, t); err != nil {
				return fmt.Errorf("%s: %w", check.Name, err)
			}
		}
	}
	return nil
}

// judgeUnit runs the per-journal checks: a journal shares nothing with main, and
// what its records hold is all of it.
func (r *Run) judgeUnit(t *Tip, table []Check) error {
	for _, check := range table {
		if check.Unit != nil {
			if err := check.Unit(r, t); err != nil {
				return fmt.Errorf("%s: %w", check.Name, err)
			}
		}
	}
	return nil
}

// limit reports a limit and ends the walk: what is too large is not read on.
func (r *Run) limit(c *Commit, e *limitError) {
	r.stopped = true
	r.Report(diag.Diagnostic{Pos: at(c, strings.TrimSuffix(e.path, "/")), Rule: "limit/shape", Message: e.message,
		Hint: "split the push, or keep generated trees out of git; the host admin sets [limits] in config.toml"})
}

// spend counts inflated bytes against [limits] push_size.
func (r *Run) spend(n int64) error {
	if r.result.Counts.Bytes += n; r.result.Counts.Bytes > r.Config.Limits.PushSize {
		return &limitError{"", fmt.Sprintf("the push holds more than %d bytes to check", r.Config.Limits.PushSize)}
	}
	return nil
}

// maxCommitSize bounds a commit object; its message has a limit of its own.
const maxCommitSize = 4 << 20

// commit reads and parses a commit.
func (r *Run) commit(id string) (*git.Commit, error) {
	object, data, err := r.batch.ReadNow(id, maxCommitSize)
	var large *git.TooLarge
	if errors.As(err, &large) {
		return nil, &limitError{"", large.Error()}
	}
	if err != nil {
		return nil, err
	}
	if object.Kind != "commit" {
		return nil, fmt.Errorf("object %s is a %s where a commit belongs", id, object.Kind)
	}
	if err := r.spend(object.Size); err != nil {
		return nil, err
	}
	c, err := git.ParseCommit(data)
	if err != nil {
		return nil, fmt.Errorf("commit %s: %w", diag.Short(id), err)
	}
	return c, nil
}
