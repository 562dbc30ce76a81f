package client

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// canned answers each path with a text, URL in it being the forge's own.
func canned(t *testing.T, kind string, answers map[string]string) Forge {
	t.Helper()
	return asked(t, kind, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		text, ok := answers[r.URL.Path[strings.Index(r.URL.Path[5:], "/")+5:]]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprint(w, strings.ReplaceAll(text, "URL", "http://"+r.Host))
	})
}

// TestFilters: a forge that passes over what it was asked to filter by is looked through here.
func TestFilters(t *testing.T) {
	issue := func(n int, more string) string {
		return strings.NewReplacer("7", fmt.Sprint(n), `"title"`, more+`"title"`).Replace(whole)
	}
	ward := `"labels":["bug",{"name":"Ward"}],`
	request := func(n int, author, owner, branch string) string {
		return fmt.Sprintf(`{"number":%d,"state":"open","user":{"id":1,"login":"%s"},"base":{"ref":"main"},"head":{"ref":"%s","sha":"%s","repo":{"name":"box","owner":{"id":1,"login":"%s"}}}}`,
			n, author, branch, labCommit, owner)
	}
	for _, kind := range []string{"gitea", "github"} {
		answers := map[string]string{
			"/user": `{"id":1,"login":"ward"}`,
			"/repos/lead/box/issues": "[" + issue(1, ward) + "," + issue(2, "") + "," + issue(3, ward+`"pull_request":{},`) + "," +
				strings.Replace(issue(4, ward), `"open"`, `"closed"`, 1) + "," + issue(5, `"labels":[{"name":"warden"}],`) + "]",
			"/repos/lead/box/issues/1/timeline": "null",
			"/repos/lead/box/issues/1/events":   "[]",
			"/repos/lead/box/pulls": "[" + request(1, "Ward", "ward", "agent/D-1") + "," + request(2, "eve", "ward", "agent/D-1") + "," +
				request(3, "ward", "eve", "agent/D-1") + "," + request(4, "ward", "ward", "agent/D-10") + "," + request(5, "ward", "ward", "agent/d-1") + "]",
		}
		f := canned(t, kind, answers)
		all, err := f.Labelled(t.Context(), "ward")
		if err != nil || len(all) != 1 || all[0].Number != 1 || all[0].LabelledBy != (Person{}) || all[0].Unread != nil {
			t.Errorf("%s: %+v %v", kind, all, err)
		}
		requests, err := f.Requests(t.Context(), "ward", "agent/D-1")
		if err != nil || len(requests) != 1 || requests[0].Number != 1 {
			t.Errorf("%s: %+v %v", kind, requests, err)
		}
		answers["/repos/lead/box/pulls"] = "null"
		if _, err := f.Requests(t.Context(), "ward", "agent/D-1"); kindOf(err) != "no answer" {
			t.Errorf("%s: null is none: %v", kind, err)
		}
	}
}

// TestRequired: a pattern counts that fits the context, and a forge without rulesets has no rule.
func TestRequired(t *testing.T) {
	for pattern, want := range map[string]bool{"ward/verdict": true, "ward*": true, "*": true, "ward/verdic?": true, "{ci,ward}/verdict": true, `\`: true, "ci/*": false, "ward": false} {
		f := canned(t, "gitea", map[string]string{"/repos/lead/box/branches/main": fmt.Sprintf(`{"name":"main","enable_status_check":true,"status_check_contexts":[%q]}`, pattern)})
		if got, err := f.Required(t.Context(), "main", "ward/verdict"); err != nil || got.Required != want {
			t.Errorf("%s: %v %v", pattern, got, err)
		}
	}
	for code, want := range map[int]string{403: "<nil>", 404: "<nil>", 429: "later: 1m0s"} {
		f := asked(t, "github", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if strings.Contains(r.URL.Path, "/rules/") {
				w.WriteHeader(code)
			}
			fmt.Fprint(w, `{"name":"main"}`)
		})
		if got, err := f.Required(t.Context(), "main", "ward/verdict"); got.Required || kindOf(err) != want {
			t.Errorf("%d: %v %v", code, got, err)
		}
	}
}

// TestProjectElsewhere: what is pushed goes with the token, so a project's URLs are the forge's.
func TestProjectElsewhere(t *testing.T) {
	hub := `{"id":7,"name":"box","full_name":"lead/box","owner":{"id":1,"login":"lead"},"default_branch":"main","clone_url":"URL/lead/box.git","html_url":"URL/lead/box"}`
	lab := `{"id":7,"path":"box","path_with_namespace":"lead/box","default_branch":"main","http_url_to_repo":"URL/lead/box.git","web_url":"URL/lead/box"}`
	for kind, text := range map[string]string{"gitea": hub, "github": hub, "gitlab": lab} {
		for change, want := range map[string]string{
			"URL/lead/box.git": "<nil>", "http://elsewhere.example/lead/box.git": "no answer", "http://eve:x@URLHOST/lead/box.git": "no answer",
			"ssh://URLHOST/lead/box.git": "no answer", "": "no answer",
		} {
			f := asked(t, kind, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, strings.NewReplacer("URL/lead/box.git", strings.NewReplacer("URLHOST", r.Host, "URL", "http://"+r.Host).Replace(change), "URL", "http://"+r.Host).Replace(text))
			})
			if p, err := f.Project(t.Context()); kindOf(err) != want || err == nil && (p.Owner != "lead" || p.Name != "box") {
				t.Errorf("%s, %q: %+v %v", kind, change, p, err)
			}
		}
	}
}

// TestHalfDone: a success that does not say that it was done is none.
func TestHalfDone(t *testing.T) {
	for _, text := range []string{`{}`, `{"merged":false,"sha":"` + labCommit + `"}`, `{"merged":true,"sha":"abc"}`, `{"merged":"true","sha":"` + labCommit + `"}`} {
		f := canned(t, "github", map[string]string{"/repos/lead/box": `{}`, "/repos/lead/box/pulls/3/merge": text})
		if err := f.Merge(t.Context(), 3, labCommit, "m"); kindOf(err) != "no answer" {
			t.Errorf("merged by %s: %v", text, err)
		}
	}
	s := Status{Context: "ward/verdict", State: "success"}
	for text, want := range map[string]string{
		`{"id":1,"state":"success","context":"ward/verdict"}`: "<nil>", `{"id":1,"state":"failure","context":"ward/verdict"}`: "no answer",
		`{"id":1,"state":"success","context":"ci"}`: "no answer", `{"state":"success","context":"ward/verdict"}`: "no answer", `{}`: "no answer",
	} {
		f := canned(t, "github", map[string]string{"/repos/lead/box/statuses/" + labCommit: text})
		if err := f.SetStatus(t.Context(), labCommit, s); kindOf(err) != want {
			t.Errorf("status %s: %v", text, err)
		}
		if err := f.SetStatus(t.Context(), "../../x", s); err == nil {
			t.Error("a commit that is a path is asked for")
		}
	}
}

// TestSelfAnew: whose token it is is asked at each look: an account that was renamed is another one
// to those who compare names, and its old name may be a stranger's by now.
func TestSelfAnew(t *testing.T) {
	for _, kind := range Kinds {
		name, calls := "ward", 0
		f := asked(t, kind, func(w http.ResponseWriter, r *http.Request) {
			calls++
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"id":7,"login":%q,"username":%q,"bot":false}`, name, name)
		})
		for _, name = range []string{"ward", "ward-2"} {
			if self := must[Person](t)(f.Self(t.Context())); self.Login != name {
				t.Errorf("%s: %+v, and is %s", kind, self, name)
			}
		}
		if calls != 2 {
			t.Errorf("%s: %d calls", kind, calls)
		}
	}
}
