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
	ID     int64  `json:"id"`
	Active *bool  `json:"active"` // GitLab switches none off
	URL    string `json:"url"`    // GitLab's; on the others that of the API
	Config *struct {
		URL string `json:"url"`
	} `json:"config"`
}

func (w wireHook) into() (Hook, error) {
	var n need
	n.have(w.ID > 0, "id")
	out := Hook{w.ID, w.URL, w.Active == nil || *w.Active}
	if w.Config != nil {
		out.URL = w.Config.URL
	}
	return out, n.err("the webhook")
}

// Hooks lists the project's webhooks. All three forges have these calls.
func (c *conn) Hooks(ctx context.Context) ([]Hook, error) {
	q := c.get("/hooks")
	q.right = hooksRight
	all, err := list(ctx, c, q, wireHook.into)
	return all, unseen(q, err)
}

// addHook makes one, and holds the answer to what was asked for.
func (c *conn) addHook(ctx context.Context, url string, secret gateway.Key, body any) error {
	q := c.send(http.MethodPost, hooksRight, body, "/hooks")
	q.secret = secret
	_, err := one(ctx, c, q, func(w wireHook) (Hook, error) {
		made, err := w.into()
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
	return g.addHook(ctx, url, secret, body)
}

func (g *github) AddHook(ctx context.Context, url string, secret gateway.Key) error {
	body := hubHook{"", true, []string{"issues", "issue_comment", "pull_request", "pull_request_review", "push"}, map[string]string{"url": url, "content_type": "json", "secret": secret.Reveal()}}
	return g.addHook(ctx, url, secret, body)
}

func (g *gitlab) AddHook(ctx context.Context, url string, secret gateway.Key) error {
	body := map[string]any{"url": url, "token": secret.Reveal(), "issues_events": true, "note_events": true, "merge_requests_events": true, "push_events": true}
	return g.addHook(ctx, url, secret, body)
}
