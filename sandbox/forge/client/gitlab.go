package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// gitlab is GitLab, written from its documentation only: it has never run against a real one.
// GitLab numbers issues and merge requests separately, marks a draft in its title, identifies
// a machine account by another call, and lets the project's settings decide how a request is
// merged.
type gitlab struct {
	*conn
	forge *url.URL
	path  string // of the project, with its groups

	bots     memo[bool] // by account
	projects memo[labProject]
}

func newGitLab(c Config, forge *url.URL) Forge {
	g := &gitlab{forge: forge, path: c.Owner + "/" + c.Name}
	g.conn = newConn(c, forge.JoinPath("/api/v4"), func(h http.Header) { h.Set("Private-Token", c.Token.Reveal()) })
	g.at = "/projects/" + url.PathEscape(g.path)
	g.more, g.size = "per_page", "100"
	return g
}

func (g *gitlab) me(ctx context.Context) (labUser, error) {
	return one(ctx, g.conn, call{method: http.MethodGet, path: "/user", right: "to read its own user"}, labUser.checked)
}

func (g *gitlab) Self(ctx context.Context) (Person, error) {
	u, err := g.me(ctx)
	return Person{u.Username, u.Bot}, err
}

// memo has what was looked up once, for good.
type memo[T any] struct{ known sync.Map }

func (m *memo[T]) of(id int64, ask func() (T, error)) (T, error) {
	if v, ok := m.known.Load(id); ok {
		return v.(T), nil
	}
	v, err := ask()
	if err == nil {
		m.known.Store(id, v)
	}
	return v, err
}

// person looks up whether an account is a machine's.
func (g *gitlab) person(ctx context.Context, u *labUser) (Person, error) {
	if u == nil || u.ID == 0 {
		return Person{}, nil
	}
	bot, err := g.bots.of(u.ID, func() (bool, error) {
		found, err := one(ctx, g.conn, call{method: http.MethodGet, path: fmt.Sprintf("/users/%d", u.ID)}, labUser.checked)
		return found.Bot, err
	})
	if err != nil {
		return Person{}, err
	}
	return Person{u.Username, bot}, nil
}

// projectOf is the project of a number.
func (g *gitlab) projectOf(ctx context.Context, id int64) (labProject, error) {
	return g.projects.of(id, func() (labProject, error) {
		return one(ctx, g.conn, call{method: http.MethodGet, path: fmt.Sprintf("/projects/%d", id)}, labProject.checked)
	})
}

func (g *gitlab) Project(ctx context.Context) (Project, error) {
	return one(ctx, g.conn, g.get(""), func(p labProject) (Project, error) { return p.into(g.forge) })
}

// developer is the lowest GitLab access level that may push.
const developer = 30

func (g *gitlab) MayWrite(ctx context.Context, login string) (bool, error) {
	if !isLogin(login) {
		return false, nil
	}
	q := call{method: http.MethodGet, path: "/users", query: url.Values{"username": {login}}}
	users, err := list(ctx, g.conn, q, labUser.checked)
	if err != nil {
		return false, err
	}
	at := slices.IndexFunc(users, func(u labUser) bool { return strings.EqualFold(u.Username, login) })
	if at < 0 {
		return false, nil
	}
	type member struct {
		ID    int64 `json:"id"`
		Level int   `json:"access_level"`
	}
	return one(ctx, g.conn, g.get("/members/all/%d", users[at].ID), func(m member) (bool, error) {
		var n need
		n.have(m.ID == users[at].ID, "id")
		return m.Level >= developer, n.err("the member")
	})
}

// filled is an object that other calls complete, such as its people.
func filled[W, T any](ctx context.Context, g *gitlab, q call, check func(W) (W, error), make func(context.Context, W) (T, error)) (out T, err error) {
	w, err := one(ctx, g.conn, q, check)
	if err != nil {
		return out, err
	}
	return make(ctx, w)
}

// filledAll is a listing of such objects, of those to keep; the filter is looked at again.
func filledAll[W, T any](ctx context.Context, g *gitlab, q call, check func(W) (W, error), keep func(W) bool, make func(context.Context, W) (T, error)) (all []T, err error) {
	wires, err := list(ctx, g.conn, q, check)
	for _, w := range wires {
		if !keep(w) {
			continue
		}
		t, err := make(ctx, w)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, err
}

func (g *gitlab) Labelled(ctx context.Context, label string) ([]Issue, error) {
	q := g.get("/issues")
	q.query, q.apart = url.Values{"labels": {label}, "state": {"opened"}}, true
	keep := func(w labIssue) bool { return w.State == "opened" && slices.Contains(w.Labels, label) }
	return filledAll(ctx, g, q, labIssue.checked, keep, func(ctx context.Context, w labIssue) (Issue, error) {
		issue, err := g.issue(ctx, w)
		if err != nil {
			return issue, err
		}
		issue.LabelledBy, issue.Labelling, err = g.labelledBy(ctx, issue.Number, label)
		if issue.Unread = itsOwn(err); issue.Unread != nil {
			err = nil
		}
		return issue, err
	})
}

func (g *gitlab) labelledBy(ctx context.Context, number int64, label string) (Person, int64, error) {
	type event struct {
		ID     int64    `json:"id"`
		User   *labUser `json:"user"`
		Action string   `json:"action"`
		Label  *struct {
			Name string `json:"name"`
		} `json:"label"`
	}
	events, err := list(ctx, g.conn, g.get("/issues/%d/resource_label_events", number), func(e event) (event, error) { return e, nil })
	if err != nil {
		return Person{}, 0, err
	}
	var by *labUser
	var last int64
	for _, e := range events {
		if e.Label == nil || e.Label.Name != label {
			continue
		}
		by, last = nil, e.ID
		if e.Action == "add" {
			by = e.User
		}
	}
	who, err := g.person(ctx, by)
	return who, last, err
}

func (g *gitlab) issue(ctx context.Context, w labIssue) (Issue, error) {
	out := w.into()
	var err error
	out.Author, err = g.person(ctx, w.Author)
	return out, err
}

func (g *gitlab) Issue(ctx context.Context, number int64) (Issue, error) {
	return filled(ctx, g, g.get("/issues/%d", number), labIssue.checked, g.issue)
}

func (g *gitlab) Close(ctx context.Context, issue int64) error {
	q := g.send(http.MethodPut, "the scope api, and to close issues", map[string]string{"state_event": "close"}, "/issues/%d", issue)
	_, err := one(ctx, g.conn, q, func(w labIssue) (Issue, error) {
		_, err := w.checked()
		return hasClosed(w.into(), err)
	})
	return err
}

// notes is where a thread's comments are.
func notes(of Thread) string {
	return fmt.Sprintf("/%s/%d/notes", map[bool]string{true: "merge_requests", false: "issues"}[of.Request], of.Number)
}

func (g *gitlab) comment(ctx context.Context, w labNote) (c Comment, err error) {
	c = w.into()
	c.Author, err = g.person(ctx, w.Author)
	return c, err
}

func (g *gitlab) Comments(ctx context.Context, of Thread) ([]Comment, error) {
	q := g.get("%s", notes(of))
	q.query = url.Values{"sort": {"asc"}, "order_by": {"created_at"}}
	return filledAll(ctx, g, q, labNote.checked, func(w labNote) bool { return !w.System }, g.comment) // System: GitLab's own event lines
}

func (g *gitlab) Comment(ctx context.Context, on Thread, body string) (Comment, error) {
	return filled(ctx, g, g.send(http.MethodPost, "the scope api, and to comment", map[string]string{"body": body}, "%s", notes(on)), labNote.checked, g.comment)
}

func (g *gitlab) Fork(ctx context.Context) (Project, error) {
	self, err := g.me(ctx)
	if err != nil {
		return Project{}, err
	}
	q := g.get("/forks")
	q.query = url.Values{"owned": {"true"}}
	forks, err := list(ctx, g.conn, q, func(p labProject) (Project, error) { return p.into(g.forge) })
	if err != nil {
		return Project{}, err
	}
	for _, f := range forks {
		if strings.EqualFold(f.Owner, self.Username) {
			return f, nil
		}
	}
	return one(ctx, g.conn, g.send(http.MethodPost, "the scope api, and to make a fork", struct{}{}, "/fork"),
		func(p labProject) (Project, error) { return p.into(g.forge) })
}
