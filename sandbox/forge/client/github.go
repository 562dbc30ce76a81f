package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// github is GitHub, and GitHub Enterprise Server.
type github struct {
	*hub
	graph *conn // only GraphQL can change a draft
	runs  *runs // nil where no app gives the verdict
}

func newGitHub(c Config, forge *url.URL) Forge {
	api, graph := forge.JoinPath("/api/v3"), forge.JoinPath("/api")
	if forge.Host == "github.com" {
		api = &url.URL{Scheme: forge.Scheme, Host: "api.github.com"}
		graph = api
	}
	as := func(h http.Header, token string) {
		h.Set("Authorization", "Bearer "+token)
		h.Set("Accept", "application/vnd.github+json")
		h.Set("X-GitHub-Api-Version", "2022-11-28")
	}
	auth := func(h http.Header) { as(h, c.Token.Reveal()) }
	h := newHub(c, forge, api, auth)
	h.more, h.size, h.base, h.plain = "per_page", "100", "base", markedDraft
	h.writers = "to write to the project: GitHub tells nobody else who may"
	g := &github{hub: h, graph: newConn(c, graph, auth)}
	if c.App != nil {
		g.runs = newRuns(c, api, as, h)
	}
	return g
}

// Statuses are check runs where an app gives the verdict.
func (g *github) Statuses(ctx context.Context, commit string) ([]Status, error) {
	if g.runs == nil || !isCommit(commit) {
		return g.hub.Statuses(ctx, commit)
	}
	return g.runs.statuses(ctx, commit)
}

func (g *github) SetStatus(ctx context.Context, commit string, s Status) error {
	if g.runs == nil || !isCommit(commit) {
		return g.hub.SetStatus(ctx, commit, s)
	}
	return g.runs.set(ctx, commit, s)
}

func (g *github) Labelled(ctx context.Context, label string) ([]Issue, error) {
	return g.labelled(ctx, label, url.Values{"labels": {label}, "state": {Open}}, g.labelEvents)
}

func (g *github) labelEvents(ctx context.Context, number int64) ([]labelEvent, error) {
	type event struct {
		ID    int64     `json:"id"`
		Event string    `json:"event"`
		Actor *wireUser `json:"actor"`
		App   *struct{} `json:"performed_via_github_app"`
		Label struct {
			Name string `json:"name"`
		} `json:"label"`
	}
	return list(ctx, g.conn, g.get("/issues/%d/events", number), func(e event) (labelEvent, error) {
		if e.Event != "labeled" && e.Event != "unlabeled" {
			return labelEvent{}, nil
		}
		var n need
		by := e.Actor.person(&n, "actor")
		by.Bot = by.Bot || e.App != nil
		return labelEvent{e.ID, e.Label.Name, e.Event == "labeled", by}, n.err("the event")
	})
}

func (g *github) Requests(ctx context.Context, owner, branch string) ([]Request, error) {
	return g.requests(ctx, url.Values{"state": {"all"}, "head": {owner + ":" + branch}}, owner, branch)
}

// markedDraft is a request that is a draft by its title.
func markedDraft(r Request) Request {
	if !r.Draft && strings.HasPrefix(r.Title.Raw(), wip) {
		r.Draft, r.marked = true, true
		return plainTitle(r)
	}
	return r
}

// Open makes a draft with a mark in its title where GitHub refuses a draft, as it does in a private
// project of a free plan, and takes the same request without.
func (g *github) Open(ctx context.Context, r NewRequest) (Request, error) {
	type wire struct {
		Title string `json:"title"`
		Head  string `json:"head"`
		Base  string `json:"base"`
		Body  string `json:"body"`
		Draft bool   `json:"draft"`
	}
	open := func(title string, draft bool) (Request, error) {
		return g.open(ctx, wire{title, r.Head.Owner + ":" + r.Head.Branch, r.Base, r.Body, draft})
	}
	made, err := open(r.Title, r.Draft)
	if _, refused := errors.AsType[*ErrConflict](err); refused && r.Draft {
		without, err := open(wip+r.Title, false)
		if _, refused := errors.AsType[*ErrConflict](err); !refused {
			return without, err // even of no answer: it may have been made
		}
	}
	return made, err
}

func (g *github) Edit(ctx context.Context, number int64, e Edit) (Request, error) {
	r, err := g.Request(ctx, number)
	if err != nil {
		return r, err
	}
	body := map[string]string{}
	if e.Title != nil {
		body["title"] = *e.Title
	}
	if e.Body != nil {
		body["body"] = *e.Body
	}
	if r.marked {
		if body, err = e.titled(ctx, wip, "body", number, g.Request); err != nil {
			return r, err
		}
	}
	if len(body) > 0 {
		r, err = g.edit(ctx, number, body)
	}
	if err != nil || e.Draft == nil || *e.Draft == r.Draft {
		return r, err
	}
	err = g.setDraft(ctx, r.node, *e.Draft)
	// GraphQL's own refusal has status 200. That of a closed request does not say whether there are drafts.
	if its, refused := errors.AsType[*ErrConflict](err); refused && its.Code == http.StatusOK && *e.Draft && r.State == Open {
		return g.edit(ctx, number, map[string]string{"title": wip + r.Title.Raw()})
	}
	r.Draft = *e.Draft
	return r, err
}

// The mutations that REST lacks.
const (
	toReady = `mutation($id: ID!) { done: markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft } } }`
	toDraft = `mutation($id: ID!) { done: convertPullRequestToDraft(input: {pullRequestId: $id}) { pullRequest { isDraft } } }`
)

func (g *github) setDraft(ctx context.Context, node string, draft bool) error {
	type body struct {
		Query     string            `json:"query"`
		Variables map[string]string `json:"variables"`
	}
	type answer struct {
		Data *struct {
			Done *struct {
				Request *struct {
					Draft bool `json:"isDraft"`
				} `json:"pullRequest"`
			} `json:"done"`
		} `json:"data"`
		Errors []struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"errors"`
	}
	q := call{method: http.MethodPost, path: "/graphql", body: body{toReady, map[string]string{"id": node}}}
	if draft {
		q.body = body{toDraft, map[string]string{"id": node}}
	}
	got, err := one(ctx, g.graph, q, func(a answer) (answer, error) {
		if len(a.Errors) == 0 && (a.Data == nil || a.Data.Done == nil || a.Data.Done.Request == nil || a.Data.Done.Request.Draft != draft) {
			return a, errors.New("it does not say that the draft was changed")
		}
		return a, nil
	})
	if err != nil || len(got.Errors) == 0 {
		return err
	}
	// GraphQL reports errors with status 200.
	why := got.Errors[0]
	switch its := g.words(why.Message); why.Type {
	case "NOT_FOUND":
		return fmt.Errorf("%s: %w%s", q, ErrNotFound, said(its))
	case "FORBIDDEN":
		return &ErrDenied{q.String(), "to edit its own pull requests", its}
	case "RATE_LIMITED":
		return &ErrLater{Call: q.String(), At: g.now().Add(pause), Err: errors.New(why.Type + said(its))}
	default:
		return &ErrConflict{q.String(), http.StatusOK, its}
	}
}

// Required looks at the branch's protection, and at the rules that rulesets have for it.
func (g *github) Required(ctx context.Context, branch, context string) (Rule, error) {
	is, err := g.hub.Required(ctx, branch, context)
	if err != nil || is.Required && (is.Pinned || g.app == nil) {
		return is, err
	}
	type rule struct {
		Type       string `json:"type"`
		Parameters struct {
			Checks []check `json:"required_status_checks"`
		} `json:"parameters"`
	}
	rules, err := list(ctx, g.conn, g.get("/rules/branches/%s", url.PathEscape(branch)), func(r rule) (rule, error) { return r, nil })
	if _, denied := errors.AsType[*ErrDenied](err); denied || errors.Is(err, ErrNotFound) { // a plan or a server without rulesets
		return is, nil
	}
	for _, r := range rules {
		if r.Type != "required_status_checks" {
			continue
		}
		is.Required = is.Required || slices.ContainsFunc(r.Parameters.Checks, func(c check) bool { return c.Context == context })
		is.Pinned = is.Pinned || g.pinned(r.Parameters.Checks, context)
	}
	return is, err
}

func (g *github) Merge(ctx context.Context, number int64, head, message string) error {
	method, err := g.method(ctx)
	if err != nil {
		return err
	}
	title, text, _ := strings.Cut(message, "\n\n")
	type answer struct {
		Merged bool   `json:"merged"`
		Commit string `json:"sha"`
	}
	q := g.send(http.MethodPut, "to merge into the branch", map[string]string{"sha": head, "merge_method": method, "commit_title": title, "commit_message": text}, "/pulls/%d/merge", number)
	_, err = one(ctx, g.conn, q, func(a answer) (answer, error) {
		if !a.Merged || !isCommit(a.Commit) {
			return a, errors.New("it does not say that the request was merged")
		}
		return a, nil
	})
	return err
}
