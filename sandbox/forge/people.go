package forge

import (
	"errors"
	"fmt"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/forge"
	"git-ward/protocols/review"
	"git-ward/sandbox/forge/client"
)

// adopt brings what people made on the request onto the directive's work, as the PM who says
// so, through the gate.
func (p *pass) adopt(now client.Request, r *request, who string) error {
	if now.Head.Commit == r.Commit {
		return nil
	}
	h, err := p.home()
	if err != nil {
		return err
	}
	repo, dir, err := p.Repo.Borrow(p.Dir)
	if err != nil {
		return err
	}
	defer dir.Remove()
	repo.Limits = p.Settings.ReceiveLimits()
	in := incoming + "people"
	if err := repo.FetchAway(p.ctx, p.Git(p.self.Login, h.Clone), "+"+heads+r.Branch+":"+in); err != nil {
		return err
	}
	tip, err := repo.Ref(p.ctx, in)
	if err != nil {
		return err
	}
	why, err := p.push(repo, "pm", who, tip, heads+r.Branch)
	if err == nil && why != "" {
		err = &refusal{why}
	}
	return err
}

// reviewed takes changes that a person who may write requests as what the unit is told: it goes
// on with them, or the next one begins.
func (p *pass) reviewed(at review.Position, r *request, b *book) error {
	list, err := p.Forge.Reviews(p.ctx, r.Number)
	if err != nil {
		return err
	}
	for _, v := range list {
		if v.ID <= r.Reviewed {
			continue
		}
		before := r.Reviewed
		r.Reviewed = v.ID
		words := forge.Told(v.Body)
		if v.State != client.Changes || words == "" {
			continue
		}
		may, err := p.mayWrite(v.Author)
		if err != nil {
			r.Reviewed = before
			return err
		}
		if !may {
			continue
		}
		d, why := p.step(b, forge.Verb{Name: forge.Clarify, Argument: words}, v.Author.Login, func(text string) ([]git.RefUpdate, error) {
			r.Owes = fmt.Sprintf("%s\n\n<sub>to review %d</sub>", text, v.ID)
			return p.next(b)
		})
		d.key = fmt.Sprintf("review-%d", v.ID)
		if why == "" {
			err = p.do(d)
			if said, ok := errors.AsType[*refusal](err); ok {
				err, why = nil, said.said
			}
		}
		if err != nil {
			r.Reviewed = before
			return err
		}
		if why != "" {
			r.Owes = fmt.Sprintf("What was requested is not told to the agent:\n\n%s\n\n<sub>to review %d</sub>", forge.Quote(diag.Untrusted(why), maxAnswer), v.ID)
		}
		if err := p.pay(thread(r), b); err != nil {
			return err
		}
	}
	return nil
}
