package githubtest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// app is a GitHub App. Its proofs and tokens are of accounts that are nobody's.
type app struct {
	id       int64
	key      *rsa.PrivateKey
	projects map[*Project]int64 // by its installation's id
	until    map[string]time.Time
}

// asApp and asInstallation are who has an app's proof, and who has a token of it.
const (
	asApp          = "an app"
	asInstallation = "an installation"
)

// App makes an app, and returns its id and its private key as GitHub gives it.
func (s *Server) App() (int64, []byte) {
	defer s.hold()()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		s.t.Fatal(err)
	}
	s.app = &app{id: s.id(), key: key, projects: map[*Project]int64{}, until: map[string]time.Time{}}
	return s.app.id, pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
}

// Install puts the app into the project, or takes it out again, with its tokens.
func (p *Project) Install(in bool) {
	defer p.s.hold()()
	clear(p.s.app.until)
	delete(p.s.app.projects, p)
	if in {
		p.s.app.projects[p] = p.s.id()
	}
}

// Pass lets time pass.
func (s *Server) Pass(d time.Duration) {
	defer s.hold()()
	s.now = s.now.Add(d)
}

// Now is the server's clock.
func (s *Server) Now() time.Time {
	defer s.hold()()
	return s.now
}

// who has a token, "" if nobody.
func (s *Server) who(token string) string {
	if login := s.tokens[token]; login != "" || s.app == nil {
		return login
	}
	if until, ok := s.app.until[token]; ok && s.now.Before(until) {
		return asInstallation
	}
	var claims jwt.RegisteredClaims
	_, err := jwt.ParseWithClaims(token, &claims, func(*jwt.Token) (any, error) { return &s.app.key.PublicKey, nil },
		jwt.WithValidMethods([]string{"RS256"}), jwt.WithTimeFunc(func() time.Time { return s.now }), jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithIssuer(strconv.FormatInt(s.app.id, 10)))
	if err != nil || claims.ExpiresAt.After(s.now.Add(10*time.Minute)) {
		return ""
	}
	return asApp
}

func installation(s *Server, a *asked) (int, any) {
	id, ok := int64(0), false
	if s.app != nil && a.who == asApp {
		id, ok = s.app.projects[a.project]
	}
	if !ok {
		return http.StatusNotFound, message("Not Found")
	}
	return http.StatusOK, set(s.d.example("installation"), "id", id, "app_id", s.app.id)
}

func appToken(s *Server, a *asked) (int, any) {
	if a.who != asApp {
		return http.StatusForbidden, message("Resource not accessible by personal access token")
	}
	for p, id := range s.app.projects {
		if fmt.Sprint(id) == a.params["installation_id"] {
			if fmt.Sprint(a.body["repositories"]) != fmt.Sprint([]string{p.Name}) {
				s.t.Errorf("the app's token is for %v", a.body["repositories"])
			}
			token := fmt.Sprintf("ghs_token-of-app-%d", s.id())
			s.app.until[token] = s.now.Add(time.Hour)
			one := s.d.example("installation-token")
			delete(one, "repositories")
			return http.StatusCreated, set(one, "token", token, "expires_at", s.app.until[token].Format(time.RFC3339), "permissions", a.body["permissions"])
		}
	}
	return http.StatusNotFound, message("Not Found")
}

// createCheck: GitHub lets none but apps make check runs.
func createCheck(s *Server, a *asked) (int, any) {
	sha := a.text("head_sha")
	switch _, in := s.app.projects[a.project]; {
	case a.who != asInstallation || !in:
		return http.StatusForbidden, undescribed{message("Resource not accessible by personal access token")}
	case strings.Trim(sha, "0") == "":
		_, m := refused("No commit found for SHA: " + sha)
		return http.StatusUnprocessableEntity, undescribed{m}
	}
	return http.StatusCreated, s.check(a.project, sha, a.text("name"), a.text("status"), a.body["conclusion"], a.body["output"].(map[string]any)["title"], s.app.id)
}

func (s *Server) check(p *Project, sha, name, status string, end, title any, by int64) map[string]any {
	one := s.d.example("check-run-example-of-completed-conclusion")
	one["output"].(map[string]any)["title"], one["app"].(map[string]any)["id"] = title, by
	set(one, "id", s.id(), "head_sha", sha, "name", name, "status", status, "conclusion", end)
	if end == nil {
		one["completed_at"] = nil
	}
	p.checks[sha] = append(p.checks[sha], one)
	return one
}

// Check is a check run by another app, as a project's CI makes it.
func (p *Project) Check(sha, name, end string) {
	defer p.s.hold()()
	p.s.check(p, sha, name, "completed", end, "another app's", p.s.id())
}

// listChecks are the latest of each name and app.
func listChecks(s *Server, a *asked) (int, any) {
	all, seen := []any{}, map[string]bool{}
	for _, one := range slices.Backward(a.project.checks[a.params["ref"]]) {
		app := fmt.Sprint(one["app"].(map[string]any)["id"])
		if of := fmt.Sprint(app, one["name"]); !seen[of] && (a.query("app_id") == "" || a.query("app_id") == app) {
			seen[of] = true
			all = append(all, one)
		}
	}
	return http.StatusOK, map[string]any{"total_count": len(all), "check_runs": all}
}

// pin is the app that a branch's rule is pinned to, nil for none.
func (p *Project) pin() any {
	if p.Pinned == 0 {
		return nil
	}
	return p.Pinned
}

func (p *Project) pinned(check map[string]any) map[string]any {
	if p.Pinned != 0 {
		check["integration_id"] = p.Pinned
	}
	return check
}
