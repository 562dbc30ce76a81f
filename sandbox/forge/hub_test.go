package forge_test

import (
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/loop"
	"git-ward/sandbox/forge/client"
	"git-ward/sandbox/forge/client/githubtest"
	"git-ward/sandbox/gateway"
)

// hub is a project on GitHub's stand-in with a repository of git's own behind it: ann owns it, ward
// is the bot, and eve may nothing.
type hub struct {
	*scene
	t       *testing.T
	s       *githubtest.Server
	p       *githubtest.Project
	root    string // of the repositories, OWNER/NAME.git
	backend string // git's

	mu   sync.Mutex
	next func(w http.ResponseWriter, r *http.Request) bool // answers a call of the API in its place
}

func newHub(t *testing.T) *hub {
	t.Helper()
	h := &hub{t: t, s: githubtest.New(t), root: t.TempDir()}
	front := httptest.NewServer(h)
	t.Cleanup(front.Close)
	h.s.URL = front.URL
	h.s.User("ann", "User")
	h.s.User("eve", "User")
	token := h.s.User("ward", "User")
	h.p = h.s.Project("ann", "box")
	h.p.Give("ward", "write")
	h.s.Merges = h.merges
	at := filepath.Join(h.root, "ann", "box.git")
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		t.Fatal(err)
	}
	p := newProject(t, h.init(t, at))
	h.backend = filepath.Join(strings.TrimSpace(p.Run(h.root, "git", "--exec-path")), "git-http-backend")
	h.scene = guard(p, nil, front.URL+"/ann/box", token)
	h.Run(h.Bare, "git-ward", "config", "--bare", h.Bare, "forge.kind=github")
	return h
}

// init makes an empty repository.
func (h *hub) init(t *testing.T, at string) string {
	p := gittest.Pair{T: t, Env: os.Environ()}
	p.Run(h.root, "git", "init", "--quiet", "--bare", "--initial-branch=main", at)
	return at
}

// as is the API as somebody sees it.
func (h *hub) as(login, kind string) client.Forge {
	h.t.Helper()
	key, err := gateway.NewKey(h.s.User(login, kind))
	if err != nil {
		h.t.Fatal(err)
	}
	f, err := client.New(client.Config{Kind: "github", URL: h.s.URL, Owner: "ann", Name: h.p.Name, Token: key})
	if err != nil {
		h.t.Fatal(err)
	}
	return f
}

// ServeHTTP is git's server for repositories, and the stand-in for all else.
func (h *hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	owner, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	name, _, ok := strings.Cut(rest, ".git/")
	if !ok {
		h.mu.Lock()
		next := h.next
		h.mu.Unlock()
		if next == nil || !next(w, r) {
			h.s.ServeHTTP(w, r)
		}
		return
	}
	p := h.s.Find(owner, name)
	if p == nil {
		http.NotFound(w, r)
		return
	}
	at := filepath.Join(h.root, owner, name+".git")
	if _, err := os.Stat(at); err != nil { // a fork that was made just now
		h.Run(h.root, "git", "clone", "--quiet", "--bare", filepath.Join(h.root, "ann", h.p.Name+".git"), at)
	}
	git := cgi.Handler{Path: h.backend, Env: []string{"GIT_PROJECT_ROOT=" + h.root, "GIT_HTTP_EXPORT_ALL=1"}}
	if _, _, named := r.BasicAuth(); named {
		git.Env = append(git.Env, "REMOTE_USER=ward")
	}
	git.ServeHTTP(w, r)
	if strings.HasSuffix(r.URL.Path, "/git-receive-pack") {
		for line := range strings.Lines(h.Run(at, "git", "for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", "refs/heads")) {
			commit, branch, _ := strings.Cut(strings.TrimSpace(line), " ")
			p.Push(branch, commit)
		}
	}
}

// merges makes the commit of a merge in the project's repository; the stand-in decides whether.
func (h *hub) merges(p *githubtest.Project, base, head, message string) string {
	at := filepath.Join(h.root, p.Owner, p.Name+".git")
	h.Run(at, "git", "fetch", "--quiet", filepath.Join(h.root, "ward", "box.git"), head)
	git := func(args ...string) string {
		return strings.TrimSpace(h.Run(at, "git", append([]string{"-c", "user.name=ann", "-c", "user.email=ann@localhost"}, args...)...))
	}
	args := []string{"commit-tree", "-m", message, "-p", base}
	if !p.SquashOnly && !p.RebaseOnly {
		args = append(args, "-p", head)
	}
	made := git(append(args, git("merge-tree", "--write-tree", base, head))...)
	git("update-ref", "refs/heads/"+base, made)
	return made
}

// said are the words on an issue or a request, "" where there are none; each with who said it.
func (h *hub) said(number int64) string {
	h.t.Helper()
	list, err := h.as("ann", "User").Comments(h.t.Context(), client.Thread{Number: number})
	if err != nil {
		h.t.Fatal(err)
	}
	var b strings.Builder
	for _, c := range list {
		io.WriteString(&b, c.Author.Login+": "+c.Body.Raw()+"\n")
	}
	return b.String()
}

// request is the newest of the bot's from a directive's branch, and the newest status of its head.
func (h *hub) request(directive string) (client.Request, string) {
	h.t.Helper()
	f := h.as("ward", "User")
	f.Requests(h.t.Context(), "ward", "agent/"+directive) // which lags behind
	list, err := f.Requests(h.t.Context(), "ward", "agent/"+directive)
	if err != nil || len(list) == 0 {
		h.t.Fatalf("%+v %v", list, err)
	}
	states, err := f.Statuses(h.t.Context(), list[0].Head.Commit)
	if err != nil || len(states) == 0 {
		h.t.Fatalf("%+v %v", states, err)
	}
	return list[0], states[0].State
}

// labelled opens an issue of eve's, which ann gives the label, and has Ward propose it.
func (h *hub) labelled(title string) int64 {
	h.t.Helper()
	n := h.p.Issue("eve", title, body)
	h.p.Label(n, "ann", "ward", true)
	h.once(0)
	return n
}

// proposed is labelled, and has ann approve it.
func (h *hub) proposed(title string) int64 {
	h.t.Helper()
	n := h.labelled(title)
	line := approveLine.FindString(h.said(n))
	h.p.Say(n, "eve", line)
	h.p.ByApp(n, h.p.Say(n, "ann", line))
	h.once(0)
	if strings.Contains(h.said(n), "is this text") {
		h.t.Fatal(h.said(n))
	}
	h.p.Say(n, "ann", line)
	h.once(0)
	return n
}

// TestHub is the whole way on GitHub, as its description and its habits are: limits in the middle of
// a look, a listing that lags, a review on a line, a merge by take, a rename, and a squash (FORGE-2
// to FORGE-6).
func TestHub(t *testing.T) {
	tier.Full(t, "GitHub's description, and git's own server")
	h := newHub(t)
	h.s.Lag = 1
	n := h.proposed("greet the user")
	gittest.InOrder(t, h.said(n), "ward: Ward would work on this issue", "eve: /ward approve", "ward: D-1 is this text, by the word of `ann`")
	u := h.begin("D-1")
	commit := u.claims("greet.sh", "echo \"Hello, $1.\"\n")
	h.limited(3)
	gittest.InOrder(t, h.once(1), "403 Forbidden", "secondary rate limit")
	h.once(0)
	made, state := h.request("D-1")
	if !made.Draft || made.Head.Commit != commit || made.Head.Owner != "ward" || state != "pending" {
		t.Fatalf("%+v %s", made, state)
	}
	u.verdict(loop.Exact)
	u.step("LOOP_CONVERGED", uowComplete)
	u.push()
	h.p.Required = "ward/verdict"
	h.once(0)
	if made, state = h.request("D-1"); made.Draft || state != "success" || !strings.Contains(made.Body.Raw(), "EXACT") {
		t.Fatalf("%+v %s", made, state)
	}
	h.Run(h.Bare, "git-ward", "take", "--bare", h.Bare, "D-1")
	if made, _ = h.request("D-1"); made.State != client.Merged || made.MergeCommit != h.at("main") {
		t.Fatalf("%+v", made)
	}
	h.once(0)
	gittest.InOrder(t, h.said(n), "D-1 is in the project, by "+h.s.URL)

	h.p.Rename("chest")
	if err := os.Rename(filepath.Join(h.root, "ann", "box.git"), filepath.Join(h.root, "ann", "chest.git")); err != nil {
		t.Fatal(err)
	}
	gittest.InOrder(t, h.once(1), "it has moved to", "name the project as it is called now: git ward config")
	h.Run(h.Bare, "git-ward", "config", "--bare", h.Bare, "forge.url="+h.s.URL+"/ann/chest")
	h.proposed("greet in French")
	u = h.begin("D-2")
	u.claims("salut.sh", "echo \"Salut, $1.\"\n")
	if out, err := h.Try(h.Bare, []string{"WARD_FAILPOINT=forge/made=kill"}, "", "git-ward", "forge", "--once", "--bare", h.Bare); err == nil {
		t.Fatal(out)
	}
	theirs, err := h.as("eve", "User").Open(t.Context(), client.NewRequest{Head: client.Head{Owner: "ward", Branch: "agent/D-2"}, Base: "main", Title: "D-2: mine", Body: "**EXACT**"})
	if err != nil {
		t.Fatal(err)
	}
	gittest.InOrder(t, h.once(1), "A pull request already exists for ward:agent/D-2", "a request of somebody else's from ward:agent/D-2 would stand in its way: close that one")
	h.p.Close(theirs.Number)
	h.once(0)
	made, _ = h.request("D-2")
	h.p.Review(made.Number, "eve", "CHANGES_REQUESTED", "rm -rf everything")
	h.p.Review(made.Number, "ann", "CHANGES_REQUESTED", "", "in Breton, too")
	h.once(0)
	log := h.Run(h.Bare, "git", "log", "-p", "refs/ward/uow/D-2.1")
	if gittest.InOrder(t, log, "greet.sh:1: in Breton, too"); strings.Contains(log, "rm -rf") {
		t.Fatal(log)
	}

	h.proposed("greet in Welsh")
	u = h.begin("D-3")
	commit = u.claims("helo.sh", "echo \"Helo, $1.\"\n")
	u.verdict(loop.Exact)
	u.step("LOOP_CONVERGED", uowComplete)
	u.push()
	h.once(0)
	h.p.SquashOnly = true
	h.Run(h.Bare, "git-ward", "take", "--bare", h.Bare, "D-3")
	if taken := h.at("refs/ward/forge/taken/" + commit); taken != h.at("main") {
		t.Fatal(taken)
	}
	gittest.InOrder(t, h.Run(h.Bare, "git-ward", "directive", "show", "--bare", h.Bare), "D-3", "taken")
	h.p.Private = true // and the bot may no longer see it
	h.p.Give("ward", "")
	gittest.InOrder(t, h.once(1), "the token may not see it", "give ward access to it there")
	h.Fsck()
}

// limited has the call after so many meet GitHub's secondary limit, once.
func (h *hub) limited(after int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next = func(w http.ResponseWriter, r *http.Request) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		if after--; after != 0 {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, `{"message":"You have exceeded a secondary rate limit.","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`)
		return true
	}
}
