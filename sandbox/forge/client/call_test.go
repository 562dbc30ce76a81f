package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"git-ward/sandbox/gateway"
)

const secret = "s3cret-of-the-forge-user"

// noon is when these tests take place.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// asked is the client of a project lead/box on a server that answers as handle does.
func asked(t *testing.T, kind string, handle http.HandlerFunc) Forge {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return to(t, kind, s.URL, nil)
}

func to(t *testing.T, kind, at string, transport http.RoundTripper) Forge {
	t.Helper()
	token, err := gateway.NewKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	f, err := New(Config{Kind: kind, URL: at, Owner: "lead", Name: "box", Token: token,
		HTTP: &http.Client{Transport: transport}, Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// kindOf is an error's kind, in a word that a table can have.
func kindOf(err error) string {
	denied, isDenied := errors.AsType[*ErrDenied](err)
	later, isLater := errors.AsType[*ErrLater](err)
	conflict, isConflict := errors.AsType[*ErrConflict](err)
	moved, isMoved := errors.AsType[*ErrMoved](err)
	_, isAnswer := errors.AsType[*ErrAnswer](err)
	switch {
	case errors.Is(err, ErrNotFound):
		return "not found"
	case isDenied:
		return "denied: " + denied.Right
	case isLater:
		return "later: " + later.At.Sub(noon).String() + map[bool]string{true: ", of this one"}[later.One]
	case isConflict:
		return fmt.Sprint("conflict: ", conflict.Code)
	case isMoved:
		return "moved: " + moved.To.String()
	case isAnswer:
		return "no answer"
	}
	return fmt.Sprint(err)
}

const whole = `{"number":7,"title":"t","body":"b","state":"open","user":{"id":2,"login":"ann"},"updated_at":"2026-11-30T10:00:00Z"}`

// answers are what a forge, or what stands in its place, may answer to the question for an
// issue.
var answers = []struct {
	name, header string // header: its lines
	code         int
	body, want   string
}{
	{"whole", "", 200, whole, "<nil>"},
	{"a page", "Content-Type: text/html; charset=utf-8", 200, "<html>log in</html>", "no answer"},
	{"a page that says to be JSON", "", 200, "<html>log in</html>", "no answer"},
	{"JSON that says to be nothing", "Content-Type:", 200, whole, "no answer"},
	{"nothing", "", 200, "", "no answer"},
	{"null", "", 200, "null", "no answer"},
	{"a list", "", 200, "[" + whole + "]", "no answer"},
	{"half", "", 200, whole[:60], "no answer"},
	{"more than one", "", 200, whole + whole, "no answer"},
	{"a name twice", "", 200, strings.Replace(whole, `"title"`, `"number":8,"title"`, 1), "no answer"},
	{"a wrong type", "", 200, strings.Replace(whole, "7", `"7"`, 1), "no answer"},
	{"a number below one", "", 200, strings.Replace(whole, "7", "-7", 1), "no answer"},
	{"no state", "", 200, strings.Replace(whole, `"state":"open",`, "", 1), "no answer"},
	{"a state that is none", "", 200, strings.Replace(whole, `"open"`, `"ajar"`, 1), "no answer"},
	{"a login with a line's end", "", 200, strings.Replace(whole, "ann", `ann\n`, 1), "no answer"},
	{"a login that is a path", "", 200, strings.Replace(whole, "ann", "../ann", 1), "no answer"},
	{"nobody's any more", "", 200, strings.Replace(whole, `{"id":2,"login":"ann"}`, "null", 1), "<nil>"},
	{"too much", "", 200, strings.Repeat(" ", maxAnswer) + whole, "no answer"},
	{"breaks off", "Content-Length: 1000", 200, whole, "later: 1m0s"},
	{"not modified, unasked", "", 304, "", "no answer"},
	{"unknown token", "", 401, `{"message":"Bad credentials"}`, "denied: to be known at all: the forge does not take it, it may have been revoked or have expired"},
	{"forbidden", "", 403, `{"message":"no"}`, "denied: to read the project"},
	{"forbidden, and GitHub says why", "X-Accepted-GitHub-Permissions: issues=read", 403, `{"message":"no"}`, "denied: issues=read"},
	{"not there", "", 404, `{"message":"Not Found"}`, "not found"},
	{"gone", "", 410, "", "not found"},
	{"a rule forbids it", "", 405, `{"message":"no"}`, "conflict: 405"},
	{"still looked at", "", 405, `{"message":"Please try again later"}`, "later: 1m0s, of this one"},
	{"already there", "", 409, `{"message":{"base":["taken"]}}`, "conflict: 409"},
	{"invalid", "", 422, `{"message":"Validation Failed","errors":[{"code":"invalid"}]}`, "conflict: 422"},
	{"too many", "Retry-After: 90", 429, "", "later: 1m30s"},
	{"too many, until a date", "Retry-After: Mon, 30 Nov 2026 12:10:00 GMT", 429, "", "later: 10m0s"},
	{"too many, for ever", "Retry-After: 2000000000", 429, "", "later: 6h0m0s"},
	{"too many, until yesterday", "Retry-After: Sun, 29 Nov 2026 12:10:00 GMT", 429, "", "later: 0s"},
	{"too many, says nothing", "Retry-After: soon", 429, "", "later: 1m0s"},
	{"a second limit", "Retry-After: 30", 403, `{"message":"secondary rate limit"}`, "later: 30s"},
	{"a second limit, by its page alone", "", 403, `{"message":"secondary","documentation_url":"https://docs.example/rest/rate-limits"}`, "later: 1m0s"},
	{"all calls are used up", "X-RateLimit-Remaining: 0\nX-RateLimit-Reset: 1796041200", 403, "{}", "later: 20m0s"},
	{"trouble", "Content-Type: text/html", 502, "<html>", "no answer"},
	{"maintenance", "Retry-After: 600", 503, "", "later: 10m0s"},
}

// TestAnswers: whatever is answered is an issue or an error of a kind, which names the call.
func TestAnswers(t *testing.T) {
	for _, a := range answers {
		t.Run(a.name, func(t *testing.T) {
			f := asked(t, "gitea", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json;charset=utf-8")
				for _, line := range strings.Split(a.header, "\n") {
					name, value, _ := strings.Cut(line, ":")
					if name != "" {
						w.Header().Set(name, strings.TrimSpace(value))
					}
				}
				w.WriteHeader(a.code)
				io.WriteString(w, a.body)
			})
			issue, err := f.Issue(t.Context(), 7)
			if got := kindOf(err); got != a.want {
				t.Errorf("%s (%v), want %s", got, err, a.want)
			}
			if err != nil && !strings.Contains(err.Error(), "GET /repos/lead/box/issues/7") {
				t.Errorf("the error names no call: %v", err)
			}
			if err == nil && (issue.Number != 7 || issue.Title != "t" || !issue.Open) {
				t.Errorf("%+v", issue)
			}
		})
	}
}

// TestSilence: a forge that takes the call and says nothing is left alone after callTime, and
// a caller who gives up gets that, and no word of the forge.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := to(t, "github", "https://forge.example", silent{})
		began := time.Now()
		_, err := f.Issue(t.Context(), 7)
		if got := kindOf(err); got != "later: 1m0s" || time.Since(began) != callTime {
			t.Errorf("%s after %v", got, time.Since(began))
		}
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		if _, err := f.Issue(ctx, 7); !errors.Is(err, context.Canceled) || strings.HasPrefix(kindOf(err), "later") {
			t.Errorf("%v", err)
		}
	})
}

type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestTokenStays: no redirect takes the token along, not even to the same forge; a next page
// that lies elsewhere is asked for here; and no error has the token, though the forge repeats
// it.
func TestTokenStays(t *testing.T) {
	for _, code := range []int{301, 302, 303, 307, 308} {
		elsewhere := 0
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
		t.Cleanup(other.Close)
		for _, kind := range Kinds {
			calls := 0
			f := asked(t, kind, func(w http.ResponseWriter, r *http.Request) {
				calls++
				http.Redirect(w, r, other.URL+"/new/name?"+secret, code)
			})
			_, err := f.Comment(t.Context(), Thread{Number: 7}, "x")
			if got := kindOf(err); !strings.HasPrefix(got, "moved: "+other.URL) || strings.Contains(fmt.Sprint(err), secret) {
				t.Errorf("%d of %s: %v", code, kind, err)
			}
			if calls != 1 || elsewhere != 0 {
				t.Errorf("%d of %s: %d calls here, %d elsewhere", code, kind, calls, elsewhere)
			}
		}
	}
	f := asked(t, "gitea", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusConflict)
		fmt.Fprintf(w, `{"message":"you sent %s"}`, r.Header.Get("Authorization"))
	})
	_, err := f.Issue(t.Context(), 7)
	if text := fmt.Sprintf("%v %+v %#v", err, err, f); strings.Contains(text, secret) || !strings.Contains(text, "you sent token [ward") {
		t.Error(text)
	}
}

// TestPages: a listing is read to its end, on the forge's own path whatever the links say, and
// one without an end is an error and no part of it.
func TestPages(t *testing.T) {
	comment := `{"id":%s,"body":"","created_at":"2026-11-30T10:00:00Z","updated_at":"2026-11-30T10:00:00Z"}`
	last := "3"
	f := asked(t, "github", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v3/repos/lead/box/issues/7/comments" || r.URL.Query().Get("per_page") != "100" {
			t.Errorf("asked for %s", r.URL)
		}
		page := r.URL.Query().Get("page")
		if page == "" {
			page = "1"
		}
		w.Header().Set("Content-Type", "application/json")
		if page != last {
			w.Header().Set("Link", fmt.Sprintf(`<https://elsewhere.example/x?page=0>; rel="prev", <https://elsewhere.example/repositories/1/y?page=%s1&per_page=100>; rel="next"`, page))
		}
		fmt.Fprintf(w, "["+comment+"]", page)
	})
	last = "111"
	all, err := f.Comments(t.Context(), Thread{Number: 7})
	if err != nil || len(all) != 3 || all[2].ID != 111 {
		t.Errorf("%v %v", all, err)
	}
	calls := 0
	f = asked(t, "github", func(w http.ResponseWriter, r *http.Request) {
		calls++
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Link", `<https://elsewhere.example/x?page=2>; rel="next"`)
		fmt.Fprintf(w, "["+comment+"]", "1")
	})
	if all, err := f.Comments(t.Context(), Thread{Number: 7}); kindOf(err) != "no answer" || all != nil || calls != maxPages {
		t.Errorf("%d calls: %v", calls, err)
	}
}

// TestFlood: strangers who write into an issue without end keep nobody from the others, and no
// listing is read beyond its bound.
func TestFlood(t *testing.T) {
	for _, size := range []int{0, maxAnswer / 10, -1} { // -1: the forge cannot even read it
		calls := 0
		f := asked(t, "gitea", func(w http.ResponseWriter, r *http.Request) {
			calls++
			w.Header().Set("Content-Type", "application/json")
			event := `{"type":"label","body":"1","user":{"id":2,"login":"ann"},"label":{"name":"ward"}}`
			labelled := strings.Replace(whole, "{", `{"labels":[{"name":"ward"}],`, 1)
			switch r.URL.Path {
			case "/api/v1/repos/lead/box/issues":
				fmt.Fprintf(w, "[%s,%s]", labelled, strings.Replace(labelled, "7", "8", 1))
			case "/api/v1/repos/lead/box/issues/7/timeline":
				if size < 0 {
					w.WriteHeader(http.StatusInternalServerError)
					return
				}
				w.Header().Set("Link", `<http://x/y?page=2>; rel="next"`)
				fmt.Fprintf(w, `[%s,{"type":"comment","body":"%s"}]`, event, strings.Repeat("x", max(size, 0)))
			default:
				fmt.Fprintf(w, "[%s]", event)
			}
		})
		all, err := f.Labelled(t.Context(), "ward")
		if err != nil || len(all) != 2 {
			t.Fatalf("%v %v", all, err)
		}
		if all[0].LabelledBy != (Person{}) || kindOf(all[0].Unread) != "no answer" {
			t.Errorf("the flooded one: %+v", all[0])
		}
		if all[1].LabelledBy.Login != "ann" || all[1].Unread != nil {
			t.Errorf("the other: %+v", all[1])
		}
		if want := map[int]int{0: maxPages + 2, maxAnswer / 10: 12, -1: 3}[size]; calls != want {
			t.Errorf("%d calls, want %d", calls, want)
		}
	}
}

// TestCertificate: a certificate that does not hold is waited out, and the token not shown.
func TestCertificate(t *testing.T) {
	calls := 0
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls++ }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	_, err := to(t, "gitea", s.URL, http.DefaultTransport).Self(t.Context())
	if kindOf(err) != "later: 1m0s" || !strings.Contains(err.Error(), "certificate") || calls != 0 {
		t.Errorf("%d calls: %v", calls, err)
	}
}

// TestKept: what the forge says is still good is not sent again, and what it sends anew counts.
func TestKept(t *testing.T) {
	tag, sent, kept := `W/"1"`, 0, 0
	f := asked(t, "github", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			kept++
			w.WriteHeader(http.StatusNotModified)
			return
		}
		sent++
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, strings.Replace(whole, `"t"`, `"title`+fmt.Sprint(sent)+`"`, 1))
	})
	for i, want := range []string{"title1", "title1", "title2", "title2"} {
		if i == 2 {
			tag = `W/"2"`
		}
		if issue, err := f.Issue(t.Context(), 7); err != nil || issue.Title.String() != want {
			t.Errorf("%d: %v %v, want %s", i, issue.Title, err, want)
		}
	}
	if sent != 2 || kept != 2 {
		t.Errorf("%d sent, %d kept", sent, kept)
	}
}

// TestKeptBound: what is kept does not grow without bound.
func TestKeptBound(t *testing.T) {
	var k kept
	body := make([]byte, 1<<20)
	for i := range 100 {
		k.put(fmt.Sprint(i), "tag", answered{body: body})
		if k.bytes > maxKept || len(k.by)<<20 != k.bytes {
			t.Fatalf("%d answers, %d bytes", len(k.by), k.bytes)
		}
	}
	k.put("99", "", answered{body: body})
	if k.get("99") != nil {
		t.Error("an answer without a tag is kept by that of another")
	}
}

// TestNew: what a token would be sent to is https, or this machine.
func TestNew(t *testing.T) {
	token, err := gateway.NewKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	for at, ok := range map[string]bool{
		"https://forge.example": true, "https://forge.example/git": true, "http://127.0.0.1:3000": true, "http://localhost": true, "http://[::1]:1": true,
		"http://forge.example": false, "http://127.0.0.1.example": false, "ssh://forge.example": false, "forge.example": false,
		"https://me:pass@forge.example": false, "https://forge.example?x": false, "https://": false,
	} {
		if _, err := New(Config{Kind: "gitea", URL: at, Owner: "o", Name: "n", Token: token}); (err == nil) != ok {
			t.Errorf("%s: %v", at, err)
		}
	}
	for name, c := range map[string]Config{
		"no token": {Kind: "gitea", Owner: "o", Name: "n"}, "no owner": {Kind: "gitea", Name: "n", Token: token}, "no kind": {Owner: "o", Name: "n", Token: token},
	} {
		c.URL = "https://forge.example"
		if _, err := New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
