package githubtest

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	"git-ward/internal/tier"
)

// wrong are requests that GitHub would not take, or would take for another, each one step from
// a right one.
var wrong = []struct{ name, method, path, body string }{
	{"", "GET", "/repos/ann/box/pulls?state=all&head=ward:x&per_page=100", ""},
	{"no such path", "GET", "/repos/ann/box/pull", ""},
	{"no such method", "PUT", "/repos/ann/box/pulls", ""},
	{"a query that is not described", "GET", "/repos/ann/box/pulls?poster=ward", ""},
	{"a value that is none", "GET", "/repos/ann/box/pulls?state=merged", ""},
	{"a number that is none", "GET", "/repos/ann/box/pulls/one", ""},
	{"a body where none is", "GET", "/repos/ann/box/pulls", `{}`},
	{"", "POST", "/repos/ann/box/pulls", `{"title":"t","head":"ward:x","base":"main","body":"b","draft":true}`},
	{"a member that lacks", "POST", "/repos/ann/box/pulls", `{"title":"t","head":"ward:x"}`},
	{"a member of another type", "POST", "/repos/ann/box/pulls", `{"title":"t","head":"ward:x","base":"main","draft":"yes"}`},
	{"a member that is not described", "PATCH", "/repos/ann/box/pulls/1", `{"title":"t","draft":false}`},
	{"no body", "POST", "/repos/ann/box/pulls", ""},
	{"no JSON", "POST", "/repos/ann/box/pulls", `{"title"`},
	{"", "POST", "/repos/ann/box/statuses/abc", `{"state":"pending","context":"c"}`},
	{"a state that is none", "POST", "/repos/ann/box/statuses/abc", `{"state":"running","context":"c"}`},
	{"", "POST", "/repos/ann/box/forks", ""},
}

// TestDescription: what is held against the description passes where it is right, and only
// there.
func TestDescription(t *testing.T) {
	tier.First(t, "GitHub's description has 13 MB")
	d := describe(t)
	for _, w := range wrong {
		r := httptest.NewRequest(w.method, prefix+w.path, bytes.NewBufferString(w.body))
		for name, value := range map[string]string{"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28", "User-Agent": "test", "Content-Type": "application/json"} {
			r.Header.Set(name, value)
		}
		op, err := d.find(r)
		if err == nil {
			err = d.request(op, r, []byte(w.body))
		}
		if (err == nil) != (w.name == "") {
			t.Errorf("%s %s %s (%s): %v", w.method, w.path, w.body, w.name, err)
		}
		r.Header.Del("Accept")
		if op != nil && d.request(op, r, []byte(w.body)) == nil {
			t.Errorf("%s %s passes with a header that lacks", w.method, w.path)
		}
	}
	op, err := d.find(httptest.NewRequest("GET", prefix+"/repos/ann/box/pulls/1", nil))
	if err != nil {
		t.Fatal(err)
	}
	for body, ok := range map[string]bool{`{}`: false, `[]`: false, `{"message":"x"}`: false} {
		if err := d.answer(op, http.StatusOK, []byte(body)); (err == nil) != ok {
			t.Errorf("the answer %s: %v", body, err)
		}
	}
}
