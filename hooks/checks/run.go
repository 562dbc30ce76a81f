package checks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"git-ward/hooks/push"
	"git-ward/hooks/secret"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// Judge runs every check on a push. Its error is trouble: the push could not be
// judged and must be refused (exit 2). Batch is a running child of repo.
func Judge(ctx context.Context, repo *git.Repo, batch *git.Batch, push *Push) (*Result, error) {
	r := &Run{ctx: ctx, Push: push, repo: repo, batch: batch, table: Table(),
		commits: map[string]*git.Commit{}, forms: map[string]*git.FormError{}, judged: map[content]bool{}, met: map[string]bool{}, harmless: map[string]bool{}, inCommits: map[finding]bool{}}
	r.trees = &trees{ctx: ctx, batch: batch, config: push.Config, spend: r.spend}
	r.secrets = secret.New(push.Config.Limits.SecretScan)
	err := r.judge()
	if err != nil && !r.bad(&Commit{}, err) { // what is outside any commit gets here, such as the byte limit
		return nil, err
	}
	r.redact()
	r.allow()
	r.tooMany()
	r.result.Findings = diag.Normalize(r.result.Findings)
	r.result.InCommits = slices.ContainsFunc(r.result.Findings, func(d diag.Diagnostic) bool {
		return d.IsError() && r.inCommits[finding{d.Commit, d.Rule}]
	})
	return &r.result, nil
}

func (r *Run) judge() error {
	main, err := r.batch.Info(r.main())
	if err != nil && !errors.Is(err, git.ErrMissing) {
		return err
	}
	r.mainTip = main.ID
	r.eachRef()
	if r.result.Refused() {
		return nil // such refs are not to be read
	}
	if r.Received {
		if err := r.stale(); err != nil || r.result.Refused() {
			return err
		}
	}
	tips, commits, err := r.discover()
	if err != nil {
		return err
	}
	if err := r.judgeCommits(commits); err != nil || r.stopped {
		return err
	}
	if !r.result.Refused() { // else some of it was not judged, and none of it enters
		if err := r.strays(); err != nil {
			return err
		}
	}
	for _, t := range tips {
		if err := r.judgeTip(t); err != nil && !r.bad(&Commit{ID: t.New, Ref: t.Ref}, err) {
			return err
		}
	}
	return nil
}

// bad turns an error about what was pushed into a finding, and ends the judgement
// of all that stands on it: a limit met, a form that nobody can read in one way.
// It reports false for trouble.
func (r *Run) bad(c *Commit, err error) bool {
	if !isBad(err) {
		return false
	}
	var object *objectError
	if errors.As(err, &object) {
		r.form(c, object)
	}
	var limit *limitError
	if errors.As(err, &limit) {
		r.limit(c, limit)
	}
	r.stopped = true
	return true
}

// isBad reports whether an error is about what was pushed.
func isBad(err error) bool {
	var object *objectError
	return errors.As(err, &object) || errors.Is(err, errLimit)
}

// eachRef runs the checks of names and rights of refs.
func (r *Run) eachRef() {
	seen := map[string]bool{}
	for _, u := range r.Updates {
		if seen[u.Ref] {
			r.Report(diag.Diagnostic{Ref: u.Ref, Rule: "ref/twice", Message: "the push moves this ref twice", Hint: "name each ref once"})
		}
		seen[u.Ref] = true
		for _, check := range r.table {
			if check.Ref != nil {
				check.Ref(r, u)
			}
		}
	}
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

// content is a blob in one of its places: some checks look at the path, and the
// same bytes are harmless as a file and an escape as the target of a link.
type content struct {
	id, path string
	mode     git.Mode
}

// judgeCommits judges the fresh commits, oldest first. One that cannot be judged
// refuses, and the others are judged all the same.
func (r *Run) judgeCommits(commits []*Commit) error {
	r.walking = true
	defer func() { r.walking = false }()
	for i, c := range commits {
		if i%readAheadOf == 0 && len(commits) > readAheadOf/8 {
			// What this meets, the comparison meets again, and knows its place.
			if err := r.readAhead(commits[i:min(i+readAheadOf, len(commits))]); err != nil && !isBad(err) {
				return err
			}
		}
		if err := r.judgeCommit(c); err != nil && !r.bad(c, err) {
			return err
		}
	}
	return nil
}

// judgeCommit runs the per-commit checks on a fresh commit. Each content is read
// once in each place.
func (r *Run) judgeCommit(c *Commit) error {
	r.result.Counts.Commits++
	r.met[c.ID] = true
	if form := r.forms[c.ID]; form != nil {
		r.form(c, &objectError{id: c.ID, err: form})
	}
	for _, check := range r.table {
		if check.Commit != nil {
			check.Commit(r, c)
		}
	}
	parents, err := r.parentTrees(c)
	if err != nil {
		return err
	}
	if err := r.freshWalk(c).compare(parents, c.Tree); err != nil {
		return inCommit(c, err)
	}
	for _, check := range r.table {
		if check.Whole == nil {
			continue
		}
		if err := check.Whole(r, c, parents); err != nil {
			return inCommit(c, fmt.Errorf("%s: %w", check.Name, err))
		}
	}
	return nil
}

// freshWalk is a comparison that judges what a fresh commit brings.
func (r *Run) freshWalk(c *Commit) *comparison {
	walk := &comparison{trees: r.trees}
	walk.met = func(dir, id string, form *git.FormError) {
		r.met[id] = true
		if form != nil {
			r.form(c, &objectError{id: id, path: dir, err: form})
		}
	}
	walk.names = func(dir string, entries []git.Entry, in []uint16) {
		for _, check := range r.table {
			if check.Names != nil {
				check.Names(r, c, dir, entries, in)
			}
		}
	}
	walk.visit = func(change Change) error {
		r.result.Counts.Paths++
		for _, check := range r.table {
			if check.Path != nil {
				check.Path(r, c, change)
			}
		}
		place := content{change.New.ID, change.Path, change.New.Mode}
		if change.New.Mode == git.ModeGitlink || r.judged[place] {
			return nil
		}
		r.judged[place] = true
		return inDir(r.judgeBlob(c, change), change.Path)
	}
	return walk
}

// inCommit gives trouble its commit; what becomes a finding has one.
func inCommit(c *Commit, err error) error {
	return fmt.Errorf("commit %s: %w", diag.Short(c.ID), err)
}

// maxParents bounds an octopus: each parent's tree is read beside the others.
const maxParents = 16

func (r *Run) parentTrees(c *Commit) ([]string, error) {
	if len(c.Parents) > maxParents {
		return nil, &limitError{"", fmt.Sprintf("the commit has %d parents, more than %d", len(c.Parents), maxParents)}
	}
	var trees []string
	for _, id := range c.Parents {
		parent, err := r.commit(id)
		if err != nil {
			return nil, err
		}
		trees = append(trees, parent.Tree)
	}
	return trees, nil
}

func (r *Run) judgeBlob(c *Commit, change Change) error {
	object, data, err := r.batch.Read(change.New.ID, r.Config.Limits.BlobSize)
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
	if object.Kind != "blob" {
		return wrongKind(object.ID, object.Kind, "blob")
	}
	if err := r.spend(int64(len(data))); err != nil {
		return err
	}
	r.result.Counts.Blobs++
	for _, check := range r.table {
		if check.Blob != nil {
			check.Blob(r, c, change, data)
		}
	}
	return nil
}

// judgeTip runs the per-update checks on the difference of one ref.
func (r *Run) judgeTip(t *Tip) error {
	if push.IsJournal(t.Ref) {
		return r.judgeUnit(t)
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
	if err := walk.compare([]string{baseTree}, t.Commit.Tree); err != nil {
		return fmt.Errorf("%s: %w", diag.Clean(t.Ref), err)
	}
	for _, check := range r.table {
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
func (r *Run) judgeUnit(t *Tip) error {
	for _, check := range r.table {
		if check.Unit != nil {
			if err := check.Unit(r, t); err != nil {
				return fmt.Errorf("%s: %w", check.Name, err)
			}
		}
	}
	return nil
}

// limit reports a limit: what is too large is not read on.
func (r *Run) limit(c *Commit, e *limitError) {
	r.Report(diag.Diagnostic{Pos: at(c, strings.TrimSuffix(e.path, "/")), Ref: c.Ref, Rule: "limit/shape", Message: e.message,
		Hint: "split the push, or keep generated trees out of git; the host admin sets [limits] in config.toml"})
}

// form reports an object that is not what git writes. What an older git wrote, and
// all read alike, is a warning to the PM.
func (r *Run) form(c *Commit, e *objectError) {
	d := diag.Diagnostic{Pos: at(c, strings.TrimSuffix(e.path, "/")), Ref: c.Ref, Rule: "object/form", Severity: diag.Error,
		Message: fmt.Sprintf("object %s: %v", diag.Short(e.id), e.err),
		Hint:    "make it again with plain git (git rebase --force-rebase, or git commit --amend); git fsck --strict names such objects"}
	var form *git.FormError
	if errors.As(e.err, &form) {
		d.Rule = "object/" + form.Kind
		if form.Remedy != "" {
			d.Hint = form.Remedy
		}
		if form.Legacy && r.Principal == push.PM {
			d.Severity = diag.Warning
		}
	}
	r.Report(d)
}

// spend counts inflated bytes against [limits] push_size.
func (r *Run) spend(n int64) error {
	if r.result.Counts.Bytes += n; r.result.Counts.Bytes > r.Config.Limits.PushSize {
		return &limitError{"", fmt.Sprintf("the push holds more than %d bytes to check", r.Config.Limits.PushSize)}
	}
	return nil
}
