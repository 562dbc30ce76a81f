package client

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"git-ward/internal/diag"
)

// The wire form of GitHub's answers, which Gitea imitates. Each `into` checks that an answer
// has what is needed.

type wireUser struct {
	ID    int64  `json:"id"`
	Login string `json:"login"`
	Type  string `json:"type"` // GitHub's alone
}

// person is an account, or nobody if it was deleted. Gitea marks only its own built-in
// accounts as machines, by a negative id.
func (u *wireUser) person(n *need, name string) Person {
	if u == nil || u.Login == "" && u.ID == 0 {
		return Person{}
	}
	n.have(isLogin(u.Login), name)
	return Person{u.Login, u.ID < 0 || u.Type != "" && u.Type != "User"}
}

func (u wireUser) into() (Person, error) {
	var n need
	p := u.person(&n, "login")
	n.have(p.Login != "", "login")
	return p, n.err("the account")
}

type wireProject struct {
	ID          int64        `json:"id"`
	Name        string       `json:"name"`
	FullName    string       `json:"full_name"`
	Owner       *wireUser    `json:"owner"`
	Branch      string       `json:"default_branch"`
	Clone       string       `json:"clone_url"`
	Page        string       `json:"html_url"`
	Fork        bool         `json:"fork"`
	Parent      *wireProject `json:"parent"`
	Archived    bool         `json:"archived"`
	Permissions struct {
		Push bool `json:"push"`
	} `json:"permissions"`
}

// into makes a project whose pages and repository must be on the forge itself, because pushes
// carry the token.
func (p wireProject) into(forge *url.URL) (Project, error) {
	var n need
	owner := p.Owner.person(&n, "owner")
	n.have(p.ID > 0, "id")
	n.have(owner.Login != "", "owner")
	n.have(isLogin(p.Name), "name")
	n.have(p.Branch != "", "default_branch")
	n.have(isAt(forge, p.Clone), "clone_url at "+forge.Host)
	n.have(isAt(forge, p.Page), "html_url at "+forge.Host)
	return Project{p.ID, owner.Login, p.Name, p.Branch, p.Clone, p.Page, p.Permissions.Push, p.Archived}, n.err("the project")
}

// isAt reports whether a URL is on the same forge.
func isAt(forge *url.URL, text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == forge.Scheme && u.Host == forge.Host && u.User == nil
}

type wireIssue struct {
	Number  int64       `json:"number"`
	Title   string      `json:"title"`
	Body    string      `json:"body"`
	State   string      `json:"state"`
	User    *wireUser   `json:"user"`
	Request *struct{}   `json:"pull_request"`
	Labels  []wireLabel `json:"labels"`
}

// wireLabel is an object or, as GitHub's schema also allows, a name.
type wireLabel struct{ Name string }

func (l *wireLabel) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &l.Name)
	}
	var object struct {
		Name string `json:"name"`
	}
	err := json.Unmarshal(data, &object)
	l.Name = object.Name
	return err
}

func (i wireIssue) into() (Issue, error) {
	var n need
	n.have(i.Number > 0, "number")
	n.have(i.State == "open" || i.State == "closed", "state")
	author := i.User.person(&n, "user")
	return Issue{Number: i.Number, Title: diag.Untrusted(i.Title), Body: diag.Untrusted(i.Body), Author: author, Open: i.State == "open"}, n.err("the issue")
}

// labelled reports whether an issue has a label, ignoring case as GitHub does.
func (i wireIssue) labelled(label string) bool {
	for _, l := range i.Labels {
		if strings.EqualFold(l.Name, label) {
			return true
		}
	}
	return false
}

type wireComment struct {
	ID      int64     `json:"id"`
	User    *wireUser `json:"user"`
	Body    string    `json:"body"`
	Created time.Time `json:"created_at"`
	Updated time.Time `json:"updated_at"`
	App     *struct{} `json:"performed_via_github_app"` // the program that acted for the user
}

func (c wireComment) into() (Comment, error) {
	var n need
	n.have(c.ID > 0, "id")
	n.have(!c.Created.IsZero(), "created_at")
	n.have(!c.Updated.IsZero(), "updated_at")
	author := c.User.person(&n, "user")
	author.Bot = author.Bot || c.App != nil
	return Comment{c.ID, author, diag.Untrusted(c.Body), c.Created, c.Updated}, n.err("the comment")
}

type wireBranch struct {
	Label  string       `json:"label"`
	Ref    string       `json:"ref"`
	Commit string       `json:"sha"`
	User   *wireUser    `json:"user"`
	Repo   *wireProject `json:"repo"`
}

// branch is the branch's name. For a deleted one Gitea has the request's own ref, and the name
// in the label.
func (b wireBranch) branch() string {
	if strings.HasPrefix(b.Ref, "refs/pull/") && b.Label != "" {
		return b.Label
	}
	return b.Ref
}

type wireRequest struct {
	Number      int64       `json:"number"`
	Node        string      `json:"node_id"`
	Title       string      `json:"title"`
	Body        string      `json:"body"`
	State       string      `json:"state"`
	Draft       bool        `json:"draft"`
	User        *wireUser   `json:"user"`
	Head        *wireBranch `json:"head"`
	Base        *wireBranch `json:"base"`
	MergedAt    *time.Time  `json:"merged_at"`
	MergeCommit string      `json:"merge_commit_sha"` // GitHub also sets one of a trial merge
	MergedBy    *wireUser   `json:"merged_by"`
	Page        string      `json:"html_url"`
}

func (r wireRequest) into() (Request, error) {
	var n need
	out := Request{Number: r.Number, Draft: r.Draft, State: r.State, Title: diag.Untrusted(r.Title),
		Body: diag.Untrusted(r.Body), Page: r.Page, Ref: fmt.Sprintf("refs/pull/%d/head", r.Number), node: r.Node}
	out.Author = r.User.person(&n, "user")
	n.have(r.Number > 0, "number")
	n.have(r.State == Open || r.State == Closed, "state")
	if r.MergedAt != nil && !r.MergedAt.IsZero() {
		out.State, out.MergeCommit, out.MergedBy = Merged, r.MergeCommit, r.MergedBy.person(&n, "merged_by")
		n.have(isCommit(r.MergeCommit), "merge_commit_sha")
	}
	if r.Head == nil || r.Base == nil {
		n.have(false, "head and base")
		return out, n.err("the request")
	}
	owner := r.Head.User
	if r.Head.Repo != nil {
		owner, out.Head.Name = r.Head.Repo.Owner, r.Head.Repo.Name
	}
	out.Head.Owner, out.Head.Branch, out.Head.Commit = owner.person(&n, "head's owner").Login, r.Head.branch(), r.Head.Commit
	out.Base = r.Base.Ref
	n.have(out.Head.Branch != "", "head.ref")
	n.have(isCommit(out.Head.Commit), "head.sha")
	n.have(out.Base != "", "base.ref")
	return out, n.err("the request")
}

type wireReview struct {
	ID        int64     `json:"id"`
	User      *wireUser `json:"user"`
	State     string    `json:"state"`
	Body      string    `json:"body"`
	Dismissed bool      `json:"dismissed"` // Gitea's: the state of a dismissed review does not change
}

// reviewStates are GitHub's and Gitea's words; others decide nothing.
var reviewStates = map[string]string{
	"APPROVED": Approved, "CHANGES_REQUESTED": Changes, "REQUEST_CHANGES": Changes,
	"COMMENTED": Commented, "COMMENT": Commented, "DISMISSED": Dismissed,
}

func (r wireReview) into() (Review, error) {
	var n need
	n.have(r.ID > 0, "id")
	n.have(r.State != "", "state")
	state := reviewStates[r.State]
	if r.Dismissed {
		state = Dismissed
	}
	return Review{r.ID, r.User.person(&n, "user"), state, diag.Untrusted(r.Body)}, n.err("the review")
}

type wireRemark struct {
	User     *wireUser `json:"user"`
	Path     string    `json:"path"`
	Line     int64     `json:"line"`     // GitHub's
	Position int64     `json:"position"` // Gitea's line; GitHub counts the lines of its diff
	Body     string    `json:"body"`
}

func (r wireRemark) into() (Remark, error) {
	var n need
	n.have(r.Path != "", "path")
	return Remark{r.User.person(&n, "user"), diag.Untrusted(r.Path), r.Line, diag.Untrusted(r.Body)}, n.err("the comment on a line")
}

type wireStatus struct {
	ID          int64     `json:"id"`
	State       string    `json:"state"`  // GitHub's
	Status      string    `json:"status"` // Gitea's
	Context     string    `json:"context"`
	Description string    `json:"description"`
	URL         string    `json:"target_url"`
	Creator     *wireUser `json:"creator"`
}

// numbered is a status with its number, by which the newer one is known.
type numbered struct {
	id int64
	Status
}

func (s wireStatus) into() (numbered, error) {
	var n need
	n.have(s.ID > 0, "id")
	state := s.State + s.Status
	n.have(state != "", "state")
	n.have(s.Context != "", "context")
	return numbered{s.ID, Status{s.Context, state, diag.Untrusted(s.Description), s.URL, s.Creator.person(&n, "creator")}}, n.err("the status")
}

// is checks that the forge answers with the status that was sent.
func (s wireStatus) is(want Status) (numbered, error) {
	got, err := s.into()
	if err == nil && (got.Context != want.Context || got.State != want.State) {
		err = fmt.Errorf("it has the status %q of %q, and was given %q of %q", got.State, diag.Clean(got.Context), want.State, want.Context)
	}
	return got, err
}
