// Package giteatest is a real Gitea for tests, which WARD_GITEA_LAB names: accounts, tokens and
// projects of each test's own, gone when it ends.
package giteatest

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"strings"
	"testing"
)

// Var names a Gitea for tests that is up, as the URL with which its administrator logs in:
// http://NAME:PASSWORD@127.0.0.1:PORT.
const Var = "WARD_GITEA_LAB"

// Lab is one test's part of it.
type Lab struct {
	t     *testing.T
	URL   string // as a browser has it
	admin *url.Userinfo
	end   string // of all names here
}

// New is the Gitea that there is, or the test is skipped.
func New(t *testing.T) *Lab {
	t.Helper()
	text := os.Getenv(Var)
	if text == "" {
		t.Skip("SKIPPED: no Gitea here: " + Var + " names one that is up (scripts/setup --forge builds one, which scripts/test full runs)")
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User == nil {
		t.Fatalf("%s is no URL with an administrator's name and password", Var)
	}
	l := &Lab{t: t, URL: u.Scheme + "://" + u.Host, admin: u.User}
	var b [4]byte
	rand.Read(b[:])
	l.end = "-" + hex.EncodeToString(b[:])
	return l
}

// User is an account with a token.
type User struct {
	l            *Lab
	Login, Token string
}

// User makes an account whose name begins so.
func (l *Lab) User(name string) User {
	l.t.Helper()
	return l.user(name, false, "all")
}

// Bot makes an account for Ward as docs/forge.md does: it sees what it is given alone, and its token
// has no scope more than Ward needs.
func (l *Lab) Bot(name string) User {
	l.t.Helper()
	return l.user(name, true, "read:user", "write:repository", "write:issue")
}

func (l *Lab) user(name string, restricted bool, scopes ...string) User {
	l.t.Helper()
	u := User{l: l, Login: l.Free(name)}
	l.as("POST", "/admin/users", l.admin, map[string]any{"username": u.Login, "email": u.Login + "@example.org", "password": l.password(), "must_change_password": false, "restricted": restricted}, nil)
	u.Token = u.Scoped(scopes...)
	return u
}

// Free is a name of no account, which begins so. An account that gets it is gone when the test ends.
func (l *Lab) Free(name string) string {
	l.t.Helper()
	name += l.end
	l.t.Cleanup(func() { l.as("DELETE", "/admin/users/"+name+"?purge=true", l.admin, nil, nil) })
	return name
}

// Netrc is the administrator's line for curl.
func (l *Lab) Netrc() string {
	password, _ := l.admin.Password()
	u, _ := url.Parse(l.URL)
	return "machine " + u.Hostname() + " login " + l.admin.Username() + " password " + password + "\n"
}

// Scoped is a further token of the user's, which may do no more than its scopes say.
func (u User) Scoped(scopes ...string) string {
	u.l.t.Helper()
	var token struct {
		Sha1 string `json:"sha1"`
	}
	u.l.as("POST", "/users/"+u.Login+"/tokens", url.UserPassword(u.Login, u.l.password()), map[string]any{"name": strings.Join(scopes, " "), "scopes": scopes}, &token)
	return token.Sha1
}

func (l *Lab) password() string { return "pass" + l.end }

// Project makes a project of the user's with one commit on main.
func (u User) Project(name string) {
	u.l.t.Helper()
	u.Do("POST", "/user/repos", map[string]any{"name": name, "auto_init": true, "default_branch": "main"}, nil)
}

// Give gives another a right to the user's project: read, write or admin.
func (u User) Give(project string, to User, right string) {
	u.l.t.Helper()
	u.Do("PUT", "/repos/"+u.Login+"/"+project+"/collaborators/"+to.Login, map[string]string{"permission": right}, nil)
}

// Do calls the API as the user; out may be nil.
func (u User) Do(method, path string, body, out any) {
	u.l.t.Helper()
	if err := u.Try(method, path, body, out); err != nil {
		u.l.t.Fatal(err)
	}
}

// Try is Do for a call that Gitea may refuse, for the time being.
func (u User) Try(method, path string, body, out any) error {
	u.l.t.Helper()
	return u.l.call(method, path, func(r *http.Request) { r.Header.Set("Authorization", "token "+u.Token) }, body, out)
}

// Form sends a form of Gitea's pages as the user: what the API has no call for.
func (u User) Form(path string, form url.Values) {
	u.l.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		u.l.t.Fatal(err)
	}
	browser := http.Client{Jar: jar}
	for _, one := range []struct {
		path string
		form url.Values
	}{{"/user/login", url.Values{"user_name": {u.Login}, "password": {u.l.password()}}}, {path, form}} {
		answer, err := browser.PostForm(u.l.URL+one.path, one.form)
		if err != nil {
			u.l.t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			u.l.t.Fatalf("%s: %s", one.path, answer.Status)
		}
	}
}

func (l *Lab) as(method, path string, who *url.Userinfo, body, out any) {
	l.t.Helper()
	if err := l.call(method, path, func(r *http.Request) {
		password, _ := who.Password()
		r.SetBasicAuth(who.Username(), password)
	}, body, out); err != nil {
		l.t.Fatal(err)
	}
}

// call returns what Gitea refuses with; anything else that goes wrong ends the test.
func (l *Lab) call(method, path string, auth func(*http.Request), body, out any) error {
	l.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		l.t.Fatal(err)
	}
	r, err := http.NewRequest(method, l.URL+"/api/v1"+path, bytes.NewReader(data))
	if err != nil {
		l.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	auth(r)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		l.t.Fatalf("the Gitea of %s: %v", Var, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode > 299 {
		return fmt.Errorf("%s %s: %d: %s", method, path, answer.StatusCode, text)
	}
	if err == nil && out != nil {
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		l.t.Fatalf("%s %s: %v", method, path, err)
	}
	return nil
}
