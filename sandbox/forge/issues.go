package forge

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/forge"
	"git-ward/protocols/review"
	"git-ward/protocols/standing"
	"git-ward/sandbox/forge/client"
)

// maxTexts bounds how many versions of an issue's text are answered per setting of the label.
// Its author needs no rights and may change it often.
const maxTexts = 3

// maxProposals is how many of the newest proposals can be approved.
const maxProposals = 10

// proposed proposes issues that have the label, and reads comments on them.
func (p *pass) proposed() error {
	open, failed := p.Forge.Labelled(p.ctx, p.Settings.Forge.Label)
	if err := p.each("issues", failed); err != nil {
		return err
	}
	if failed == nil {
		p.word.Proposed = nil
	}
	known, err := p.issues()
	if err != nil {
		return err
	}
	for _, i := range open {
		known = slices.DeleteFunc(known, func(n int64) bool { return n == i.Number })
		if err := p.each(fmt.Sprintf("issue %d", i.Number), p.labelled(i)); err != nil {
			return err
		}
	}
	for _, number := range known { // closed, or the label was removed: comments are still read
		if err := p.each(fmt.Sprintf("issue %d", number), p.heard(number, failed == nil)); err != nil {
			return err
		}
	}
	return p.begunApprovals()
}

// approvalKey begins the keys of approvals: the issue's number, then the proposal's hash.
const approvalKey = "approve-"

// begunApprovals ends approvals that an interrupted pass began, and that no comment repeated since:
// it was deleted or edited, or its author lost the right. What the host did is so; else it would be
// done again by the next who approves.
func (p *pass) begunApprovals() error {
	begun, err := p.unfinished(approvalKey)
	if err != nil || p.Dry != nil {
		return err
	}
	for _, t := range begun {
		of, hash, _ := strings.Cut(strings.TrimPrefix(t.Name, intentPrefix+approvalKey), "-")
		number, bad := strconv.ParseInt(of, 10, 64)
		if p.wanted[t.Name] || bad != nil {
			continue
		}
		if err := p.each("issue "+of, p.begunApproval(number, t.Name, hash)); err != nil {
			return err
		}
	}
	return nil
}

func (p *pass) begunApproval(number int64, ref, hash string) error {
	i, _, err := load[intent](p, ref)
	if err != nil {
		return err
	}
	r, b, err := p.issue(number)
	if err != nil {
		return err
	}
	if err := p.pay(client.Thread{Number: number}, b); err != nil {
		return err
	}
	d, why := r.approve(p)(hash, i.By, func(text string) ([]git.RefUpdate, error) {
		r.Comments.Owes = marked(text, "as it was begun")
		return p.next(b)
	})
	if why != "" {
		return nil
	}
	d.make = func(intent) error { return &refusal{"nobody asks for it any more"} }
	if err := p.do(d); err != nil {
		if _, ok := errors.AsType[*refusal](err); ok {
			return nil
		}
		return err
	}
	return p.pay(client.Thread{Number: number}, b)
}

// labelled is an issue that has the label now.
func (p *pass) labelled(i client.Issue) error {
	r, b, err := p.issue(i.Number)
	if err != nil {
		return err
	}
	if r.Directive == "" {
		if err := p.propose(i, r, b); err != nil && !errors.Is(err, errDry) {
			return err
		}
	}
	if err := p.finished(r, b); err != nil {
		return err
	}
	err = p.hear(client.Thread{Number: i.Number}, b, r.approve(p))
	if n := len(r.Proposals); r.Directive == "" && n > 0 {
		p.word.Proposed = append(p.word.Proposed, forge.Offer{Issue: i.Number, Title: diag.Untrusted(r.Proposals[n-1].Title), Hash: r.Proposals[n-1].Hash})
	}
	return err
}

// heard handles an issue that is closed or has lost the label. Once its directive is over,
// only owed answers are posted. listed says that the forge listed issues now, so that one that it
// does not know was deleted, or moved to another project: no word can come from there any more.
func (p *pass) heard(number int64, listed bool) error {
	r, b, err := p.issue(number)
	if err != nil || r.Gone {
		return err
	}
	err = p.finished(r, b)
	at, ok := p.position(r.Directive)
	over := ok && review.Stand(at).State.Over()
	if err == nil && (!over || r.Comments.Owes != "") {
		err = p.hear(client.Thread{Number: number}, b, r.approve(p))
	}
	gone := false
	if _, away := errors.AsType[*client.ErrLater](err); err != nil && !away && p.ctx.Err() == nil {
		_, asked := p.Forge.Issue(p.ctx, number) // Gitea says 500 of a deleted one's comments
		_, moved := errors.AsType[*client.ErrMoved](asked)
		gone = moved || errors.Is(asked, client.ErrNotFound)
	}
	switch {
	case !gone || !listed:
		return err
	case p.Dry != nil:
		return nil
	case r.Directive == "":
		return p.move(git.RefUpdate{Ref: b.ref, Old: b.old, New: git.Zero})
	case !over:
		p.Log.Warn().Int64("issue", number).Str("directive", r.Directive).
			Msg("the issue was deleted or moved; the directive goes on, and COMMS.md and its request are read as before")
	}
	r.Gone, r.Comments.Owes = true, ""
	return p.keep(b)
}

// finished closes the issue of a directive whose work the project has.
func (p *pass) finished(r *issue, b *book) error {
	at, ok := p.position(r.Directive)
	if !ok || r.Closed {
		return nil
	}
	s := review.Stand(at)
	if s.State != review.Taken {
		return nil
	}
	if err := p.pay(client.Thread{Number: r.Number}, b); err != nil {
		return err
	}
	made, _, err := load[request](p, requestPrefix+r.Directive)
	if err != nil {
		return err
	}
	return p.do(deed{
		key: fmt.Sprintf("finish-%d", r.Number), what: fmt.Sprintf("close issue %d, because %s is in the project", r.Number, r.Directive),
		made: func(intent) (bool, error) {
			now, err := p.Forge.Issue(p.ctx, r.Number)
			return !now.Open, err
		},
		make: func(intent) error { return p.Forge.Close(p.ctx, r.Number) },
		done: func() ([]git.RefUpdate, error) {
			r.Closed, r.Comments.Owes = true, r.Directive+" is in the project."
			if made.Number > 0 {
				r.Comments.Owes = fmt.Sprintf("%s is in the project, by %s", r.Directive, made.Page)
			}
			r.Comments.Owes = marked(r.Comments.Owes, "as %s", diag.Short(s.TakenBy))
			return p.next(b)
		},
	})
}

// issue is the record of an issue.
func (p *pass) issue(number int64) (*issue, *book, error) {
	ref := issueRef(number)
	r, old, err := load[issue](p, ref)
	r.Number = number
	return &r, &book{ref: ref, old: old, record: &r, comments: &r.Comments, directive: &r.Directive}, err
}

// propose posts the directive that an issue would become, if a person with write access wants
// it.
func (p *pass) propose(i client.Issue, r *issue, b *book) error {
	if i.Unread != nil {
		return i.Unread
	}
	may, err := p.mayWrite(i.LabelledBy)
	if err != nil || !may {
		return err
	}
	next, findings := forge.Propose(forge.Issue{Number: i.Number, Title: i.Title, Body: i.Body})
	body, what, refused := "", fmt.Sprintf("propose issue %d as a directive", i.Number), ""
	if len(findings) > 0 {
		body, what = forge.Refusal(findings), fmt.Sprintf("say on issue %d why no directive can be made of it", i.Number)
		refused = git.BlobID([]byte(body))
	}
	if refused != "" && r.Refused == refused || refused == "" && slices.ContainsFunc(r.Proposals, func(before proposal) bool { return before.Hash == next.Hash }) {
		return nil
	}
	if r.Label != i.Labelling {
		r.Label, r.Texts = i.Labelling, 0
	}
	if r.Texts > maxTexts { // which is said
		return nil
	}
	switch r.Texts++; {
	case r.Texts > maxTexts:
		body = marked(fmt.Sprintf("%d texts of this issue were answered since it was given the label. The next one is read when somebody who may write takes the label off and gives it again.", maxTexts), "to label event %d", i.Labelling)
		what = fmt.Sprintf("say on issue %d that its text was changed too often", i.Number)
	case refused != "":
		r.Refused = refused
	default:
		r.Proposals = append(r.Proposals, proposal{next.Title, next.Text, next.Hash})
		r.Proposals = r.Proposals[max(0, len(r.Proposals)-maxProposals):]
		body = next.Comment()
	}
	return p.say(client.Thread{Number: i.Number}, body, what, b)
}

// mayWrite looks up whether a person may write to the project now. That he may not is looked up once
// in a pass.
func (p *pass) mayWrite(who client.Person) (bool, error) {
	if who.Bot || who.Login == "" || who.Login == p.self.Login {
		return false, nil
	}
	if p.mayNot[who.Login] { // who has no right can say a lot, and is asked about once
		return false, nil
	}
	may, err := p.Forge.MayWrite(p.ctx, who.Login)
	if errors.Is(err, client.ErrNotFound) { // is it the person that is not seen, or all?
		var now client.Project
		if now, err = p.Forge.Project(p.ctx); err == nil {
			may, err = false, p.isSame(p.project.ID, now.ID)
		}
	}
	if err == nil && !may {
		p.mayNot[who.Login] = true
	}
	return may, err
}

// approve makes a directive from exactly a proposal's text.
func (r *issue) approve(p *pass) approval {
	return func(hash, who string, done func(text string) ([]git.RefUpdate, error)) (d deed, why string) {
		draft, ok := r.draft(hash)
		switch {
		case r.Directive != "":
			return d, "This issue is " + r.Directive + " already."
		case !ok:
			return d, "No proposal on this issue has that hash: copy the whole line of the newest."
		}
		by := who // or who did before
		family := fmt.Sprintf("%s%d-", approvalKey, r.Number)
		made := func(intent) (bool, error) { // of another of its texts, too: an issue is one directive
			begun, err := p.unfinished(family)
			if err != nil {
				return false, err
			}
			for _, t := range begun {
				of := strings.TrimPrefix(t.Name, intentPrefix+family)
				i, _, err := load[intent](p, t.Name)
				if err != nil {
					return false, err
				}
				commit, entered, err := p.entered(i, p.Settings.Control.Ref())
				if err != nil {
					return false, err
				}
				if draft, ok := r.draft(of); ok && entered {
					hash, by = of, i.By
					r.Directive, err = p.directiveOf(commit, draft)
					return true, err
				}
			}
			return false, nil
		}
		return deed{
			key: family + hash, family: family, by: who,
			what: fmt.Sprintf("make a directive of issue %d, as %s says", r.Number, who),
			made: made,
			make: func(i intent) error {
				if _, err := p.Ward.as(p.ctx, who, i.Push, draft.Text(), "directive", "new", "--untried", "--bare", p.Ward.Bare, "-F", "-"); err != nil {
					return err
				}
				ok, err := made(i)
				if err == nil && !ok {
					err = fmt.Errorf("%w: no record of its push", errUnknown)
				}
				return err
			},
			done: func() ([]git.RefUpdate, error) {
				r.By = by
				return done(fmt.Sprintf("%s is this text, by the word of %s: %s", r.Directive, forge.Span(diag.Untrusted(by), maxAnswer), hash))
			},
		}, ""
	}
}

// draft is the proposal of that hash.
func (r *issue) draft(hash string) (comms.Draft, bool) {
	at := slices.IndexFunc(r.Proposals, func(q proposal) bool { return q.Hash == hash })
	if at < 0 {
		return comms.Draft{}, false
	}
	return comms.Draft{Title: r.Proposals[at].Title, Body: r.Proposals[at].Text}, true
}

// directiveOf finds the newest directive with a text in COMMS.md at a commit.
func (p *pass) directiveOf(commit string, draft comms.Draft) (string, error) {
	reader := p.Repo.Reader(p.ctx)
	defer reader.Close()
	doc, err := standing.Documents(reader, commit)
	if err != nil {
		return "", err
	}
	for _, d := range slices.Backward(doc.Directives) {
		if had := d.Draft(); had.Title == draft.Title && had.Body == draft.Body {
			return d.Name(), nil
		}
	}
	return "", fmt.Errorf("%s of %s has no directive of the text that was approved", comms.Path, diag.Short(commit))
}
