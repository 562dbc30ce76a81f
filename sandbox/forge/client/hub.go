package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync/atomic"
)

// hub is what GitHub and Gitea share; Gitea copied GitHub's API.
type hub struct {
	*conn
	forge       *url.URL // as a browser has it
	owner, name string
	self        atomic.Pointer[Person]
	writers     string                // the right that MayWrite needs
	base        string                // the query's name for a branch that requests are into
	plain       func(Request) Request // without a draft's mark in the title
	app         *App                  // nil: none
}

func newHub(c Config, forge, api *url.URL, auth func(http.Header)) *hub {
	h := &hub{conn: newConn(c, api, auth), forge: forge, owner: c.Owner, name: c.Name, app: c.App}
	h.at = "/repos/" + url.PathEscape(c.Owner) + "/" + url.PathEscape(c.Name)
	return h
}

// Self is asked for at each look: a token does not change hands, and an account may be renamed.
func (h *hub) Self(ctx context.Context) (Person, error) {
	p, err := one(ctx, h.conn, call{method: http.MethodGet, path: "/user", right: "to read its own user"}, wireUser.into)
	if err == nil {
		h.self.Store(&p)
	}
	return p, err
}

// me is who Self said last.
func (h *hub) me(ctx context.Context) (Person, error) {
	if p := h.self.Load(); p != nil {
		return *p, nil
	}
	return h.Self(ctx)
}

func (h *hub) project(p wireProject) (Project, error) { return p.into(h.forge) }

func (h *hub) Project(ctx context.Context) (Project, error) {
	return one(ctx, h.conn, h.get(""), h.project)
}

func (h *hub) MayWrite(ctx context.Context, login string) (bool, error) {
	if !isLogin(login) {
		return false, nil // a deleted account
	}
	type answer struct {
		Permission string    `json:"permission"`
		User       *wireUser `json:"user"`
	}
	q := h.get("/collaborators/%s/permission", url.PathEscape(login))
	q.right = h.writers
	return one(ctx, h.conn, q, func(a answer) (bool, error) {
		var n need
		n.have(a.Permission != "", "permission")
		n.have(strings.EqualFold(a.User.person(&n, "user").Login, login), "user")
		return slices.Contains([]string{"owner", "admin", "maintain", "write"}, a.Permission), n.err("the permission")
	})
}

// labelEvent says that a label was set or removed.
type labelEvent struct {
	id    int64
	label string
	added bool
	by    Person
}

// labelled lists the open issues with a label; events is where an issue's events are read.
func (h *hub) labelled(ctx context.Context, label string, query url.Values, events func(context.Context, int64) ([]labelEvent, error)) ([]Issue, error) {
	q := h.get("/issues")
	q.query, q.apart = query, true
	wires, err := list(ctx, h.conn, q, func(w wireIssue) (wireIssue, error) {
		_, err := w.into()
		return w, err
	})
	if err != nil {
		return nil, err
	}
	var all []Issue
	for _, w := range wires {
		// The filter is checked again, because a forge ignores filters that it does not know.
		if w.Request != nil || w.State != Open || !w.labelled(label) {
			continue
		}
		issue, _ := w.into()
		story, err := events(ctx, w.Number)
		if issue.Unread = itsOwn(err); issue.Unread == nil && err != nil {
			return nil, err
		}
		for _, e := range story {
			if strings.EqualFold(e.label, label) {
				issue.LabelledBy, issue.Labelling = Person{}, e.id
				if e.added {
					issue.LabelledBy = e.by
				}
			}
		}
		all = append(all, issue)
	}
	return all, nil
}

// itsOwn is an error about one issue only. Strangers can make its history longer than is read;
// the other issues continue.
func itsOwn(err error) error {
	if _, ok := errors.AsType[*ErrAnswer](err); ok {
		return err
	}
	return nil
}

func (h *hub) Issue(ctx context.Context, number int64) (Issue, error) {
	return one(ctx, h.conn, h.get("/issues/%d", number), wireIssue.into)
}

func (h *hub) Close(ctx context.Context, issue int64) error {
	q := h.send(http.MethodPatch, "to close issues", map[string]string{"state": Closed}, "/issues/%d", issue)
	_, err := one(ctx, h.conn, q, func(w wireIssue) (Issue, error) { return hasClosed(w.into()) })
	return err
}

// hasClosed holds an issue to what it was to become.
func hasClosed(i Issue, err error) (Issue, error) {
	if err == nil && i.Open {
		err = errors.New("it does not say that the issue was closed")
	}
	return i, err
}

func (h *hub) Comments(ctx context.Context, of Thread) ([]Comment, error) {
	return list(ctx, h.conn, h.get("/issues/%d/comments", of.Number), wireComment.into)
}

func (h *hub) Comment(ctx context.Context, on Thread, body string) (Comment, error) {
	q := h.send(http.MethodPost, "to comment on issues", map[string]string{"body": body}, "/issues/%d/comments", on.Number)
	return one(ctx, h.conn, q, wireComment.into)
}

// isFork is the answer if it is a fork of the project, else nil.
func (h *hub) isFork(w wireProject) (*Project, error) {
	if !w.Fork || w.Parent == nil || !strings.EqualFold(w.Parent.FullName, h.owner+"/"+h.name) {
		return nil, nil
	}
	p, err := h.project(w)
	return &p, err
}

func (h *hub) Fork(ctx context.Context) (Project, error) {
	self, err := h.me(ctx)
	if err != nil {
		return Project{}, err
	}
	q := call{method: http.MethodGet, path: "/repos/" + url.PathEscape(self.Login) + "/" + url.PathEscape(h.name)}
	fork, err := one(ctx, h.conn, q, h.isFork)
	_, renamed := errors.AsType[*ErrMoved](err)
	if err != nil && !renamed && !errors.Is(err, ErrNotFound) {
		return Project{}, err
	}
	if fork != nil {
		return *fork, nil
	}
	made, err := one(ctx, h.conn, h.send(http.MethodPost, "to make a fork", struct{}{}, "/forks"), h.project)
	if _, there := errors.AsType[*ErrConflict](err); !there {
		return made, err
	}
	// The fork has another name, or the name belongs to another project.
	forks, listed := list(ctx, h.conn, h.get("/forks"), func(w wireProject) (wireProject, error) { return w, nil })
	for _, f := range forks {
		if f.Owner != nil && strings.EqualFold(f.Owner.Login, self.Login) {
			q.path = "/repos/" + url.PathEscape(f.Owner.Login) + "/" + url.PathEscape(f.Name)
			return one(ctx, h.conn, q, h.project)
		}
	}
	return Project{}, errors.Join(err, listed)
}

// requests lists the token user's requests from a branch.
func (h *hub) requests(ctx context.Context, query url.Values, owner, branch string) ([]Request, error) {
	self, err := h.me(ctx)
	if err != nil {
		return nil, err
	}
	q := h.get("/pulls")
	q.query = query
	all, err := list(ctx, h.conn, q, h.request)
	return slices.DeleteFunc(all, func(r Request) bool {
		return !strings.EqualFold(r.Author.Login, self.Login) || !strings.EqualFold(r.Head.Owner, owner) || r.Head.Branch != branch
	}), err
}

// Onto looks at the filter again.
func (h *hub) Onto(ctx context.Context, branch string) ([]Request, error) {
	q := h.get("/pulls")
	q.query = url.Values{"state": {Open}, h.base: {branch}}
	all, err := list(ctx, h.conn, q, h.request)
	return slices.DeleteFunc(all, func(r Request) bool { return r.State != Open || r.Base != branch }), err
}

func (h *hub) Required(ctx context.Context, branch, context string) (Rule, error) {
	type answer struct {
		Name     string   `json:"name"`
		Enabled  bool     `json:"enable_status_check"`   // Gitea's
		Contexts []string `json:"status_check_contexts"` // with patterns
		Rule     struct {
			Checks struct {
				Contexts []string `json:"contexts"`
				Checks   []check  `json:"checks"`
			} `json:"required_status_checks"`
		} `json:"protection"` // GitHub's
	}
	return one(ctx, h.conn, h.get("/branches/%s", url.PathEscape(branch)), func(a answer) (Rule, error) {
		var n need
		n.have(a.Name == branch, "name")
		wants := func(pattern string) bool {
			if strings.ContainsAny(pattern, "[{") { // which path.Match does not read as Gitea does
				return true
			}
			ok, err := path.Match(strings.ReplaceAll(pattern, "/", " "), strings.ReplaceAll(context, "/", " ")) // Gitea's * goes across a slash
			return ok || err != nil
		}
		return Rule{
			Required: a.Enabled && slices.ContainsFunc(a.Contexts, wants) || slices.Contains(a.Rule.Checks.Contexts, context),
			Pinned:   h.pinned(a.Rule.Checks.Checks, context),
		}, n.err("the branch")
	})
}

// check is a required status of GitHub's. Of a rule for no app any will do.
type check struct {
	Context     string `json:"context"`
	App         int64  `json:"app_id"`         // in a branch's protection
	Integration int64  `json:"integration_id"` // in a ruleset, the same
}

// pinned reports whether one of them wants the context of Ward's app. All of them have to be met.
func (h *hub) pinned(all []check, context string) bool {
	return h.app != nil && slices.ContainsFunc(all, func(c check) bool {
		return c.Context == context && (c.App == h.app.ID || c.Integration == h.app.ID)
	})
}

func (h *hub) Request(ctx context.Context, number int64) (Request, error) {
	return one(ctx, h.conn, h.get("/pulls/%d", number), h.request)
}

func (h *hub) request(w wireRequest) (Request, error) {
	r, err := w.into()
	return h.plain(r), err
}

// open makes a request.
func (h *hub) open(ctx context.Context, body any) (Request, error) {
	return one(ctx, h.conn, h.send(http.MethodPost, "to make pull requests", body, "/pulls"), h.request)
}

// edit changes its words.
func (h *hub) edit(ctx context.Context, number int64, body map[string]string) (Request, error) {
	return one(ctx, h.conn, h.send(http.MethodPatch, "to edit its own pull requests", body, "/pulls/%d", number), h.request)
}

// method is how the project lets requests be merged: a merge's commit before a squash before a
// rebase. Where a token may not see it, the first is tried.
func (h *hub) method(ctx context.Context) (string, error) {
	type answer struct {
		Commit  *bool `json:"allow_merge_commit"`  // GitHub's
		Commits *bool `json:"allow_merge_commits"` // Gitea's
		Squash  *bool `json:"allow_squash_merge"`
	}
	return one(ctx, h.conn, h.get(""), func(a answer) (string, error) {
		may := func(allowed *bool) bool { return allowed == nil || *allowed }
		switch {
		case may(a.Commit) && may(a.Commits):
			return "merge", nil
		case may(a.Squash):
			return "squash", nil
		}
		return "rebase", nil
	})
}

func (h *hub) Reviews(ctx context.Context, number int64) ([]Review, error) {
	return list(ctx, h.conn, h.get("/pulls/%d/reviews", number), wireReview.into)
}

func (h *hub) Remarks(ctx context.Context, number, review int64) ([]Remark, error) {
	return list(ctx, h.conn, h.get("/pulls/%d/reviews/%d/comments", number, review), wireRemark.into)
}

func (h *hub) Statuses(ctx context.Context, commit string) ([]Status, error) {
	if !isCommit(commit) {
		return nil, fmt.Errorf("%q is no commit", commit)
	}
	all, err := list(ctx, h.conn, h.get("/commits/%s/statuses", commit), wireStatus.into)
	return newestFirst(all), err
}

func newestFirst(all []numbered) []Status {
	slices.SortFunc(all, func(a, b numbered) int { return int(b.id - a.id) })
	var out []Status
	for _, s := range all {
		out = append(out, s.Status)
	}
	return out
}

func (h *hub) SetStatus(ctx context.Context, commit string, s Status) error {
	if !isCommit(commit) {
		return fmt.Errorf("%q is no commit", commit)
	}
	body := map[string]string{"context": s.Context, "state": s.State, "description": s.Description.Lines(), "target_url": s.URL}
	if s.URL == "" {
		delete(body, "target_url")
	}
	q := h.send(http.MethodPost, "to set the status of commits", body, "/statuses/%s", commit)
	_, err := one(ctx, h.conn, q, func(w wireStatus) (numbered, error) { return w.is(s) })
	return err
}
