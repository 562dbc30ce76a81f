package forge_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/await"
	"git-ward/sandbox/forge/client/giteatest"
)

// gitea is a project on a real Gitea, as its people use it: lead, who owns it, and bot, whose
// token Ward has.
type gitea struct {
	lab       *giteatest.Lab
	url, name string // of the forge, OWNER/NAME
	lead, bot giteatest.User
}

func newGitea(t *testing.T) *gitea {
	t.Helper()
	l := giteatest.New(t)
	g := &gitea{lab: l, url: l.URL, lead: l.User("lead"), bot: l.Bot("bot")}
	g.name = g.lead.Login + "/p"
	g.lead.Do("POST", "/user/repos", map[string]any{"name": "p", "default_branch": "main"}, nil)
	g.lead.Give("p", g.bot, "admin") // Gitea tells nobody else who may write
	return g
}

// clone is the project's URL for lead's git, in a test's own repository only.
func (g *gitea) clone() string {
	return strings.Replace(g.url, "://", "://"+g.lead.Login+":"+g.lead.Token+"@", 1) + "/" + g.name + ".git"
}

// call is lead's, for a path below the project's.
func (g *gitea) call(method, path string, body, into any) {
	g.lead.Do(method, "/repos/"+g.name+path, body, into)
}

type label struct {
	ID int64 `json:"id"`
}

// issue opens one with the label.
func (g *gitea) issue(title, body string) int64 {
	var labels []label
	g.call("GET", "/labels", nil, &labels)
	if len(labels) == 0 {
		labels = append(labels, label{})
		g.call("POST", "/labels", map[string]any{"name": "ward", "color": "#00aabb"}, &labels[0])
	}
	var i struct{ Number int64 }
	g.call("POST", "/issues", map[string]any{"title": title, "body": body, "labels": []int64{labels[0].ID}}, &i)
	return i.Number
}

func (g *gitea) comment(who giteatest.User, number int64, text string) {
	who.Do("POST", fmt.Sprintf("/repos/%s/issues/%d/comments", g.name, number), map[string]any{"body": text}, nil)
}

type comment struct {
	Body string
	User struct{ Login string }
}

func (g *gitea) comments(number int64) (list []comment) {
	g.call("GET", fmt.Sprintf("/issues/%d/comments", number), nil, &list)
	return list
}

type pull struct {
	Number      int64
	Title, Body string
	Draft       bool
	State       string
	Merged      bool
	Head        struct{ Sha string }
	MergeCommit string `json:"merge_commit_sha"`
}

func (g *gitea) pulls() (list []pull) {
	g.call("GET", "/pulls?state=all", nil, &list)
	return list
}

// merge squashes a request as lead. Gitea looks in the background whether that can be, again and
// again, and refuses meanwhile.
func (g *gitea) merge(t *testing.T, number int64, head string) {
	t.Helper()
	await.True(t, "the forge to merge", func() bool {
		err := g.lead.Try("POST", fmt.Sprintf("/repos/%s/pulls/%d/merge", g.name, number), map[string]any{"Do": "squash", "head_commit_id": head}, nil)
		if err != nil && !strings.Contains(err.Error(), "try again later") {
			t.Fatal(err)
		}
		return err == nil
	})
}

type status struct {
	ID                           int64
	Context, Status, Description string
}

// statuses are those of a commit, newest first.
func (g *gitea) statuses(commit string) (list []status) {
	g.call("GET", "/commits/"+commit+"/statuses", nil, &list)
	slices.SortFunc(list, func(a, b status) int { return cmp.Compare(b.ID, a.ID) }) // Gitea's times are whole seconds
	return list
}
