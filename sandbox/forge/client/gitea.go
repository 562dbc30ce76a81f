package client

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"git-ward/internal/diag"
)

// gitea is Gitea, and Forgejo, which has the same API.
type gitea struct{ *hub }

func newGitea(c Config, forge *url.URL) Forge {
	h := newHub(c, forge, forge.JoinPath("/api/v1"), func(h http.Header) {
		h.Set("Authorization", "token "+c.Token.Reveal())
	})
	h.more, h.size, h.base, h.plain = "limit", "50", "base_branch", plainTitle
	h.writers = "to administer the project: Gitea tells nobody else who may write"
	return &gitea{h}
}

func (g *gitea) Labelled(ctx context.Context, label string) ([]Issue, error) {
	return g.labelled(ctx, label, url.Values{"labels": {label}, "state": {Open}, "type": {"issues"}}, g.labelEvents)
}

// labelEvents reads an issue's timeline. The event of a set label has the text 1.
func (g *gitea) labelEvents(ctx context.Context, number int64) ([]labelEvent, error) {
	type event struct {
		ID    int64     `json:"id"`
		Type  string    `json:"type"`
		Body  string    `json:"body"`
		User  *wireUser `json:"user"`
		Label *struct {
			Name string `json:"name"`
		} `json:"label"`
	}
	q := g.get("/issues/%d/timeline", number)
	q.null = true // an issue without events
	return list(ctx, g.conn, q, func(e event) (labelEvent, error) {
		if e.Type != "label" || e.Label == nil {
			return labelEvent{}, nil
		}
		var n need
		by := e.User.person(&n, "user")
		return labelEvent{e.ID, e.Label.Name, e.Body == "1", by}, n.err("the timeline")
	})
}

func (g *gitea) Requests(ctx context.Context, owner, branch string) ([]Request, error) {
	self, err := g.me(ctx)
	if err != nil {
		return nil, err
	}
	return g.requests(ctx, url.Values{"state": {"all"}, "poster": {self.Login}}, owner, branch)
}

func (g *gitea) Open(ctx context.Context, r NewRequest) (Request, error) {
	return g.open(ctx, map[string]string{"head": r.Head.Owner + ":" + r.Head.Branch, "base": r.Base, "title": draftTitle(wip, r.Title, r.Draft), "body": r.Body})
}

func (g *gitea) Edit(ctx context.Context, number int64, e Edit) (Request, error) {
	body, err := e.titled(ctx, wip, "body", number, g.Request)
	if err != nil {
		return Request{}, err
	}
	return g.edit(ctx, number, body)
}

func (g *gitea) Remarks(ctx context.Context, number, review int64) ([]Remark, error) {
	q := g.get("/pulls/%d/reviews/%d/comments", number, review)
	q.null = true // a review without them
	return list(ctx, g.conn, q, func(w wireRemark) (Remark, error) {
		w.Line = w.Position
		return w.into()
	})
}

func (g *gitea) Merge(ctx context.Context, number int64, head, message string) error {
	method, err := g.method(ctx)
	if err != nil {
		return err
	}
	title, text, _ := strings.Cut(message, "\n\n")
	body := map[string]string{"do": method, "head_commit_id": head, "merge_title_field": title, "merge_message_field": text}
	return g.do(ctx, g.send(http.MethodPost, "to merge into the branch", body, "/pulls/%d/merge", number))
}

// wip is Ward's mark of a draft where the forge reads it, or knows no drafts.
const wip = "WIP: "

// drafts are the title prefixes by which Gitea and GitLab mark a draft.
var drafts = []string{"WIP:", "[WIP]", "Draft:", "[Draft]", "(Draft)"}

// plainTitle is a request with its title without the draft mark.
func plainTitle(r Request) Request {
	if !r.Draft {
		return r
	}
	title := r.Title.Raw()
	for _, mark := range drafts {
		if len(title) >= len(mark) && strings.EqualFold(title[:len(mark)], mark) {
			title = title[len(mark):]
			break
		}
	}
	r.Title = diag.Untrusted(strings.TrimLeft(title, " "))
	return r
}

func draftTitle(mark, title string, draft bool) string {
	if draft {
		return mark + title
	}
	return title
}

// titled is an edit's body where the title marks a draft. If the edit sets only one of the
// two, the other is read first.
func (e Edit) titled(ctx context.Context, mark, words string, number int64, read func(context.Context, int64) (Request, error)) (map[string]string, error) {
	body := map[string]string{}
	if e.Body != nil {
		body[words] = *e.Body
	}
	if e.Title == nil && e.Draft == nil {
		return body, nil
	}
	title, draft := e.Title, e.Draft
	if title == nil || draft == nil {
		now, err := read(ctx, number)
		if err != nil {
			return nil, err
		}
		if draft == nil {
			draft = &now.Draft
		}
		if title == nil {
			raw := now.Title.Raw()
			title = &raw
		}
	}
	body["title"] = draftTitle(mark, *title, *draft)
	return body, nil
}
