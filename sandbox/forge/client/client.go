// Package client asks a forge: Gitea (and Forgejo, whose calls are the same), GitHub or
// GitLab, behind one interface of what `git ward forge` needs (FORGE-1 to FORGE-6). It keeps
// no state but the answers that a forge says are still good, and it decides nothing: who may
// do what, and what a text means, is its caller's.
//
// GitLab's part has never run against a GitLab. It is written by the contract that GitLab
// publishes, and its tests hold it to what was understood of that.
package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"git-ward/internal/diag"
	"git-ward/sandbox/gateway"
)

// Forge is one project on a forge, as the user of a token sees it. Each error is one of
// errors.go, or the context's, and names the call.
type Forge interface {
	// Self is the token's user.
	Self(ctx context.Context) (Person, error)
	Project(ctx context.Context) (Project, error)
	// MayWrite looks up whether a person may write to the project's code now. Of who is no member
	// it may be ErrNotFound, which is also of a project that the token may no longer see.
	MayWrite(ctx context.Context, login string) (bool, error)
	// Labelled lists the open issues with a label, and who set it.
	Labelled(ctx context.Context, label string) ([]Issue, error)
	Issue(ctx context.Context, number int64) (Issue, error)
	// Close closes an issue.
	Close(ctx context.Context, issue int64) error
	// Comments are oldest first.
	Comments(ctx context.Context, of Thread) ([]Comment, error)
	Comment(ctx context.Context, on Thread, body string) (Comment, error)
	// Label makes a label where it is missing, and reports whether it was.
	Label(ctx context.Context, name string) (made bool, err error)
	// Hooks are the project's webhooks, whoever made them.
	Hooks(ctx context.Context) ([]Hook, error)
	// AddHook makes a webhook, signed with a secret, for what a look is woken by.
	AddHook(ctx context.Context, url string, secret gateway.Key) error
	RemoveHook(ctx context.Context, id int64) error
	// Fork is the user's own, made where it is missing.
	Fork(ctx context.Context) (Project, error)
	// Requests lists those of the token's user from a branch, in any state.
	Requests(ctx context.Context, owner, branch string) ([]Request, error)
	Request(ctx context.Context, number int64) (Request, error)
	// Onto are the open requests into a branch, of anybody.
	Onto(ctx context.Context, branch string) ([]Request, error)
	// Required is the branch's rule for a status of that context.
	Required(ctx context.Context, branch, context string) (Rule, error)
	Open(ctx context.Context, r NewRequest) (Request, error)
	Edit(ctx context.Context, number int64, e Edit) (Request, error)
	Reviews(ctx context.Context, number int64) ([]Review, error)
	// Remarks are what a review says of single lines, and what others answered there.
	Remarks(ctx context.Context, number, review int64) ([]Remark, error)
	// Statuses lists the newest first.
	Statuses(ctx context.Context, commit string) ([]Status, error)
	SetStatus(ctx context.Context, commit string, s Status) error
	// Merge merges a request whose head is that commit, and no other, by a commit with that message; by a
	// squash or a rebase where the project lets nothing else be.
	Merge(ctx context.Context, number int64, head, message string) error
}

// Person is an account. The login of one that is gone is empty.
type Person struct {
	Login string
	Bot   bool // a machine account, or a program that acted for the person
}

// Project is a repository on the forge.
type Project struct {
	ID          int64 // its number, which no other gets, and which it keeps under another name
	Owner, Name string
	Branch      string // the default one
	Clone, Page string // URLs
	Write       bool   // whether the token may
	Closed      bool   // archived: read-only
}

// Thread is an issue or a request, as what can be commented on.
type Thread struct {
	Request bool // GitLab numbers issues and requests separately
	Number  int64
}

// Issue is one with the words of anybody.
type Issue struct {
	Number      int64
	Title, Body diag.Untrusted
	Author      Person
	LabelledBy  Person // Labelled only: who set the label last
	Labelling   int64  // Labelled only: the event that set the label
	Unread      error  // Labelled only: why that is unknown for this issue
	Open        bool
}

// Comment is one with the words of anybody. Whether it was edited the forge says by two
// times, Gitea in whole seconds.
type Comment struct {
	ID               int64
	Author           Person
	Body             diag.Untrusted
	Created, Updated time.Time
}

// Edited reports whether the words are not the ones that were posted.
func (c Comment) Edited() bool { return !c.Updated.Equal(c.Created) }

// Head is what a request is made from. Owner and Name are empty where that repository is
// gone, and Commit stays.
type Head struct{ Owner, Name, Branch, Commit string }

// The states of a request.
const (
	Open   = "open"
	Closed = "closed"
	Merged = "merged"
)

// Request is a pull request, which GitLab calls a merge request.
type Request struct {
	Number      int64
	Author      Person
	Head        Head
	Base        string // the target branch
	Draft       bool
	State       string
	MergeCommit string // if merged: the resulting commit of the base
	MergedBy    Person // if merged; not set by Requests on GitHub
	Title, Body diag.Untrusted
	Page        string
	Ref         string // of the project's repository, that has the head whatever becomes of the branch

	node   string // GitHub's GraphQL id
	marked bool   // GitHub's: its title alone makes it a draft
}

// NewRequest is a request to be made.
type NewRequest struct {
	Head        Head // without Commit
	Base        string
	Title, Body string
	Draft       bool
}

// Edit is what is to change of a request.
type Edit struct {
	Title, Body *string
	Draft       *bool
}

// The states of a review. Others than these are none that decide.
const (
	Approved  = "approved"
	Changes   = "changes"
	Commented = "commented"
	Dismissed = "dismissed"
)

// Review is what a person said of a request as a whole.
type Review struct {
	ID     int64
	Author Person
	State  string
	Body   diag.Untrusted
}

// Remark is a comment of a review's on a line of a file.
type Remark struct {
	Author Person
	Path   diag.Untrusted
	Line   int64 // 0: of the file, or of a line that is no more
	Body   diag.Untrusted
}

// The states of a Status are pending, success, failure and error.
type Status struct {
	Context, State string
	Description    diag.Untrusted
	URL            string
	By             Person // where it was read
}

// Rule is what a branch wants of a status.
type Rule struct {
	Required bool // nothing is merged without it
	Pinned   bool // only one that Config.App gives counts
}

// Kinds are the forges that there is a client for.
var Kinds = []string{"gitea", "github", "gitlab"}

// Config says which project, and who asks. Forgejo is a "gitea".
type Config struct {
	Kind        string
	URL         string // of the forge as in a browser: https://forge.example
	Owner, Name string // GitLab's Owner may be a path of groups
	Token       gateway.Key
	App         *App             // GitHub only: gives the verdict; nil: the token's user does
	HTTP        *http.Client     // nil: http.DefaultTransport
	Now         func() time.Time // nil: time.Now
}

// New makes the client of a project; it asks nothing yet.
func New(c Config) (Forge, error) {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%q is no URL of a forge, as https://forge.example is", c.URL)
	case u.Scheme != "https" && (u.Scheme != "http" || !gateway.IsLoopback(u.Hostname())):
		return nil, fmt.Errorf("the token would go to %s unencrypted: the URL of a forge begins with https://", u.Host)
	case c.Owner == "" || c.Name == "":
		return nil, fmt.Errorf("a project on a forge is OWNER/NAME, and this one is %q/%q", c.Owner, c.Name)
	case c.Token.IsZero():
		return nil, fmt.Errorf("there is no token for %s", u.Host)
	case c.App != nil && c.Kind != "github":
		return nil, fmt.Errorf("only GitHub knows apps, and this forge is of kind %s", c.Kind)
	}
	switch c.Kind {
	case "gitea":
		return newGitea(c, u), nil
	case "github":
		return newGitHub(c, u), nil
	case "gitlab":
		return newGitLab(c, u), nil
	}
	return nil, fmt.Errorf("%q is no kind of a forge: %s", c.Kind, strings.Join(Kinds, ", "))
}
