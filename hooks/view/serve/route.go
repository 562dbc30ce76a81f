package serve

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed live.js
var script []byte

//go:embed *.html
var files embed.FS

var own = sync.OnceValue(func() *template.Template { return template.Must(template.ParseFS(files, "*.html")) })

// route answers a request that the guard let pass.
func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	token, inside := s.session(r)
	switch at := r.URL.Path; {
	case r.Method == http.MethodPost && at == "/login":
		s.enter(w, r)
	case r.Method == http.MethodPost && at == "/logout":
		s.logins.leave(token)
		s.setCookie(w, "", -1)
		s.to(w, "/login")
	case r.Method == http.MethodPost:
		w.Header().Set("Allow", "GET, HEAD")
		s.refuse(w, &fault{http.StatusMethodNotAllowed, "Not possible here", "Pages are read by GET; nothing else is done here."})
	case at == "/style.css":
		s.write(w, http.StatusOK, "text/css; charset=utf-8", s.cfg.Style)
	case at == "/live.js":
		s.write(w, http.StatusOK, "text/javascript; charset=utf-8", script)
	case at == "/login":
		s.login(w, r, inside)
	case !inside && at == "/events":
		s.refuse(w, &fault{http.StatusUnauthorized, "Signed out", "Sign in first."})
	case !inside:
		s.to(w, "/login?"+url.Values{"next": {r.URL.RequestURI()}}.Encode())
	case at == "/events":
		s.events(w, r, token)
	default:
		s.page(w, r)
	}
}

func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	text, err := s.pages.page(r.Context(), r.URL.Path, r.URL.Query())
	if r.Context().Err() != nil {
		return // nobody is there to read it
	}
	if err != nil {
		s.refuse(w, pageFault(err))
		return
	}
	s.write(w, http.StatusOK, "text/html; charset=utf-8", text)
}

func (s *Server) events(w http.ResponseWriter, r *http.Request, token string) {
	if r.Method != http.MethodGet {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		return
	}
	if !s.feed.join() {
		s.refuse(w, &fault{http.StatusServiceUnavailable, "Too many look at once", "This page asks again by itself."})
		return
	}
	defer s.feed.leave()
	s.feed.stream(s.done, w, r, func() bool { return s.logins.inside(token, from(r)) })
}

// write sends an answer. It states the length, so that a client notices a truncated one.
func (s *Server) write(w http.ResponseWriter, status int, kind string, text []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	w.Write(text)
}

func (s *Server) to(w http.ResponseWriter, place string) {
	w.Header().Set("Location", place)
	s.write(w, http.StatusSeeOther, "text/plain; charset=utf-8", nil)
}

// refuse shows a fault on a page, which reloads itself if the fault may be temporary.
func (s *Server) refuse(w http.ResponseWriter, f *fault) {
	again := 0
	switch f.status {
	case http.StatusServiceUnavailable, http.StatusInternalServerError:
		again = 5
		w.Header().Set("Retry-After", strconv.Itoa(again))
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", "GET, HEAD")
	}
	s.own(w, f.status, "fault.html", map[string]any{"Title": f.title, "Text": f.text, "Again": again})
}

func (s *Server) own(w http.ResponseWriter, status int, name string, data any) {
	var out bytes.Buffer
	if err := own().ExecuteTemplate(&out, name, data); err != nil {
		panic(err) // the templates and their data are ours
	}
	s.write(w, status, "text/html; charset=utf-8", out.Bytes())
}

// login shows the form for the code, and prints a new code if there is no valid one.
func (s *Server) login(w http.ResponseWriter, r *http.Request, inside bool) {
	next := local(r.URL.Query().Get("next"))
	if inside {
		s.to(w, next)
		return
	}
	s.form(w, http.StatusOK, next, "")
}

func (s *Server) form(w http.ResponseWriter, status int, next, wrong string) {
	wait := s.logins.open().Round(time.Second) / time.Second
	s.own(w, status, "login.html", map[string]any{"Name": s.Name(), "Next": next, "Wrong": wrong, "Wait": int(wait)})
}

// enter handles the form with the code.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); kind != "application/x-www-form-urlencoded" || r.ParseForm() != nil {
		w.Header().Set("Connection", "close")
		s.refuse(w, &fault{http.StatusBadRequest, "Not a form", "Use the form at /login."})
		return
	}
	next := local(r.PostForm.Get("next"))
	token, ok := s.logins.enter(r.PostForm.Get("code"), from(r))
	if !ok {
		s.form(w, http.StatusForbidden, next, "This is not the current code. Each code works once, for ten minutes and five tries.")
		return
	}
	s.setCookie(w, token, int(sessionLife/time.Second))
	s.to(w, next)
}

// local returns place if it is a path on this server, else "/".
func local(place string) string {
	u, err := url.Parse(place)
	if err != nil || u.IsAbs() || u.Host != "" || !path.MatchString(u.EscapedPath()) || len(place) > maxURI/2 {
		return "/"
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).String()
}
