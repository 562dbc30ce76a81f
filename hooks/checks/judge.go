package checks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// Judge runs every check on a push. Its error is trouble: the push could not be
// judged and must be refused (exit 2). Batch is a running child of repo.
func Judge(ctx context.Context, repo *git.Repo, batch *git.Batch, p *Push) (*Result, error) {
	walker, err := walk.New(ctx, repo, batch, p.Branches, p.Config.Control, limits(p.Config))
	if err != nil {
		return nil, err
	}
	j := newJudgement(ctx, walker, p)
	return j.conclude(j.push())
}

func limits(c *config.Config) walk.Limits {
	l := c.Limits
	return walk.Limits{Commits: l.Commits, ChangedPaths: l.ChangedPaths, Depth: l.Depth, PathLength: l.PathLength, BlobSize: l.BlobSize, PushSize: l.PushSize}
}

func newJudgement(ctx context.Context, walker *walk.Walker, p *Push) *judgement {
	pass := &Pass{Push: p, Repo: walker, ctx: ctx, result: &Result{}, inCommits: map[finding]bool{}}
	return &judgement{pass: pass, walker: walker, table: Table(), judged: map[content]bool{}}
}

// conclude makes the result from the findings and the error that ended the judgement.
func (j *judgement) conclude(err error) (*Result, error) {
	p, result := j.pass.Push, j.pass.result
	if err != nil && !j.bad(&walk.Commit{}, err) { // limits outside any commit, such as the byte limit
		return nil, err
	}
	result.Counts.Bytes = j.walker.Bytes()
	redact(result.Findings)
	allow(p, result)
	tooMany(j.pass)
	result.Findings = diag.Normalize(result.Findings)
	if p.observed() {
		if err := j.observe(); err != nil {
			return nil, err
		}
	}
	result.InCommits = slices.ContainsFunc(result.Findings, func(d diag.Diagnostic) bool {
		return d.IsError() && j.pass.inCommits[finding{d.Commit, d.Rule}]
	})
	return result, nil
}

// Refusals of Judge itself, as entries of the table without functions.
var (
	objectCheck = Check{
		Name: "object",
		Doc: "Objects are what git writes: of any other form two readers may see different things (GATE-1). What older gits wrote, and all " +
			"read alike, is a warning to the PM. No object comes along that nothing pushed leads to.",
		Rules: []string{"object/*", "object/form", "object/stray"},
	}
	limitCheck = Check{
		Name:  "limit",
		Doc:   "A push stays within [limits], so that nobody's push keeps the host busy: what is too large is not read on (GATE-6).",
		Rules: []string{"limit/blob", "limit/document", "limit/findings", "limit/secret-scan", "limit/shape"},
	}
)

// tooMany replaces the findings that were left out by one that nobody can pass, because they
// may include anything.
func tooMany(pass *Pass) {
	if left := pass.errors - maxFindings; left > 0 {
		pass.result.Findings = append(pass.result.Findings, diag.Diagnostic{Rule: "limit/findings",
			Message: fmt.Sprintf("%s more than the %d that are kept of one push", diag.Count(left, "finding"), maxFindings),
			Hint:    "mend the first ones, or push in smaller parts"})
	}
}

// judgement takes a push from its refs to its last blob and calls the checks.
type judgement struct {
	pass    *Pass
	walker  *walk.Walker
	table   []Check
	judged  map[content]bool
	stopped bool // a finding makes reading further pointless
}

// content is a blob under one of its paths. Some checks depend on the path: the same bytes may
// be harmless as a file but an escape as a link's target, or the project's own file but a
// document of Ward's elsewhere.
type content struct {
	history  push.History
	id, path string
	mode     git.Mode
}

func (j *judgement) push() error {
	j.refs()
	if j.pass.result.Refused() {
		j.stopped = true // such refs are not to be read
		return nil
	}
	if err := j.leased(); err != nil || j.pass.result.Refused() {
		j.stopped = true // what belongs to another worker is not even read
		return err
	}
	if j.pass.Push.Received {
		if err := j.stale(); err != nil || j.pass.result.Refused() {
			return err
		}
	}
	for _, u := range j.pass.Push.Updates {
		if push.IsRecord(u.Ref) && u.New == git.Zero {
			if err := expired(j.pass, u); err != nil {
				return err
			}
		}
	}
	tips, commits, err := j.discover()
	if err != nil {
		return err
	}
	if err := j.commits(commits); err != nil || j.stopped {
		return err
	}
	if (!j.pass.result.Refused() || j.pass.Push.observed()) && j.pass.Push.Received { // otherwise parts are unjudged, so nothing enters
		if err := j.strays(); err != nil {
			return err
		}
	}
	for _, t := range tips {
		if err := j.tip(t); err != nil && !j.bad(&walk.Commit{ID: t.New, Ref: t.Ref}, err) {
			return err
		}
	}
	return nil
}

// refs runs the checks of ref names and rights.
func (j *judgement) refs() {
	seen := map[string]bool{}
	for _, u := range j.pass.Push.Updates {
		if seen[u.Ref] {
			j.pass.Report(diag.Diagnostic{Ref: u.Ref, Rule: "ref/twice", Message: "the push moves this ref twice", Hint: "name each ref once"})
		}
		seen[u.Ref] = true
		for _, check := range j.table {
			if check.Ref != nil {
				check.Ref(j.pass, u)
			}
		}
	}
}

// leased refuses what leases forbid the pusher.
func (j *judgement) leased() error {
	found, err := j.pass.Push.Leased()
	for _, d := range found {
		j.pass.Report(d)
	}
	return err
}

// stale refuses an update whose old value is not the ref's. Git would refuse it too, but
// later: until then a forged old value would count as already judged.
func (j *judgement) stale() error {
	for _, u := range j.pass.Push.Updates {
		if err := j.symbolic(u.Ref); err != nil {
			return err
		}
		now, err := j.walker.Object(u.Ref)
		if errors.Is(err, git.ErrMissing) {
			now.ID = git.Zero
		} else if err != nil {
			return err
		}
		if now.ID != u.Old {
			j.pass.Report(diag.Diagnostic{Ref: u.Ref, Rule: "ref/stale",
				Message: fmt.Sprintf("is at %s, not at %s", diag.Short(now.ID), diag.Short(u.Old)),
				Hint:    "someone pushed first: fetch, rebase, push again"})
		}
	}
	return nil
}

// symbolic refuses an update of a symbolic ref: git moves, or deletes, the ref that it names, and the
// push was judged by this name.
func (j *judgement) symbolic(ref string) error {
	to, err := j.walker.Leads(ref)
	if err == nil && to != "" {
		remedy := "take this name away: git symbolic-ref --delete " + diag.Word(ref)
		if j.pass.Push.isMain(ref) {
			remedy = j.walker.OwnRef(j.pass.ctx, "git", ref)
		}
		j.pass.Report(diag.Diagnostic{Ref: ref, Rule: "ref/symbolic",
			Message: "is a symbolic ref here, and git would move " + diag.Clean(to),
			Hint:    "push that ref by its own name, or have the host admin " + remedy})
	}
	return err
}

func (j *judgement) tag(t *walk.Tag) {
	if t.Form != nil {
		j.form(&walk.Commit{ID: t.ID, Ref: t.Ref}, &walk.BadObject{ID: t.ID, Err: t.Form})
	}
	for _, check := range j.table {
		if check.Tag != nil {
			check.Tag(j.pass, t)
		}
	}
}

func (j *judgement) strays() error {
	count, first, err := j.walker.Strays()
	if err == nil && count > 0 {
		j.pass.Report(diag.Diagnostic{Rule: "object/stray",
			Message: fmt.Sprintf("%s came along that nothing pushed leads to, the first is %s", diag.Count(count, "object"), diag.Short(first)),
			Hint:    "push with plain git, which sends what the pushed refs need and no more"})
	}
	return err
}

// tip runs the checks of one ref's difference. A journal shares nothing with main, and its
// records are all of its content.
func (j *judgement) tip(t *walk.Tip) error {
	if t.History != push.Journals {
		if err := j.walker.Difference(t); err != nil {
			return fmt.Errorf("%s: %w", diag.Clean(t.Ref), err)
		}
	}
	for _, check := range j.table {
		judge := check.Tip
		switch t.History {
		case push.Journals:
			judge = check.Unit
		case push.Records:
			judge = check.Record
		}
		if judge == nil {
			continue
		}
		if err := judge(j.pass, t); err != nil {
			return fmt.Errorf("%s: %w", check.Name, err)
		}
	}
	return nil
}

// bad turns an error about pushed content into a finding, and ends the judgement of everything
// on top of it: an exceeded limit, an ambiguous form. It returns false for the host's own
// trouble.
func (j *judgement) bad(c *walk.Commit, err error) bool {
	var object *walk.BadObject
	if errors.As(err, &object) {
		j.form(c, object)
	}
	var limit *walk.Exceeded
	if errors.As(err, &limit) {
		j.limit(c, limit)
	}
	if object == nil && limit == nil {
		return false
	}
	j.stopped = true
	return true
}

// limit reports an exceeded limit; what is too large is not read further.
func (j *judgement) limit(c *walk.Commit, e *walk.Exceeded) {
	j.pass.Report(diag.Diagnostic{Pos: at(c, strings.TrimSuffix(e.Path, "/")), Ref: c.Ref, Rule: "limit/shape", Message: e.Message,
		Hint: "split the push, or keep generated trees out of git; the host admin sets [limits] in config.toml"})
}

// form reports an object that git would not write like this. If an older git wrote it and all
// read it alike, it is a warning to the PM.
func (j *judgement) form(c *walk.Commit, e *walk.BadObject) {
	d := diag.Diagnostic{Pos: at(c, strings.TrimSuffix(e.Path, "/")), Ref: c.Ref, Rule: "object/form", Severity: diag.Error,
		Message: fmt.Sprintf("object %s: %v", diag.Short(e.ID), e.Err),
		Hint:    "make it again with plain git (git rebase --force-rebase, or git commit --amend); git fsck --strict names such objects"}
	if form, ok := errors.AsType[*git.FormError](e.Err); ok {
		d.Rule = "object/" + form.Kind
		if form.Remedy != "" {
			d.Hint = form.Remedy
		}
		if form.Legacy && j.pass.Push.Principal == push.PM {
			d.Severity = diag.Warning
		}
	}
	j.pass.Report(d)
}
