package forge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/forge"
	"git-ward/protocols/review"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
	"git-ward/sandbox/forge/client"
)

// closed pauses the unit of a closed request (FORGE-4).
func (p *pass) closed(at review.Position, now client.Request, r *request, b *book) error {
	if r.Closed {
		return nil
	}
	say := func(format string, args ...any) {
		r.Closed = true
		r.Comments.Owes = marked(at.Unit.ID+" "+fmt.Sprintf(format, args...)+"; `/ward drop` gives it up.", "at %s", diag.Short(at.Unit.Hash))
	}
	const again = "To go on, reopen it and comment `/ward resume`"
	switch {
	case at.Unit == nil || at.Unit.State.Ended():
		r.Closed = true
		return p.keep(b)
	case at.Unit.State == uow.Paused: // by somebody, or by a look that was cut short
		say("is paused. " + again)
		return p.keep(b)
	case !slices.Contains(at.Unit.Possible(), uow.Pause): // it waits for somebody as it is
		say("does not go on by itself: %s", at.Unit.Words())
		return p.keep(b)
	}
	return p.do(deed{
		key: fmt.Sprintf("close-%s-%s", at.Unit.ID, at.Unit.Hash), what: "pause " + at.Unit.ID + ", whose request was closed",
		made: func(i intent) (bool, error) {
			_, ok, err := p.entered(i, "refs/ward/uow/"+at.Unit.ID)
			return ok, err
		},
		make: func(i intent) error {
			_, err := p.Ward.as(p.ctx, p.self.Login, i.Push, "", "uow", "pause", "--bare", p.Ward.Bare, "-m", "its request on the forge was closed", "--", at.Unit.ID)
			return err
		},
		done: func() ([]git.RefUpdate, error) {
			say("is paused, because this request was closed. " + again)
			return p.next(b)
		},
	})
}

// merged records the commit that a merge gave the project (FORGE-4).
func (p *pass) merged(at review.Position, now client.Request, r *request, b *book) error {
	project := p.Settings.Control.ProjectRef()
	tip, err := p.reader.Tip(project)
	if err != nil {
		return err
	}
	switch there, err := p.reader.Contains(tip, now.MergeCommit); {
	case err != nil:
		return err
	case now.Base != p.Settings.Control.Project:
		return fmt.Errorf("request %d was merged into %s, which is not the project's branch: nothing was taken", now.Number, diag.Untrusted(now.Base))
	case !there: // the next pass fetches it
		return fmt.Errorf("request %d was merged as %s, which is not here: it waits for %s", now.Number, diag.Short(now.MergeCommit), p.Settings.Control.Project)
	}
	merged, err := p.reader.Contains(tip, now.Head.Commit)
	if err != nil {
		return err
	}
	taken := git.RefUpdate{Ref: state.TakenPrefix + r.Commit, Old: git.Zero, New: now.MergeCommit}
	same := now.Head.Commit == r.Commit // otherwise other commits came with it, perhaps only on the forge
	if same && !merged {
		if same, err = p.sameTree(now.MergeCommit, now.Head.Commit); err != nil {
			return err
		}
	}
	r.Merged, r.Other = now.MergeCommit, !same
	updates, err := p.next(b)
	if err != nil || p.Dry != nil {
		return err
	}
	if !merged && same {
		updates = append(updates, taken)
	}
	p.Log.Info().Str("directive", r.Directive).Str("by", now.MergedBy.Login).Str("commit", now.MergeCommit).Msg("taken on the forge")
	if err := p.move(updates...); err != nil || same {
		return err
	}
	return p.doubted(at, r)
}

// doubted reports in each pass that the merged tree was not judged, until the host has judged
// it.
func (p *pass) doubted(at review.Position, r *request) error {
	list, err := state.VerdictsOn(p.reader, r.Merged)
	if err != nil || len(list) > 0 {
		return err
	}
	unit := r.Directive + ".1"
	if at.Unit != nil {
		unit = at.Unit.ID
	}
	return diag.Hint(fmt.Errorf("request %d was merged as another tree than the judged one", r.Number),
		"look at it: git diff %s %s; the host judges it once the PM pushes it there: git push origin %s:%s%s", diag.Short(r.Commit), diag.Short(r.Merged), diag.Short(r.Merged), uow.TakePrefix, unit)
}

// maxRebased bounds the commits searched for a rebased one.
const maxRebased = 100

// sameTree reports whether a commit of the project has the judged tree, or the tree of merging
// it into the commit before: a squash or a rebase.
func (p *pass) sameTree(made, judged string) (bool, error) {
	tree := func(commit string) (string, error) {
		out, err := p.Repo.Output(p.ctx, "rev-parse", "--verify", "--end-of-options", commit+"^{tree}")
		return strings.TrimSpace(string(out)), err
	}
	got, err := tree(made)
	if err != nil {
		return false, err
	}
	want, err := tree(judged)
	if err != nil || got == want {
		return err == nil, err
	}
	before := made
	for range maxRebased {
		if before, err = p.reader.Parent(before); err != nil || before == "" {
			return false, err
		}
		if with, err := p.Repo.MergeTrees(p.ctx, before, judged); err == nil && len(with.Conflicts) == 0 && with.Tree == got {
			return true, nil
		}
	}
	return false, nil
}

// Take merges the request of a directive on the forge, with the judged commit as its head and no
// other, and fetches what that made (FORGE-1). Which is D-n, or D-n@COMMIT where it must be that
// one; all is for every one that is ready.
func (k *Syncer) Take(ctx context.Context, which string, all bool) (forge.Word, error) {
	return k.look(ctx, takePatience, func(p *pass) error {
		directive, commit, _ := strings.Cut(which, "@")
		if _, ok := p.position(directive); !ok && !all {
			p.trouble(directive, fmt.Errorf("there is no such directive in %s", comms.Path))
		}
		for _, at := range p.positions {
			if at.Name == directive || all && review.Stand(at).State == review.Ready {
				if err := p.each(at.Name, p.take(at, commit)); err != nil {
					return err
				}
			}
		}
		for _, step := range []func() error{p.fetched, p.refresh, p.requested} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	})
}

// take is Take for one directive.
func (p *pass) take(at review.Position, wanted string) error {
	s := review.Stand(at)
	if s.State != review.Ready {
		return fmt.Errorf("it is %s", at.Outcome(s))
	}
	if !strings.HasPrefix(s.Commit, strings.ToLower(wanted)) {
		return diag.Hint(fmt.Errorf("what is proved is %s, and not %s", diag.Short(s.Commit), diag.Short(wanted)), "git ward review --bare %s %s", diag.Word(p.Ward.Bare), at.Name)
	}
	r, _, err := load[request](p, requestPrefix+at.Name)
	if err != nil {
		return err
	}
	if r.Number == 0 || r.Merged != "" && r.Commit != s.Commit {
		return diag.Hint(errors.New("there is no request for it on the forge yet"), "git ward forge --once --bare %s", diag.Word(p.Ward.Bare))
	}
	now, err := p.known(&r)
	switch {
	case err != nil:
		return err
	case now.Base != p.Settings.Control.Project:
		return fmt.Errorf("request %d is for %s, which is not the project's branch", r.Number, diag.Untrusted(now.Base))
	case now.Head.Commit != s.Commit:
		return fmt.Errorf("request %d is at %s, and what is proved is %s", r.Number, diag.Short(now.Head.Commit), diag.Short(s.Commit))
	case now.State == client.Closed:
		return diag.Hint(fmt.Errorf("request %d is closed", r.Number), "open it again on the forge: %s", r.Page)
	}
	page, err := p.page(at)
	if err != nil {
		return err
	}
	return p.do(deed{
		key: "merge-" + at.Name + "-" + s.Commit, what: fmt.Sprintf("merge request %d, %s at %s", r.Number, at.Name, diag.Short(s.Commit)),
		made: func(intent) (bool, error) { return now.State == client.Merged, nil },
		make: func(i intent) error { return p.merge(r.Number, s.Commit, page.Message()) },
		done: func() ([]git.RefUpdate, error) { return nil, nil },
	})
}

// mergeTries is how often a merge is asked for that the forge is still looking at.
const mergeTries = 30

func (p *pass) merge(number int64, commit, message string) error {
	for try := 1; ; try++ {
		err := p.Forge.Merge(p.ctx, number, commit, message)
		later, ok := errors.AsType[*client.ErrLater](err)
		switch {
		case !ok || !later.One:
			return err
		case try == mergeTries:
			return diag.Hint(err, "look at the request there: it may be in conflict with the project")
		}
		if err := wait(p.ctx, lookInterval); err != nil {
			return err
		}
	}
}
