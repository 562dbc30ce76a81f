package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// request is a merge request completed by other calls: its source, and its people.
func (g *gitlab) request(ctx context.Context, w labRequest) (Request, error) {
	out, err := w.into()
	if err != nil {
		return out, err
	}
	if out.Author, err = g.person(ctx, w.Author); err != nil {
		return out, err
	}
	if out.State == Merged {
		if out.MergedBy, err = g.person(ctx, w.merger()); err != nil {
			return out, err
		}
	}
	if w.Source == 0 { // the fork was deleted
		return out, nil
	}
	from, err := g.projectOf(ctx, w.Source)
	if errors.Is(err, ErrNotFound) {
		return out, nil
	}
	out.Head.Owner, out.Head.Name = from.owner(), from.Path
	return out, err
}

func (g *gitlab) Requests(ctx context.Context, owner, branch string) ([]Request, error) {
	self, err := g.me(ctx)
	if err != nil {
		return nil, err
	}
	q := g.get("/merge_requests")
	q.query = url.Values{"state": {"all"}, "scope": {"all"}, "source_branch": {branch}, "author_id": {strconv.FormatInt(self.ID, 10)}}
	keep := func(w labRequest) bool { return w.Author != nil && w.Author.ID == self.ID && w.Branch == branch }
	all, err := filledAll(ctx, g, q, labRequest.checked, keep, g.request)
	return slices.DeleteFunc(all, func(r Request) bool { return !strings.EqualFold(r.Head.Owner, owner) }), err
}

func (g *gitlab) Request(ctx context.Context, number int64) (Request, error) {
	return filled(ctx, g, g.get("/merge_requests/%d", number), labRequest.checked, g.request)
}

// Open asks the fork, which is told the project's number.
func (g *gitlab) Open(ctx context.Context, r NewRequest) (Request, error) {
	target, err := one(ctx, g.conn, g.get(""), labProject.checked)
	if err != nil {
		return Request{}, err
	}
	body := struct {
		Source  string `json:"source_branch"`
		Target  string `json:"target_branch"`
		Project int64  `json:"target_project_id"`
		Title   string `json:"title"`
		Body    string `json:"description"`
	}{r.Head.Branch, r.Base, target.ID, draftTitle("Draft: ", r.Title, r.Draft), r.Body}
	from := "/projects/" + url.PathEscape(r.Head.Owner+"/"+r.Head.Name) + "/merge_requests"
	return filled(ctx, g, call{method: http.MethodPost, path: from, body: body, right: "the scope api, and to make merge requests"}, labRequest.checked, g.request)
}

func (g *gitlab) Edit(ctx context.Context, number int64, e Edit) (Request, error) {
	body, err := e.titled(ctx, "Draft: ", "description", number, g.Request)
	if err != nil {
		return Request{}, err
	}
	return filled(ctx, g, g.send(http.MethodPut, "the scope api, and to edit its own merge requests", body, "/merge_requests/%d", number), labRequest.checked, g.request)
}

type labReviewer struct {
	User  *labUser `json:"user"`
	State string   `json:"state"`
}

func (r labReviewer) checked() (labReviewer, error) {
	var n need
	n.have(r.User != nil && isLogin(r.User.Username), "user")
	n.have(r.State != "", "state")
	return r, n.err("the reviewer")
}

// labReviews are GitLab's states of a reviewer that decide something.
var labReviews = map[string]string{"approved": Approved, "requested_changes": Changes, "reviewed": Commented}

// Reviews are the reviewers: GitLab keeps one state of each, and neither words nor a commit
// with it.
func (g *gitlab) Reviews(ctx context.Context, number int64) ([]Review, error) {
	return filledAll(ctx, g, g.get("/merge_requests/%d/reviewers", number), labReviewer.checked, func(labReviewer) bool { return true }, func(ctx context.Context, w labReviewer) (Review, error) {
		who, err := g.person(ctx, w.User)
		return Review{ID: w.User.ID, Author: who, State: labReviews[w.State]}, err
	})
}

// Remarks are none: a reviewer's state comes without words.
func (g *gitlab) Remarks(context.Context, int64, int64) ([]Remark, error) { return nil, nil }

// labStates are GitLab's status states. It has none for errors; canceled blocks a merge as
// failed does.
var labStates = map[string]string{"success": "success", "pending": "pending", "failure": "failed", "error": "canceled"}

func (g *gitlab) Statuses(ctx context.Context, commit string) ([]Status, error) {
	if !isCommit(commit) {
		return nil, fmt.Errorf("%q is no commit", commit)
	}
	q := g.get("/repository/commits/%s/statuses", commit)
	q.query = url.Values{"all": {"true"}}
	all, err := list(ctx, g.conn, q, labStatus.into)
	return newestFirst(all), err
}

func (g *gitlab) SetStatus(ctx context.Context, commit string, s Status) error {
	state := labStates[s.State]
	if !isCommit(commit) || state == "" {
		return fmt.Errorf("%q is no status of a commit %q", s.State, commit)
	}
	body := map[string]string{"state": state, "name": s.Context, "description": s.Description.Lines()}
	if s.URL != "" {
		body["target_url"] = s.URL
	}
	_, err := one(ctx, g.conn, g.send(http.MethodPost, "the scope api, and the role Developer", body, "/statuses/%s", commit), labStatus.into)
	return err
}

func (g *gitlab) Onto(ctx context.Context, branch string) ([]Request, error) {
	q := g.get("/merge_requests")
	q.query = url.Values{"state": {"opened"}, "scope": {"all"}, "target_branch": {branch}}
	return filledAll(ctx, g, q, labRequest.checked, func(w labRequest) bool { r, _ := w.into(); return r.State == Open && r.Base == branch }, g.request)
}

// Required is of no branch: GitLab has no rule that names a status.
func (g *gitlab) Required(context.Context, string, string) (Rule, error) { return Rule{}, nil }

// Merge leaves to the project how a request is merged.
func (g *gitlab) Merge(ctx context.Context, number int64, head, message string) error {
	body := map[string]string{"sha": head, "merge_commit_message": message}
	r, err := filled(ctx, g, g.send(http.MethodPut, "to merge into the branch", body, "/merge_requests/%d/merge", number), labRequest.checked, g.request)
	if err == nil && r.State != Merged {
		return &ErrConflict{Call: "the merge of the request", Code: http.StatusOK}
	}
	return err
}
