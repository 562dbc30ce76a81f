package client

import (
	"fmt"
	"net/url"
	"path"
	"time"

	"git-ward/internal/diag"
)

// The wire form of GitLab's answers.

type labUser struct {
	ID       int64  `json:"id"`
	Username string `json:"username"`
	Bot      bool   `json:"bot"` // only if a single account is read
}

func (u labUser) checked() (labUser, error) {
	var n need
	n.have(u.ID > 0, "id")
	n.have(isLogin(u.Username), "username")
	return u, n.err("the account")
}

type labAccess struct {
	Level int `json:"access_level"`
}

type labProject struct {
	ID          int64  `json:"id"`
	Path        string `json:"path"`
	Whole       string `json:"path_with_namespace"`
	Branch      string `json:"default_branch"`
	Clone       string `json:"http_url_to_repo"`
	Page        string `json:"web_url"`
	Archived    bool   `json:"archived"`
	Permissions struct {
		Project *labAccess `json:"project_access"`
		Group   *labAccess `json:"group_access"`
	} `json:"permissions"`
}

func (p labProject) owner() string { return path.Dir(p.Whole) }

func (p labProject) checked() (labProject, error) {
	var n need
	n.have(p.ID > 0, "id")
	n.have(isLogin(p.Path) && path.Base(p.Whole) == p.Path && p.owner() != ".", "path_with_namespace")
	return p, n.err("the project")
}

func (p labProject) into(forge *url.URL) (Project, error) {
	if _, err := p.checked(); err != nil {
		return Project{}, err
	}
	var n need
	n.have(p.Branch != "", "default_branch")
	n.have(isAt(forge, p.Clone), "http_url_to_repo at "+forge.Host)
	n.have(isAt(forge, p.Page), "web_url at "+forge.Host)
	level := 0
	for _, a := range []*labAccess{p.Permissions.Project, p.Permissions.Group} {
		if a != nil {
			level = max(level, a.Level)
		}
	}
	return Project{p.ID, p.owner(), p.Path, p.Branch, p.Clone, p.Page, level >= developer, p.Archived}, n.err("the project")
}

type labIssue struct {
	Number int64    `json:"iid"`
	Title  string   `json:"title"`
	Body   string   `json:"description"`
	State  string   `json:"state"`
	Author *labUser `json:"author"`
	Labels []string `json:"labels"`
}

func (i labIssue) checked() (labIssue, error) {
	var n need
	n.have(i.Number > 0, "iid")
	n.have(i.State == "opened" || i.State == "closed", "state")
	return i, n.err("the issue")
}

func (i labIssue) into() Issue {
	return Issue{Number: i.Number, Title: diag.Untrusted(i.Title), Body: diag.Untrusted(i.Body), Open: i.State == "opened"}
}

type labNote struct {
	ID      int64     `json:"id"`
	Body    string    `json:"body"`
	Author  *labUser  `json:"author"`
	System  bool      `json:"system"`
	Created time.Time `json:"created_at"`
	Updated time.Time `json:"updated_at"`
}

func (c labNote) checked() (labNote, error) {
	var n need
	n.have(c.ID > 0, "id")
	n.have(!c.Created.IsZero(), "created_at")
	n.have(!c.Updated.IsZero(), "updated_at")
	return c, n.err("the note")
}

func (c labNote) into() Comment {
	return Comment{ID: c.ID, Body: diag.Untrusted(c.Body), Created: c.Created, Updated: c.Updated}
}

type labRequest struct {
	Number       int64    `json:"iid"`
	Title        string   `json:"title"`
	Body         string   `json:"description"`
	State        string   `json:"state"`
	Draft        bool     `json:"draft"`
	Author       *labUser `json:"author"`
	Branch       string   `json:"source_branch"`
	Source       int64    `json:"source_project_id"`
	Base         string   `json:"target_branch"`
	Head         string   `json:"sha"`
	MergeCommit  string   `json:"merge_commit_sha"`
	SquashCommit string   `json:"squash_commit_sha"`
	MergeUser    *labUser `json:"merge_user"`
	MergedBy     *labUser `json:"merged_by"` // before GitLab 14.7
	Page         string   `json:"web_url"`
}

func (r labRequest) merger() *labUser {
	if r.MergeUser != nil {
		return r.MergeUser
	}
	return r.MergedBy
}

func (r labRequest) checked() (labRequest, error) {
	_, err := r.into()
	return r, err
}

// into leaves the people unset. If a request was merged without a merge commit, the base got
// its head.
func (r labRequest) into() (Request, error) {
	var n need
	n.have(r.Number > 0, "iid")
	n.have(isCommit(r.Head), "sha")
	n.have(r.Branch != "", "source_branch")
	n.have(r.Base != "", "target_branch")
	out := Request{Number: r.Number, Draft: r.Draft, Title: diag.Untrusted(r.Title), Body: diag.Untrusted(r.Body), Page: r.Page, Ref: fmt.Sprintf("refs/merge-requests/%d/head", r.Number),
		Base: r.Base, Head: Head{Branch: r.Branch, Commit: r.Head}}
	switch r.State {
	case "opened", "locked": // locked during a merge
		out.State = Open
	case "closed":
		out.State = Closed
	case "merged":
		out.State, out.MergeCommit = Merged, r.Head
		for _, commit := range []string{r.SquashCommit, r.MergeCommit} {
			if commit != "" {
				out.MergeCommit = commit
			}
		}
		n.have(isCommit(out.MergeCommit), "merge_commit_sha")
	default:
		n.have(false, "state")
	}
	return plainTitle(out), n.err("the merge request")
}

type labStatus struct {
	ID          int64    `json:"id"`
	State       string   `json:"status"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	URL         string   `json:"target_url"`
	Author      *labUser `json:"author"`
}

func (s labStatus) into() (numbered, error) {
	var n need
	n.have(s.ID > 0, "id")
	n.have(s.State != "", "status")
	n.have(s.Name != "", "name")
	out := Status{Context: s.Name, State: s.State, Description: diag.Untrusted(s.Description), URL: s.URL}
	for ours, theirs := range labStates {
		if s.State == theirs {
			out.State = ours
		}
	}
	if s.Author != nil {
		n.have(isLogin(s.Author.Username), "author")
		out.By.Login = s.Author.Username
	}
	return numbered{s.ID, out}, n.err("the status")
}
