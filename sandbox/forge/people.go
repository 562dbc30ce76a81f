package forge

import (
	"fmt"
	"slices"

	"git-ward/internal/git"
	"git-ward/protocols/forge"
	"git-ward/protocols/review"
	"git-ward/sandbox/forge/client"
)

// people is an open request, with the commit of its head on the forge, which may be people's.
type people struct {
	*request
	head string
}

// adopt pushes people's commits on the request to the directive's work branch, through the
// gate and in the name of the PM who ordered it.
func (p *pass) adopt(r *people, who string) error {
	if r.head == r.Commit {
		return nil
	}
	h, err := p.home()
	if err != nil {
		return err
	}
	repo, tip, end, err := p.borrowed(h.Clone, heads+r.Branch)
	if err != nil {
		return err
	}
	defer end()
	if tip != r.head {
		return &refusal{fmt.Sprintf("people's commits on %s moved on while they were fetched. Look at them, and say it again.", r.Branch)}
	}
	why, err := p.push(repo, "pm", pusher(who), tip, heads+r.Branch)
	if err == nil && why != "" {
		err = &refusal{why}
	}
	return err
}

// told is what a review tells the agent: the words of a writer who requests changes, about the
// whole and about its lines, and not what others answered there.
func (p *pass) told(request int64, v client.Review) (string, error) {
	if v.State != client.Changes {
		return "", nil
	}
	if may, err := p.mayWrite(v.Author); err != nil || !may {
		return "", err
	}
	list, err := p.Forge.Remarks(p.ctx, request, v.ID)
	var remarks []forge.Remark
	for _, m := range list {
		if m.Author == v.Author {
			remarks = append(remarks, forge.Remark{Path: m.Path, Line: m.Line, Words: m.Body})
		}
	}
	return forge.Told(v.Body, remarks...), err
}

// reviewed hands a writer's requested changes to the unit, which continues with them, or the
// next one begins.
func (p *pass) reviewed(at review.Position, r *request, b *book) error {
	list, err := p.Forge.Reviews(p.ctx, r.Number)
	if err != nil {
		return err
	}
	for _, v := range list {
		if v.State == "" || slices.Contains(r.Reviews, v.ID) { // not submitted yet, or already handled
			continue
		}
		words, err := p.told(r.Number, v)
		if err != nil {
			return err
		}
		if words == "" {
			r.Reviews = append(r.Reviews, v.ID)
			continue
		}
		done := func(text string) ([]git.RefUpdate, error) {
			r.Reviews, r.Comments.Tries = append(r.Reviews, v.ID), 0
			r.Comments.Owes = marked(text, "to review %d", v.ID)
			return p.next(b)
		}
		d, why, err := p.step(b, forge.Verb{Name: forge.Clarify, Argument: words}, v.Author.Login, done)
		if err == nil {
			err = p.carry(b, fmt.Sprintf("review-%d", v.ID), d, why, func(why string) ([]git.RefUpdate, error) {
				return done("What was requested is not told to the agent. " + why)
			})
		}
		if err != nil {
			return err
		}
		if err := p.pay(thread(r), b); err != nil {
			return err
		}
	}
	return nil
}
