package client

import (
	"context"
	"errors"
	"net/http"

	"git-ward/sandbox/gateway"
)

// Hook is a webhook of the project's. No forge shows its secret again.
type Hook struct {
	ID     int64
	URL    string
	Active bool
}

// hooksRight is the right that webhooks need on a forge; GitHub says 404 to whoever lacks it.
const hooksRight = "to administer the project, for its webhooks"

type wireHook struct {
	ID     int64 `json:"id"`
	Active bool  `json:"active"`
	Config struct {
		URL string `json:"url"`
	} `json:"config"`
}

func (w wireHook) into() (Hook, error) {
	var n need
	n.have(w.ID > 0, "id")
	return Hook{w.ID, w.Config.URL, w.Active}, n.err("the webhook")
}

type labHook struct {
	ID  int64  `json:"id"`
	URL string `json:"url"`
}

func (w labHook) into() (Hook, error) {
	var n need
	n.have(w.ID > 0, "id")
	return Hook{w.ID, w.URL, true}, n.err("the webhook")
}

// hooks lists the project's webhooks. All three forges have these calls.
func hooks[W any](ctx context.Context, c *conn, into func(W) (Hook, error)) ([]Hook, error) {
	q := c.get("/hooks")
	q.right = hooksRight
	all, err := list(ctx, c, q, into)
	return all, unseen(q, err)
}

// addHook makes one, and holds the answer to what was asked for.
func addHook[W any](ctx context.Context, c *conn, url string, secret gateway.Key, body any, into func(W) (Hook, error)) error {
	q := c.send(http.MethodPost, hooksRight, body, "/hooks")
	q.secret = secret
	_, err := one(ctx, c, q, func(w W) (Hook, error) {
		made, err := into(w)
		if err == nil && made.URL != url {
			err = errors.New("it does not say that the webhook was made")
		}
		return made, err
	})
	return unseen(q, err)
}

// RemoveHook removes one; that there is none is well. GitHub says so to whoever lacks the right, too:
// list them again.
func (c *conn) RemoveHook(ctx context.Context, id int64) error {
	err := c.do(ctx, c.send(http.MethodDelete, hooksRight, nil, "/hooks/%d", id))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// unseen is the want of the right where a forge denies that there are webhooks.
func unseen(q call, err error) error {
	if errors.Is(err, ErrNotFound) {
		return &ErrDenied{q.String(), hooksRight, ""}
	}
	return err
}

func (h *hub) Hooks(ctx context.Context) ([]Hook, error) {
	return hooks(ctx, h.conn, wireHook.into)
}

func (g *gitlab) Hooks(ctx context.Context) ([]Hook, error) {
	return hooks(ctx, g.conn, labHook.into)
}

// hubHook is what GitHub and Gitea are sent; GitHub knows no type.
type hubHook struct {
	Type   string            `json:"type,omitzero"`
	Active bool              `json:"active"`
	Events []string          `json:"events"`
	Config map[string]string `json:"config"`
}

// AddHook asks for what wakes a look: an issue, its label, a comment, a review, a request, a push.
func (g *gitea) AddHook(ctx context.Context, url string, secret gateway.Key) error {
	body := hubHook{"gitea", true, []string{"issues", "pull_request", "push"}, map[string]string{"url": url, "content_type": "json", "secret": secret.Reveal()}} // the first two bring their comments, labels and reviews along
	return addHook(ctx, g.conn, url, secret, body, wireHook.into)
}

func (g *github) AddHook(ctx context.Context, url string, secret gateway.Key) error {
	body := hubHook{"", true, []string{"issues", "issue_comment", "pull_request", "pull_request_review", "push"}, map[string]string{"url": url, "content_type": "json", "secret": secret.Reveal()}}
	return addHook(ctx, g.conn, url, secret, body, wireHook.into)
}

func (g *gitlab) AddHook(ctx context.Context, url string, secret gateway.Key) error {
	body := map[string]any{"url": url, "token": secret.Reveal(), "issues_events": true, "note_events": true, "merge_requests_events": true, "push_events": true}
	return addHook(ctx, g.conn, url, secret, body, labHook.into)
}
