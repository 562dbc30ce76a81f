package forge

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/review"
	"git-ward/protocols/state"
	"git-ward/sandbox/forge/client"
)

// requested keeps a request for each directive with a claim, and keeps each request up to
// date.
func (p *pass) requested() error {
	if err := p.unlisted(); err != nil {
		return err
	}
	stopped := p.stopped(p.Settings.Control.ProjectRef())
	for _, at := range p.positions {
		ref := requestPrefix + at.Name
		r, old, err := load[request](p, ref)
		if err != nil {
			return err
		}
		if r.Merged != "" && wanted(at) && claimed(at) != r.Commit { // work after a merge gets a request of its own
			r = request{}
		}
		if r.Other {
			if err := p.each(at.Name, p.doubted(at, &r)); err != nil {
				return err
			}
		}
		if r.Merged != "" || r.Number == 0 && !wanted(at) {
			continue
		}
		if stopped != "" {
			p.trouble(at.Name, diag.Hint(fmt.Errorf("%s does not follow the forge: %s", p.Settings.Control.Project, stopped), "%s", admit(p.Settings.Control.Project)))
			continue
		}
		r.Directive = at.Name
		b := &book{ref: ref, old: old, record: &r, comments: &r.Comments, directive: &r.Directive}
		if err := p.each(at.Name, p.request(at, &r, b)); err != nil {
			return err
		}
	}
	return nil
}

// admit says how a PM lets a stopped ref in.
func admit(branch string) string {
	return fmt.Sprintf("look at it in a clone (git fetch FORGE %s), and push it here as the PM; git ward forge goes on by itself then", branch)
}

// wanted reports whether a directive needs a request: its work is claimed, and it was neither
// taken nor dropped.
func wanted(at review.Position) bool {
	s := review.Stand(at)
	return s.Claimed && !s.State.Over()
}

// unlisted adds directives that have a request but are no longer in COMMS.md, so that their
// status can be withdrawn.
func (p *pass) unlisted() error {
	tips, err := p.Repo.Refs(p.ctx, requestPrefix)
	if err != nil {
		return err
	}
	for _, t := range tips {
		name := strings.TrimPrefix(t.Name, requestPrefix)
		if _, ok := p.position(name); ok {
			continue
		}
		at, err := p.desk.Position(name, 0)
		if _, ok := errors.AsType[*state.BrokenRecord](err); ok {
			p.trouble(name, err)
		} else if err != nil {
			return err
		}
		p.positions = append(p.positions, at)
	}
	return nil
}

// claimed is the newest unit's last claimed commit, "" for none.
func claimed(at review.Position) string {
	if at.Unit == nil || at.Unit.Claim == nil {
		return ""
	}
	return at.Unit.Claim.Commit
}

// request brings a request up to date with the refs. A unit that began after it has no claim
// yet, but comments are read all the same.
func (p *pass) request(at review.Position, r *request, b *book) error {
	if claim := claimed(at); claim != "" {
		if r.Number != 0 && claim != r.Commit { // the earlier claim was already merged
			if now, err := p.known(r); err != nil {
				return err
			} else if now.State == client.Merged {
				return p.merged(at, now, r, b)
			}
		}
		if err := p.sent(claim, r, b); err != nil {
			return err
		}
	}
	now, err := p.opened(at, r, b)
	if err != nil {
		return err
	}
	switch now.State {
	case client.Merged:
		return p.merged(at, now, r, b)
	case client.Closed:
		return errors.Join(p.closed(at, now, r, b), p.hear(thread(r), b, noProposal))
	}
	p.heads[now.Head.Commit] = true
	if r.Closed {
		r.Closed, r.Status = false, "" // of whose head a person's request had the last word meanwhile
		if err := p.keep(b); err != nil {
			return err
		}
	}
	if err := p.movedBack(now, r); err != nil {
		return err
	}
	b.people = &people{r, now.Head.Commit}
	if err := p.judged(at, now, r, b); err != nil {
		return err
	}
	if err := p.shown(at, now, r, b); err != nil {
		return err
	}
	if err := p.reviewed(at, r, b); err != nil {
		return err
	}
	return p.hear(thread(r), b, noProposal)
}

func thread(r *request) client.Thread { return client.Thread{Request: true, Number: r.Number} }

// noProposal answers an approval of an unknown hash.
func noProposal(string, string, func(string) ([]git.RefUpdate, error)) (deed, string) {
	return deed{}, "This is a request: approve a proposal on its issue. `/ward approve` alone answers a question of the unit's."
}

// home is the repository for the branches: the user's fork, or the project if the admin says
// so.
func (p *pass) home() (h home, err error) {
	if p.Settings.Forge.Branches == "project" {
		return homeOf(p.project), nil
	}
	if p.self.Login == p.project.Owner {
		return h, diag.Hint(fmt.Errorf("the token is of %s, who owns the project and so has no fork of it", p.self.Login),
			`make a user of its own for Ward, or set [forge] branches = "project"`)
	}
	h, old, err := load[home](p, forkRef)
	if err == nil && old != git.Zero && !sameSite(h.Clone, p.project.Clone) {
		err = diag.Hint(fmt.Errorf("%s names a fork at %s, which is not where the project is", forkRef, diag.Untrusted(h.Clone)), "git -C %s update-ref -d %s", diag.Word(p.Ward.Bare), forkRef)
	}
	if err != nil || old != git.Zero {
		return h, err
	}
	err = p.do(deed{
		key: "fork", what: "make a fork of the project for " + p.self.Login,
		made: func(intent) (bool, error) { return false, nil }, // Fork checks its own result
		make: func(intent) error {
			fork, err := p.Forge.Fork(p.ctx)
			h = homeOf(fork)
			return err
		},
		done: func() ([]git.RefUpdate, error) {
			u, err := p.update(forkRef, git.Zero, h)
			return []git.RefUpdate{u}, err
		},
	})
	return h, err
}

// sameSite reports whether two URLs are on one server, for which the token is meant.
func sameSite(a, b string) bool {
	at, err := url.Parse(a)
	to, wrong := url.Parse(b)
	return err == nil && wrong == nil && at.User == nil && at.Scheme == to.Scheme && at.Host == to.Host
}

// sent pushes the claim to the forge's branch, without force.
func (p *pass) sent(commit string, r *request, b *book) error {
	h, err := p.home()
	if err != nil {
		return err
	}
	r.Owner, r.Name, r.Branch, r.Base = h.Owner, h.Name, "agent/"+r.Directive, p.Settings.Control.Project
	if r.Commit == commit && r.Number != 0 { // the request names its head
		return nil
	}
	tip, err := p.pushed(h, r.Branch)
	if err != nil {
		return err
	}
	if tip != "" && tip != commit {
		if ours, err := p.reader.Contains(commit, tip); err != nil {
			return err
		} else if !ours {
			if r.Number == 0 {
				return p.foreign(tip, r)
			}
			p.trouble(r.Directive, p.foreign(tip, r))
			return nil
		}
	}
	return p.do(deed{
		key:  "push-" + r.Directive + "-" + commit,
		what: fmt.Sprintf("push %s to %s of %s/%s", diag.Short(commit), r.Branch, h.Owner, h.Name),
		made: func(intent) (bool, error) {
			tip, err := p.pushed(h, r.Branch)
			return tip == commit, err
		},
		make: func(intent) error {
			return p.Repo.PushAway(p.ctx, p.Git(p.self.Login, h.Clone), commit+":"+heads+r.Branch)
		},
		done: func() ([]git.RefUpdate, error) {
			r.Commit = commit
			return p.next(b)
		},
	})
}

// pushed is where a branch of that home stands, "" if there is none.
func (p *pass) pushed(h home, branch string) (string, error) {
	refs, err := p.Repo.List(p.ctx, p.Git(p.self.Login, h.Clone), heads+branch)
	return refs[heads+branch], err
}

// movedBack names a request's branch that somebody set to an earlier commit than the one that
// was pushed. It is not pushed again, because that may be what the person wants.
func (p *pass) movedBack(now client.Request, r *request) error {
	head := now.Head.Commit
	if head == r.Commit || head == "" {
		return nil
	}
	if back, err := p.reader.Contains(r.Commit, head); err != nil || !back {
		return err
	}
	h, err := p.home()
	if err != nil {
		return err
	}
	tip, err := p.pushed(h, r.Branch)
	if err == nil && tip == head { // else the forge has not seen the push yet
		p.trouble(r.Directive, diag.Hint(fmt.Errorf("request %d was moved back to %s, and %s was pushed to it", r.Number, diag.Short(head), diag.Short(r.Commit)),
			"to have it judged and taken, put it back: git push FORGE %s:%s%s; to give it up, comment `/ward drop`", diag.Short(r.Commit), heads, r.Branch))
	}
	return err
}

// foreign is the error for a branch on the forge whose history is not the claim's.
func (p *pass) foreign(tip string, r *request) error {
	return diag.Hint(fmt.Errorf("%s of %s/%s is at %s on the forge, which is not on the way to the claim", r.Branch, r.Owner, r.Name, diag.Short(tip)),
		"nothing is forced: `/ward retry` on the request goes on from people's commits, else delete the branch on the forge, as after a squash")
}

// known is a recorded request as it is now, if it is still the same one.
func (p *pass) known(r *request) (client.Request, error) {
	now, err := p.Forge.Request(p.ctx, r.Number)
	if errors.Is(err, client.ErrNotFound) {
		err = diag.Hint(fmt.Errorf("request %d: %w", r.Number, err), "if somebody deleted it, this has another one opened: git -C %s update-ref -d %s", diag.Word(p.Ward.Bare), requestPrefix+r.Directive)
	}
	if err == nil && (now.Author.Login != p.self.Login || now.Head.Owner != "" && now.Head.Branch != r.Branch) {
		err = fmt.Errorf("request %d is not the one that was opened: it is by %q from %q", r.Number, now.Author.Login, now.Head.Branch)
	}
	return now, err
}

// opened is the request as it is now; if there is none, it opens a draft.
func (p *pass) opened(at review.Position, r *request, b *book) (now client.Request, err error) {
	if r.Number != 0 {
		return p.known(r)
	}
	key := "open-" + r.Directive
	begun, err := p.begun(key) // an interrupted pass may have opened one that was closed since
	if err != nil {
		return now, err
	}
	find := func() (bool, error) {
		list, err := p.Forge.Requests(p.ctx, r.Owner, r.Branch)
		i := slices.IndexFunc(list, func(q client.Request) bool {
			return q.Author.Login == p.self.Login && q.Base == r.Base && (q.State == client.Open || begun && q.Head.Commit == r.Commit)
		})
		if i >= 0 {
			now = list[i]
		}
		return i >= 0, err
	}
	page, err := p.page(at)
	if err != nil {
		return now, err
	}
	err = p.do(deed{
		key: key, what: "open a draft request for " + r.Directive,
		made: func(intent) (bool, error) { return find() },
		make: func(intent) error {
			made, err := p.Forge.Open(p.ctx, client.NewRequest{Head: client.Head{Owner: r.Owner, Name: r.Name, Branch: r.Branch}, Base: r.Base, Title: p.Redact(page.Title()), Body: p.Redact(page.Body()), Draft: true})
			if _, ok := errors.AsType[*client.ErrConflict](err); ok { // listings are delayed
				if found, again := find(); found && again == nil {
					return nil
				}
				err = diag.Hint(err, "a request of somebody else's from %s:%s would stand in its way: close that one", r.Owner, r.Branch)
			}
			now = made
			return err
		},
		done: func() ([]git.RefUpdate, error) {
			r.Number, r.Page = now.Number, now.Page
			return p.next(b)
		},
	})
	return now, err
}
