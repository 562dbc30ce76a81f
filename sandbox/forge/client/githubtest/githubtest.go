// Package githubtest stands in for GitHub in tests. Each request is held against the
// description that GitHub publishes of its API (OpenAPI, from the package @octokit/openapi),
// and so is each answer, which is one of GitHub's own examples with a test's facts in it. It
// behaves as GitHub does: 404 for what an account may not see, limits, tags, listings that lag,
// projects that were renamed, forks that are gone.
//
// Its GraphQL is not held against a description: it knows the two mutations that are used.
package githubtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server is a GitHub of one's own.
type Server struct {
	URL string // as a browser has it
	// Before may answer a request in the server's place, and says whether it did.
	Before func(w http.ResponseWriter, r *http.Request) bool
	// Merges makes the commit of a merge, where there are real ones; nil: one that nobody has.
	Merges func(p *Project, base, head, message string) string
	// Lag is how many times a listing is asked for before a new request is in it.
	Lag int

	t        *testing.T
	d        *description
	mu       sync.Mutex
	now      time.Time
	last     int64 // id
	users    map[string]user
	tokens   map[string]string
	projects []*Project
	calls    []string
	app      *app
}

type user struct {
	id   int64
	kind string
}

// New starts one for a test, or skips it where GitHub's description is not here.
func New(t *testing.T) *Server {
	t.Helper()
	s := &Server{t: t, d: describe(t), users: map[string]user{}, tokens: map[string]string{}, now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	s.URL = h.URL
	return s
}

// hold keeps others from the server until what it returns is called.
func (s *Server) hold() func() {
	s.mu.Lock()
	return s.mu.Unlock
}

// id is a new number, and a second passes.
func (s *Server) id() int64 {
	s.last++
	s.now = s.now.Add(time.Second)
	return s.last
}

func (s *Server) date() string { return s.now.Format(time.RFC3339) }

// User makes an account, and returns a token of it. Its kind is User or Bot.
func (s *Server) User(login, kind string) string {
	defer s.hold()()
	s.users[login] = user{s.id(), kind}
	token := "token-of-" + login
	s.tokens[token] = login
	return token
}

// Calls are the calls until now, by method and template, and forgets them.
func (s *Server) Calls() []string {
	defer s.hold()()
	out := s.calls
	s.calls = nil
	return out
}

// asked is a request that is being answered.
type asked struct {
	*operation
	who     string
	body    map[string]any
	project *Project
	query   func(string) string
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer s.hold()()
	if s.Before != nil && s.Before(w, r) {
		return
	}
	who := s.who(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	if who == "" {
		s.send(w, r, nil, http.StatusUnauthorized, message("Bad credentials"))
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	if r.URL.Path == "/api/graphql" {
		s.calls = append(s.calls, "POST /graphql")
		s.send(w, r, nil, http.StatusOK, s.graph(who, body))
		return
	}
	op, err := s.d.find(r)
	if err == nil {
		s.calls = append(s.calls, r.Method+" "+op.template)
		err = s.d.request(op, r, body)
	}
	if err != nil {
		s.t.Errorf("%s %s is not as GitHub describes it: %v", r.Method, r.URL, err)
		s.send(w, r, nil, http.StatusUnprocessableEntity, message("Validation Failed"))
		return
	}
	a := &asked{operation: op, who: who, query: r.URL.Query().Get}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &a.body); err != nil {
			s.t.Error(err)
		}
	}
	code, answer := s.answer(a, r)
	if list, ok := answer.([]any); ok && code == http.StatusOK {
		answer = s.page(w, a, r, list)
	}
	s.send(w, r, op, code, answer)
}

func message(text string) map[string]any {
	return map[string]any{"message": text, "documentation_url": "https://docs.github.com/rest"}
}

// answer finds the project, which may have another name now or be out of sight.
func (s *Server) answer(a *asked, r *http.Request) (int, any) {
	if a.params["owner"] != "" {
		p := s.project(a.params["owner"], a.params["repo"])
		if p == nil || p.Private && p.rank(a.who) == 0 {
			return http.StatusNotFound, message("Not Found")
		}
		if !strings.EqualFold(p.Name, a.params["repo"]) {
			code := http.StatusMovedPermanently
			if r.Method != http.MethodGet {
				code = http.StatusTemporaryRedirect
			}
			to := fmt.Sprintf("%s%s/repositories/%d%s", s.URL, prefix, p.id, strings.TrimPrefix(r.URL.Path, prefix+"/repos/"+a.params["owner"]+"/"+a.params["repo"]))
			return code, map[string]any{"message": "Moved Permanently", "url": to, "documentation_url": "https://docs.github.com/rest"}
		}
		a.project = p
	}
	handle := handlers[a.id]
	if handle == nil {
		s.t.Errorf("%s is not part of this stand-in", a.id)
		return http.StatusNotFound, message("Not Found")
	}
	return handle(s, a)
}

// page is a part of a listing, with GitHub's link to the next.
func (s *Server) page(w http.ResponseWriter, a *asked, r *http.Request, list []any) []any {
	size, page := 30, 1
	if n, err := strconv.Atoi(a.query("per_page")); err == nil {
		size = min(n, 100)
	}
	if n, err := strconv.Atoi(a.query("page")); err == nil {
		page = n
	}
	from := min(len(list), (page-1)*size)
	to := min(len(list), from+size)
	if to < len(list) {
		query := r.URL.Query()
		query.Set("page", strconv.Itoa(page+1))
		w.Header().Set("Link", fmt.Sprintf(`<%s%s/repositories/%d/x?%s>; rel="next", <%s/y?page=9>; rel="last"`, s.URL, prefix, a.project.id, query.Encode(), s.URL))
	}
	return list[from:to]
}

// send sends an answer that is one by the description, with a tag.
func (s *Server) send(w http.ResponseWriter, r *http.Request, op *operation, code int, answer any) {
	if plain, ok := answer.(undescribed); ok {
		answer, op = plain.any, nil
	}
	data, err := json.Marshal(answer)
	if err == nil && op != nil {
		err = s.d.answer(op, code, data)
	}
	if err != nil {
		s.t.Errorf("the stand-in's answer %d to %s %s is none of GitHub's: %v", code, r.Method, r.URL, err)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	if to, ok := answer.(map[string]any); ok && code > 300 && code < 400 {
		h.Set("Location", fmt.Sprint(to["url"]))
	}
	if code == http.StatusForbidden && op != nil {
		h.Set("X-Accepted-GitHub-Permissions", needs[op.id])
	}
	sum := sha256.Sum256(data)
	tag := `W/"` + hex.EncodeToString(sum[:]) + `"`
	if r.Method == http.MethodGet && code == http.StatusOK {
		h.Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			s.calls[len(s.calls)-1] += " 304"
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.WriteHeader(code)
	w.Write(data)
}

// project is one by its name of today or an earlier one.
func (s *Server) project(owner, name string) *Project {
	for _, p := range s.projects {
		if strings.EqualFold(p.Owner, owner) && !p.gone && (strings.EqualFold(p.Name, name) || slices.Contains(p.names, name)) {
			return p
		}
	}
	return nil
}
