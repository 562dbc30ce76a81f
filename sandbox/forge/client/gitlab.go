package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
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

	mu       sync.Mutex
	bots     map[int64]bool // by account, cached for good
	projects map[int64]labProject
}

func newGitLab(c Config, forge *url.URL) Forge {
	g := &gitlab{forge: forge, path: c.Owner + "/" + c.Name, bots: map[int64]bool{}, projects: map[int64]labProject{}}
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

// person looks up once whether an account is a machine's.
func (g *gitlab) person(ctx context.Context, u *labUser) (Person, error) {
	if u == nil || u.ID == 0 {
		return Person{}, nil
	}
	g.mu.Lock()
	bot, known := g.bots[u.ID]
	g.mu.Unlock()
	if !known {
		found, err := one(ctx, g.conn, call{method: http.MethodGet, path: fmt.Sprintf("/users/%d", u.ID)}, labUser.checked)
		if err != nil {
			return Person{}, err
		}
		bot = found.Bot
		g.mu.Lock()
		g.bots[u.ID] = bot
		g.mu.Unlock()
	}
	return Person{u.Username, bot}, nil
}

// projectOf is the project of a number, once looked up.
func (g *gitlab) projectOf(ctx context.Context, id int64) (labProject, error) {
	g.mu.Lock()
	p, known := g.projects[id]
	g.mu.Unlock()
	if known {
		return p, nil
	}
	p, err := one(ctx, g.conn, call{method: http.MethodGet, path: fmt.Sprintf("/projects/%d", id)}, labProject.checked)
	if err == nil {
		g.mu.Lock()
		g.projects[id] = p
		g.mu.Unlock()
	}
	return p, err
}

func (g *gitlab) Project(ctx context.Context) (Project, error) {
	return one(ctx, g.conn, g.get(""), func(p labProject) (Project, error) { return p.into(g.forge) })
}

// developer is the lowest GitLab access level that may push.
const developer, maintainer = 30, 40

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

func (g *gitlab) Labelled(ctx context.Context, label string) ([]Issue, error) {
	q := g.get("/issues")
	q.query = url.Values{"labels": {label}, "state": {"opened"}}
	wires, err := list(ctx, g.conn, q, labIssue.checked)
	if err != nil {
		return nil, err
	}
	var all []Issue
	for _, w := range wires {
		if w.State != "opened" || !slices.Contains(w.Labels, label) {
			continue
		}
		issue, err := g.issue(ctx, w)
		if err != nil {
			return nil, err
		}
		issue.LabelledBy, issue.Labelling, err = g.labelledBy(ctx, issue.Number, label)
		if issue.Unread = itsOwn(err); issue.Unread == nil && err != nil {
			return nil, err
		}
		all = append(all, issue)
	}
	return all, nil
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
	w, err := one(ctx, g.conn, g.get("/issues/%d", number), labIssue.checked)
	if err != nil {
		return Issue{}, err
	}
	return g.issue(ctx, w)
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
	if of.Request {
		return "/merge_requests/" + strconv.FormatInt(of.Number, 10) + "/notes"
	}
	return "/issues/" + strconv.FormatInt(of.Number, 10) + "/notes"
}

func (g *gitlab) Comments(ctx context.Context, of Thread) ([]Comment, error) {
	q := g.get("%s", notes(of))
	q.query = url.Values{"sort": {"asc"}, "order_by": {"created_at"}}
	wires, err := list(ctx, g.conn, q, labNote.checked)
	if err != nil {
		return nil, err
	}
	var all []Comment
	for _, w := range wires {
		if w.System { // GitLab's own event lines
			continue
		}
		c := w.into()
		if c.Author, err = g.person(ctx, w.Author); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func (g *gitlab) Comment(ctx context.Context, on Thread, body string) (Comment, error) {
	q := g.send(http.MethodPost, "the scope api, and to comment", map[string]string{"body": body}, "%s", notes(on))
	w, err := one(ctx, g.conn, q, labNote.checked)
	if err != nil {
		return Comment{}, err
	}
	c := w.into()
	c.Author, err = g.person(ctx, w.Author)
	return c, err
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
