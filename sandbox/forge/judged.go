package forge

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/forge"
	"git-ward/protocols/loop"
	"git-ward/protocols/review"
	"git-ward/sandbox/forge/client"
)

// page is a request's text: the review, as `git ward review` gives it.
func (p *pass) page(at review.Position) (r forge.Request, err error) {
	out, err := p.Ward.run(p.ctx, nil, "", []string{"review", "--json", "--bare", p.Ward.Bare, at.Name})
	if err != nil {
		return r, err
	}
	r.Review, r.Redact = new(review.Review), p.Redact
	if err := json.Unmarshal([]byte(out), r.Review); err != nil {
		return r, fmt.Errorf("git ward review --json: %w", err)
	}
	numbers, err := p.issues()
	for _, n := range numbers {
		if i, _, err := p.issue(n); err == nil && i.Directive == at.Name {
			r.Issue = n
		}
	}
	return r, err
}

// judged sets the status of the request's head (FORGE-3).
func (p *pass) judged(at review.Position, now client.Request, r *request, b *book) error {
	head := now.Head.Commit
	j := forge.Judged{Head: head, Name: at.Name, Directive: at.Directive, Claim: claimed(at), Verdict: at.Verdict}
	if at.Dropped {
		j.Directive = nil
	}
	switch {
	case at.Unit == nil:
		j.Never = "its journal cannot be read"
	case at.Unit.State.Ended() && at.Verdict == nil:
		j.Unit, j.Never = at.Unit.ID, at.Unit.ID+" ended without one"
	default:
		j.Unit = at.Unit.ID
	}
	if j.Claim != "" && head != j.Claim {
		ours, err := p.reader.Contains(j.Claim, head)
		if err != nil {
			return err
		}
		if !ours {
			j.People = 1 // at least
		}
	}
	word, description := forge.Status(j)
	want := client.Status{Context: forge.Context, State: string(word), Description: diag.Untrusted(description), URL: now.Page}
	mark := fmt.Sprintf("%s %s %s", head, word, description)
	family := "status-" + r.Directive + "-"
	if begun, err := p.unfinished(family); err != nil || r.Status == mark && len(begun) == 0 {
		return err
	}
	return p.do(p.status(head, want, family+git.BlobID([]byte(mark)), family, func() ([]git.RefUpdate, error) {
		r.Status = mark
		return p.next(b)
	}))
}

// shown updates title, body and draft from the refs: ready if the head is proved.
func (p *pass) shown(at review.Position, now client.Request, r *request, b *book) error {
	s := review.Stand(at)
	draft := !(s.Verdict == loop.Exact && s.Current && at.Verdict.Commit == now.Head.Commit)
	facts, err := json.Marshal([]any{s, at.Verdict, draft, now.Head.Commit}, json.Deterministic(true))
	if err != nil {
		return err
	}
	mark := git.BlobID(facts)
	family := "edit-" + r.Directive + "-"
	if begun, err := p.unfinished(family); err != nil || r.Body == mark && len(begun) == 0 {
		return err
	}
	page, err := p.page(at)
	if err != nil {
		return err
	}
	title, body := p.Redact(page.Title()), p.Redact(page.Body())
	return p.do(deed{
		key: family + mark, family: family,
		what: fmt.Sprintf("write title and body of request %d anew, %s", r.Number, map[bool]string{true: "as a draft", false: "ready"}[draft]),
		made: func(intent) (bool, error) {
			return sameWords(now.Body.Raw(), body) && now.Draft == draft && strings.HasSuffix(now.Title.Raw(), title), nil
		},
		make: func(intent) error {
			_, err := p.Forge.Edit(p.ctx, r.Number, client.Edit{Title: &title, Body: &body, Draft: &draft})
			return err
		},
		done: func() ([]git.RefUpdate, error) {
			r.Body = mark
			return p.next(b)
		},
	})
}
