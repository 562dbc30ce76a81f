package setup

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/sandbox/doctor/finding"
	"git-ward/sandbox/forge/client"
	"git-ward/sandbox/gateway"
)

func key(t *testing.T) gateway.Key {
	t.Helper()
	k, err := gateway.NewKey("0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestAt: a page leads to a forge and a project, and no password in it is printed.
func TestAt(t *testing.T) {
	for _, c := range []struct{ kind, page, want string }{
		{"gitea", "https://example.org/owner/project.git/", "https://example.org owner project"},
		{"github", "https://example.org/git/owner/project", "https://example.org/git owner project"},
		{"gitlab", "https://example.org/group/part/project", "https://example.org group/part project"},
		{"gitea", "https://example.org/project", "names no project"},
		{"gitea", "https://me:secret@example.org/owner/project", "has a name or a password"},
		{"gitea", "https://me:secret%zz@example.org/owner/project", "is no URL"},
	} {
		at, err := At(c.page, c.kind)
		got := at.URL + " " + at.Owner + " " + at.Name
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) || strings.Contains(got, "secret") {
			t.Errorf("%s %s: %s", c.kind, c.page, got)
		}
	}
}

// TestSame: a page is the same with .git or a slash at its end; what is none is like no other.
func TestSame(t *testing.T) {
	const page = "https://example.org/owner/project"
	for other, want := range map[string]bool{page: true, page + "/": true, page + ".git": true, page + "2": false, "https://example.com/owner/project": false, "": false} {
		if Same(page, other, "gitea") != want {
			t.Error(other)
		}
	}
	if Same("", "", "gitea") {
		t.Error("no page is the same as none")
	}
}

// TestFind: the forge says by its answers what it is; what is none ends with what to do.
func TestFind(t *testing.T) {
	answer := func(path, kind, text string, code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != path {
				http.Error(w, "<html>no such page", http.StatusNotFound)
				return
			}
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(code)
			io.WriteString(w, text)
		}
	}
	const me, labMe = `{"id":7,"login":"bot"}`, `{"id":7,"username":"bot"}`
	for _, c := range []struct {
		name   string
		serve  http.HandlerFunc
		want   string // the kind and the login, or of the error
		remedy string
	}{
		{"Gitea", answer("/api/v1/user", "application/json", me, 200), "gitea bot", ""},
		{"GitHub", answer("/api/v3/user", "application/json", me, 200), "github bot", ""},
		{"GitLab", answer("/api/v4/user", "application/json", labMe, 200), "gitlab bot", ""},
		{"a portal", answer("/api/v1/user", "text/html", "<html>log in", 200), "no JSON", "that a browser shows"},
		{"another program", answer("/", "text/html", "hello", 200), "nothing there answers as a forge does", "that a browser shows"},
		{"a token that is revoked", answer("/api/v1/user", "application/json", `{"message":"no"}`, 401), client.NotTaken, "put it into FILE"},
		{"a token of no such scope", answer("/api/v1/user", "application/json", `{"message":"required=[read:user]"}`, 403), "read:user", "docs/forge.md has the table"},
		{"a forge that is down", answer("/api/v1/user", "text/html", "down", 503), "503", "do this again"},
	} {
		server := httptest.NewServer(c.serve)
		found, err := Find(t.Context(), server.URL+"/owner/project", client.Kinds, key(t))
		server.Close()
		got := found.Kind + " " + found.Login
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) || err != nil && !strings.Contains(Remedy(err, "FILE", ""), c.remedy) {
			t.Errorf("%s: %s; %s", c.name, got, Remedy(err, "FILE", ""))
		}
	}
}

// TestRemedy: each thing that a forge refuses has one.
func TestRemedy(t *testing.T) {
	expired := &tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.Expired}}
	for _, c := range []struct {
		err  error
		want string
	}{
		{&client.ErrLater{Call: "GET /user", At: time.Unix(0, 0), Err: expired}, "renew the certificate"},
		{&client.ErrLater{Call: "GET /user", Err: errors.New("refused")}, "may reach it"},
		{&client.ErrMoved{Call: "GET /", To: "https://example.org/new/name"}, "as it is called now"},
		{client.ErrNotFound, "give bot access"},
		{&client.ErrAnswer{Call: "GET /", Err: errors.New("half")}, "what answers"},
	} {
		if got := Remedy(c.err, "FILE", "bot"); !strings.Contains(got, c.want) {
			t.Errorf("%v: %s", c.err, got)
		}
	}
}

// TestToken: it is read from one line, and kept below the caller's settings, for its owner alone.
func TestToken(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	at := client.Config{URL: "https://example.org:3000", Owner: "owner", Name: "project"}
	file, err := TokenFile(at)
	if err != nil || !strings.HasSuffix(file, "/ward/forge/example.org:3000/owner/project.token") {
		t.Fatal(file, err)
	}
	for _, c := range []client.Config{{URL: "https://example.org", Owner: "..", Name: "project"}, {URL: "https://example.org", Owner: "a/../..", Name: "../../x"}} {
		if file, err := TokenFile(c); err == nil {
			t.Errorf("%+v: %s", c, file)
		}
	}
	if k, err := Kept(file); err != nil || !k.IsZero() {
		t.Fatal(k, err)
	}
	for _, c := range []struct{ in, want string }{{"", "there is no token"}, {"two words\n", "one word"}, {strings.Repeat("x", 5000), ""}} {
		if _, err := Ask(strings.NewReader(c.in), io.Discard, "it"); c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%.20q: %v", c.in, err)
		}
	}
	k, err := Ask(strings.NewReader("0123456789abcdef\nthe rest is not read"), io.Discard, "it")
	if err == nil {
		err = Keep(file, k)
	}
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	if info, err := os.Stat(filepath.Dir(file)); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info, err)
	}
	if k, err := Kept(file); err != nil || k.Reveal() != "0123456789abcdef" {
		t.Error(k, err)
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := Kept(file); err == nil || !strings.Contains(err.Error(), "has mode 0640") {
		t.Error(err)
	}
}

// box is a forge that denies some calls.
type box struct {
	client.Forge
	project client.Project
	denied  map[string]bool
	wrote   []string // what it was asked to make that can be
}

func (b *box) say(call string) error {
	if b.denied[call] {
		return &client.ErrDenied{Call: call, Right: "to " + call}
	}
	return client.ErrNotFound
}

func (b *box) Self(context.Context) (client.Person, error) {
	return client.Person{Login: "bot"}, nil
}
func (b *box) Project(context.Context) (client.Project, error) { return b.project, nil }
func (b *box) MayWrite(context.Context, string) (bool, error)  { return true, b.say("people") }
func (b *box) Required(_ context.Context, branch, _ string) (client.Rule, error) {
	return client.Rule{Required: branch == "ruled"}, b.say("rule")
}
func (b *box) Issue(_ context.Context, n int64) (client.Issue, error) {
	return client.Issue{}, b.say("issues")
}

func (b *box) Comment(_ context.Context, on client.Thread, _ string) (client.Comment, error) {
	if on.Number != 0 {
		b.wrote = append(b.wrote, "a comment")
	}
	return client.Comment{}, b.say("comments")
}

func (b *box) SetStatus(_ context.Context, commit string, _ client.Status) error {
	if strings.Trim(commit, "0") != "" {
		b.wrote = append(b.wrote, "a status")
	}
	return b.say("statuses")
}

func (b *box) Open(_ context.Context, r client.NewRequest) (client.Request, error) {
	if !strings.Contains(r.Base, "..") || !strings.Contains(r.Head.Branch, "..") {
		b.wrote = append(b.wrote, "a request")
	}
	return client.Request{}, b.say("requests")
}

// TestExamine: each right that is denied is named with its remedy, and nothing is made.
func TestExamine(t *testing.T) {
	whole := client.Project{Owner: "lead", Name: "p", Branch: "main", Write: true}
	read, closed, own, ruled := whole, whole, whole, whole
	ruled.Branch = "ruled"
	read.Write, closed.Closed, own.Owner = false, true, "bot"
	for _, c := range []struct {
		denied   string
		project  client.Project
		branches string
		want     string // what is not fine, by name
	}{
		{"", whole, "fork", ""},
		{"people", whole, "fork", "missing people"},
		{"issues", whole, "fork", "missing issues"},
		{"comments", whole, "fork", "missing comments"},
		{"statuses", whole, "fork", "missing statuses"},
		{"requests", whole, "fork", "missing requests"},
		{"rule", whole, "fork", "missing rule"},
		{"", ruled, "fork", "warning rule"},
		{"", read, "fork", "missing project"},
		{"", closed, "fork", "missing project"},
		{"", own, "fork", "missing fork"},
		{"", own, "project", "warning branches"},
	} {
		b := &box{project: c.project, denied: map[string]bool{c.denied: true}}
		var not []string
		found := Examine(t.Context(), Asked{Forge: b, Page: "https://example.org/lead/p", File: "FILE", Branches: c.branches})
		for _, f := range found {
			if f.State != finding.Fine {
				not = append(not, string(f.State)+" "+strings.TrimPrefix(f.Thing, "forge: "))
				if f.Mend == "" {
					t.Errorf("%+v has no remedy", f)
				}
			}
		}
		if got := strings.Join(not, ", "); got != c.want || finding.Lacking(found) != strings.HasPrefix(c.want, "missing") || len(b.wrote) > 0 {
			t.Errorf("%+v: %s; made %v", c, got, b.wrote)
		}
	}
}
