package githubtest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

// Project is a repository on the server, of which it has the branches' commits and no more.
type Project struct {
	Owner, Name string
	Private     bool
	Archived    bool
	Required    string // the context of a status without whose success nothing is merged
	Pinned      int64  // the app that has to give it, 0 for anybody
	Ruled       bool   // a ruleset says so, and not the branch's protection
	SquashOnly  bool   // no merge commits
	RebaseOnly  bool   // neither these nor squashes
	NoDrafts    bool   // as a private project of a free plan

	s        *Server
	id       int64
	parent   *Project
	names    []string // that it had
	gone     bool
	rights   map[string]string
	branches map[string]string
	issues   []*issue
	labels   []string
	hooks    []map[string]any
	statuses map[string][]map[string]any
	checks   map[string][]map[string]any
}

// issue is an issue, or a request where it has a head.
type issue struct {
	number                 int64
	author, title, body    string
	state, created, update string
	labels                 []string
	events, comments       []map[string]any
	*request
}

type request struct {
	base, branch, head string
	from               *Project
	draft              bool
	node               string
	merged, mergedBy   string // the commit, who
	reviews            []map[string]any
	remarks            map[string][]map[string]any // by review
	lag                int
}

// Project makes a project with a commit on main.
func (s *Server) Project(owner, name string) *Project {
	defer s.hold()()
	return s.make(owner, name, nil)
}

func (s *Server) make(owner, name string, parent *Project) *Project {
	p := &Project{s: s, id: s.id(), Owner: owner, Name: name, parent: parent, rights: map[string]string{owner: "admin"},
		branches: map[string]string{"main": Commit("main")}, statuses: map[string][]map[string]any{}, checks: map[string][]map[string]any{}}
	s.projects = append(s.projects, p)
	return p
}

// Find is a project that a client made.
func (s *Server) Find(owner, name string) *Project {
	defer s.hold()()
	return s.project(owner, name)
}

// Commit is the name of a commit of that text.
func Commit(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:20])
}

// Give gives an account a right: read, write or admin, and "" takes it.
func (p *Project) Give(login, right string) {
	defer p.s.hold()()
	p.rights[login] = right
}

func (p *Project) rank(login string) int {
	return slices.Index([]string{"", "read", "write", "admin"}, p.rights[login])
}

// Push moves a branch, and the heads of the requests from it; an empty commit deletes it.
func (p *Project) Push(branch, commit string) {
	defer p.s.hold()()
	p.branches[branch] = commit
	if commit == "" {
		delete(p.branches, branch)
		return
	}
	for _, q := range p.s.projects {
		for _, i := range q.issues {
			if i.request != nil && i.from == p && i.branch == branch && i.state == "open" {
				i.head = commit
			}
		}
	}
}

// Rename gives the project another name; the earlier one leads there.
func (p *Project) Rename(name string) {
	defer p.s.hold()()
	p.names = append(p.names, p.Name)
	p.Name = name
}

// Delete removes it.
func (p *Project) Delete() {
	defer p.s.hold()()
	p.gone = true
}

// Issue makes one.
func (p *Project) Issue(author, title, body string) int64 {
	defer p.s.hold()()
	return p.issue(author, title, body).number
}

func (p *Project) issue(author, title, body string) *issue {
	p.s.id()
	i := &issue{number: int64(len(p.issues) + 1), author: author, title: title, body: body, state: "open", created: p.s.date(), update: p.s.date()}
	p.issues = append(p.issues, i)
	return i
}

// Label gives a label or takes it.
func (p *Project) Label(n int64, by, label string, on bool) {
	defer p.s.hold()()
	i, event := p.issues[n-1], "labeled"
	i.labels = slices.DeleteFunc(i.labels, func(l string) bool { return l == label })
	if on {
		i.labels = append(i.labels, label)
	} else {
		event = "unlabeled"
	}
	if p.s.person(by) == nil { // an event is always somebody's by the description
		return
	}
	e := p.s.d.example("issue-event-for-issue-items")
	set(e, "id", p.s.id(), "event", event, "actor", p.s.person(by), "created_at", p.s.date(), "label", map[string]any{"name": label, "color": "00aabb"})
	i.events = append(i.events, e)
}

// Rewrite changes an issue's text.
func (p *Project) Rewrite(n int64, body string) {
	defer p.s.hold()()
	p.issues[n-1].body = body
}

// Close closes an issue or a request.
func (p *Project) Close(n int64) {
	defer p.s.hold()()
	p.issues[n-1].state = "closed"
}

// Say comments.
func (p *Project) Say(n int64, by, body string) int64 {
	defer p.s.hold()()
	return p.say(n, by, body)["id"].(int64)
}

func (p *Project) say(n int64, by, body string) map[string]any {
	c := p.s.d.example("issue-comment")
	set(c, "id", p.s.id(), "user", p.s.person(by), "body", body, "created_at", p.s.date(), "updated_at", p.s.date())
	p.issues[n-1].comments = append(p.issues[n-1].comments, c)
	return c
}

// Edit changes a comment's words.
func (p *Project) Edit(n, id int64, body string) {
	p.comment(n, id, "body", body, "updated_at", "")
}

// Unsay deletes a comment.
func (p *Project) Unsay(n, id int64) {
	defer p.s.hold()()
	i := p.issues[n-1]
	i.comments = slices.DeleteFunc(i.comments, func(c map[string]any) bool { return c["id"] == id })
}

// ByApp says of a comment that an app posted it in its author's name.
func (p *Project) ByApp(n, id int64) {
	p.comment(n, id, "performed_via_github_app", p.s.d.example("integration"))
}

func (p *Project) comment(n, id int64, members ...any) {
	defer p.s.hold()()
	p.s.id()
	for _, c := range p.issues[n-1].comments {
		if c["id"] == id {
			set(c, members...)
			if c["updated_at"] == "" {
				c["updated_at"] = p.s.date()
			}
		}
	}
}

// Review reviews a request in GitHub's words, and says the remarks of its first line.
func (p *Project) Review(n int64, by, state, body string, remarks ...string) {
	p.review(n, by, state, body, remarks, "line", 1)
}

// ReviewFiles is Review of whole files, or of lines that are no more: GitHub leaves the line out.
func (p *Project) ReviewFiles(n int64, by, state, body string, remarks ...string) {
	p.review(n, by, state, body, remarks)
}

func (p *Project) review(n int64, by, state, body string, remarks []string, line ...any) {
	defer p.s.hold()()
	r := p.s.d.example("pull-request-review-items")
	i := p.issues[n-1]
	set(r, "id", p.s.id(), "user", p.s.person(by), "state", state, "body", body, "commit_id", i.head, "submitted_at", p.s.date())
	i.reviews = append(i.reviews, r)
	for _, words := range remarks {
		c := p.s.d.example("review-comment-items")
		set(c, "id", p.s.id(), "user", p.s.person(by), "path", "greet.sh", "position", 9, "body", words, "pull_request_review_id", r["id"])
		delete(c, "line")
		set(c, line...)
		if i.remarks == nil {
			i.remarks = map[string][]map[string]any{}
		}
		of := fmt.Sprint(r["id"])
		i.remarks[of] = append(i.remarks[of], c)
	}
}

// person is an account as GitHub shows it, null where it is gone.
func (s *Server) person(login string) any {
	u, ok := s.users[login]
	if !ok {
		return nil
	}
	out := s.d.example("simple-user")
	return set(out, "login", login, "id", u.id, "type", u.kind, "html_url", s.URL+"/"+login)
}

// set sets members of an object in pairs of name and value.
func set(o map[string]any, members ...any) map[string]any {
	for i := 0; i < len(members); i += 2 {
		o[fmt.Sprint(members[i])] = members[i+1]
	}
	return o
}
