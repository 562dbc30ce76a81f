package client

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"git-ward/sandbox/gateway"
)

const (
	labCommit = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	labMerged = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	labBot    = `{"id":9,"username":"project_7_bot_1a","state":"active"}`
	labAnn    = `{"id":2,"username":"ann","state":"active","name":"Ann"}`
)

// labRequestOf is a merge request as GitLab's manual shows it, with a few members changed.
func labRequestOf(changes ...string) string {
	text := `{"id":71,"iid":3,"project_id":7,"title":"Draft: One thing","description":"words","state":"opened","draft":true,"author":` + labBot + `,
		"source_branch":"agent/D-1","target_branch":"main","source_project_id":8,"target_project_id":7,"sha":"` + labCommit + `",
		"merge_commit_sha":null,"squash_commit_sha":null,"merge_user":null,"merged_by":null,"web_url":"URL/group/sub/box/-/merge_requests/3"}`
	return strings.NewReplacer(changes...).Replace(text)
}

// lab answers as a table says: by method, path and query, and the body that is wanted after a
// space; it notes what was asked for.
func lab(t *testing.T, answers map[string]string) (Forge, func() string) {
	t.Helper()
	answers["GET /user"] = `{"id":9,"username":"project_7_bot_1a","bot":true,"name":"ward"}`
	answers["GET /users/9"] = answers["GET /user"]
	answers["GET /users/2"] = `{"id":2,"username":"ann","bot":false}`
	answers["GET /projects/8"] = `{"id":8,"path":"box","path_with_namespace":"project_7_bot_1a/box"}`
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Private-Token") != secret {
			t.Error("no token")
		}
		body, _ := io.ReadAll(r.Body)
		q := r.Method + " " + strings.TrimPrefix(r.URL.EscapedPath(), "/api/v4")
		if r.URL.RawQuery != "" {
			q += "?" + r.URL.RawQuery
		}
		if len(body) > 0 {
			q += " " + string(body)
		}
		q = strings.ReplaceAll(q, "/projects/group%2Fsub%2Fbox", "")
		asked = append(asked, q)
		answer, ok := answers[q]
		w.Header().Set("Content-Type", "application/json")
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			answer = `{"message":"404 Not found"}`
		}
		io.WriteString(w, strings.ReplaceAll(answer, "URL", "http://"+r.Host))
	}))
	t.Cleanup(server.Close)
	token, err := gateway.NewKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	f, err := New(Config{Kind: "gitlab", URL: server.URL, Owner: "group/sub", Name: "box", Token: token})
	if err != nil {
		t.Fatal(err)
	}
	return f, func() string {
		out := strings.Join(asked, "\n")
		asked = nil
		return out
	}
}

// TestGitLabRequests: each call is the one that GitLab's manual has, and what its manual
// answers is read. That is all that is known: none of it has met a GitLab.
func TestGitLabRequests(t *testing.T) {
	project := `{"id":7,"path":"box","path_with_namespace":"group/sub/box","default_branch":"main","http_url_to_repo":"URL/group/sub/box.git","web_url":"URL/group/sub/box",
		"archived":false,"permissions":{"project_access":null,"group_access":{"access_level":30,"notification_level":3}}}`
	fork := strings.NewReplacer(`"id":7`, `"id":8`, "group/sub/box", "project_7_bot_1a/box").Replace(project)
	f, _ := lab(t, map[string]string{
		"GET ":                               project,
		"POST /fork {}":                      fork,
		"GET /forks?owned=true&per_page=100": "[]",
		`POST /projects/project_7_bot_1a%2Fbox/merge_requests {"source_branch":"agent/D-1","target_branch":"main","target_project_id":7,"title":"Draft: One thing","description":"words"}`: labRequestOf(),
		"GET /merge_requests?author_id=9&per_page=100&scope=all&source_branch=agent%2FD-1&state=all":                                                                                       "[" + labRequestOf() + "," + labRequestOf(`"source_project_id":8`, `"source_project_id":99`) + "," + labRequestOf(labBot, labAnn) + "]",
		"GET /merge_requests/3":                         labRequestOf(),
		"GET /merge_requests/4":                         labRequestOf("opened", "merged", `"merge_commit_sha":null`, `"merge_commit_sha":"`+labMerged+`"`, `"merge_user":null`, `"merge_user":`+labAnn),
		"GET /merge_requests/5":                         labRequestOf("opened", "merged", `"squash_commit_sha":null`, `"squash_commit_sha":"`+labMerged+`"`, `"merged_by":null`, `"merged_by":`+labAnn),
		"GET /merge_requests/6":                         labRequestOf("opened", "merged"),
		"GET /merge_requests/8":                         labRequestOf("opened", "ajar"),
		`PUT /merge_requests/3 {"title":"One thing"}`:   labRequestOf("Draft: ", "", `"draft":true`, `"draft":false`),
		`PUT /merge_requests/3 {"description":"other"}`: labRequestOf(`"words"`, `"other"`),
		`PUT /merge_requests/3/merge {"merge_commit_message":"m","sha":"` + labCommit + `"}`: labRequestOf("opened", "merged"),
		`PUT /merge_requests/3/merge {"merge_commit_message":"n","sha":"` + labCommit + `"}`: labRequestOf(),
		"GET /merge_requests?per_page=100&scope=all&state=opened&target_branch=main":         "[" + labRequestOf() + "," + labRequestOf("opened", "merged") + "," + labRequestOf(`"target_branch":"main"`, `"target_branch":"old"`) + "]",
		"GET /merge_requests/3/reviewers?per_page=100":                                       `[{"user":` + labAnn + `,"state":"requested_changes","created_at":"2026-11-30T10:00:00Z"},{"user":` + labBot + `,"state":"unreviewed"}]`,
	})
	ctx := t.Context()
	if p := must[Project](t)(f.Project(ctx)); p.Owner != "group/sub" || p.Name != "box" || !p.Write || p.Branch != "main" {
		t.Errorf("%+v", p)
	}
	if p := must[Project](t)(f.Fork(ctx)); p.Owner != "project_7_bot_1a" || p.Name != "box" {
		t.Errorf("%+v", p)
	}
	head := Head{"project_7_bot_1a", "box", "agent/D-1", labCommit}
	made := must[Request](t)(f.Open(ctx, NewRequest{head, "main", "One thing", "words", true}))
	if made.Number != 3 || !made.Draft || made.Title != "One thing" || made.Head != head || made.State != Open || made.Author != (Person{"project_7_bot_1a", true}) {
		t.Errorf("%+v", made)
	}
	if all := must[[]Request](t)(f.Requests(ctx, "project_7_bot_1a", "agent/D-1")); len(all) != 1 || all[0] != made {
		t.Errorf("%+v", all)
	}
	if r := must[Request](t)(f.Request(ctx, 3)); r != made || r.Ref != "refs/merge-requests/3/head" {
		t.Errorf("%+v", r)
	}
	if all := must[[]Request](t)(f.Onto(ctx, "main")); len(all) != 1 || all[0] != made {
		t.Errorf("%+v", all)
	}
	for n, want := range map[int64]string{4: labMerged + " ann", 5: labMerged + " ann", 6: labCommit + " "} {
		if r := must[Request](t)(f.Request(ctx, n)); r.State != Merged || r.MergeCommit+" "+r.MergedBy.Login != want {
			t.Errorf("%d: %+v", n, r)
		}
	}
	if _, err := f.Request(ctx, 8); kindOf(err) != "no answer" {
		t.Errorf("a state that is none: %v", err)
	}
	if _, err := f.Request(ctx, 99); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
	no, other := false, "other"
	if r := must[Request](t)(f.Edit(ctx, 3, Edit{Draft: &no})); r.Draft || r.Title != "One thing" {
		t.Errorf("%+v", r)
	}
	if r := must[Request](t)(f.Edit(ctx, 3, Edit{Body: &other})); r.Body != "other" {
		t.Errorf("%+v", r)
	}
	if all := must[[]Review](t)(f.Reviews(ctx, 3)); len(all) != 2 || all[0].State != Changes || all[0].Author != (Person{"ann", false}) || all[1].State != "" {
		t.Errorf("%+v", all)
	}
	if err := f.Merge(ctx, 3, labCommit, "m"); err != nil {
		t.Error(err)
	}
	if err := f.Merge(ctx, 3, labCommit, "n"); kindOf(err) != "conflict: 200" {
		t.Errorf("what is still open: %v", err)
	}
}

// TestGitLabIssues: the same of issues, comments, rights and statuses.
func TestGitLabIssues(t *testing.T) {
	issue := `{"id":41,"iid":%d,"title":"t","description":null,"state":"%s","author":` + labAnn + `,"labels":["bug","ward"],"updated_at":"2026-11-30T10:00:00.123Z","web_url":"URL/x"}`
	event := `{"id":1,"user":%s,"created_at":"2026-11-30T10:00:00Z","resource_type":"Issue","action":"%s","label":{"id":5,"name":"ward"}}`
	note := `{"id":%d,"body":"%s","author":` + labAnn + `,"system":%v,"created_at":"2026-11-30T10:00:00Z","updated_at":"2026-11-30T10:00:0%dZ"}`
	status := `{"id":%d,"sha":"` + labCommit + `","status":"%s","name":"ward/verdict","target_url":null,"description":"d","author":` + labBot + `}`
	f, asked := lab(t, map[string]string{
		"GET /issues?labels=ward&per_page=100&state=opened": "[" + fmt.Sprintf(issue, 1, "opened") + "," + fmt.Sprintf(issue, 2, "opened") + "," + fmt.Sprintf(issue, 3, "closed") + "]",
		"GET /issues/1/resource_label_events?per_page=100":  "[" + fmt.Sprintf(event, labBot, "add") + "," + fmt.Sprintf(event, labBot, "remove") + "," + fmt.Sprintf(event, labAnn, "add") + `,{"id":9,"user":null,"action":"add","label":null}]`,
		"GET /issues/2/resource_label_events?per_page=100":  "[" + fmt.Sprintf(event, labBot, "add") + "]",
		"GET /issues/1": fmt.Sprintf(issue, 1, "opened"),
		"GET /issues/1/notes?order_by=created_at&per_page=100&sort=asc":                                "[" + fmt.Sprintf(note, 1, "/ward retry", false, 0) + "," + fmt.Sprintf(note, 2, "added a label", true, 0) + "," + fmt.Sprintf(note, 3, "later", false, 9) + "]",
		"GET /merge_requests/1/notes?order_by=created_at&per_page=100&sort=asc":                        "[]",
		`PUT /issues/1 {"state_event":"close"}`:                                                        fmt.Sprintf(issue, 1, "closed"),
		`PUT /issues/2 {"state_event":"close"}`:                                                        fmt.Sprintf(issue, 2, "opened"),
		`POST /issues/1/notes {"body":"hello"}`:                                                        fmt.Sprintf(note, 4, "hello", false, 0),
		"GET /users?per_page=100&username=ann":                                                         "[" + labAnn + "]",
		"GET /users?per_page=100&username=eve":                                                         "[]",
		"GET /users?per_page=100&username=rex":                                                         `[{"id":5,"username":"rex"}]`,
		"GET /members/all/2":                                                                           `{"id":2,"username":"ann","access_level":30}`,
		"GET /members/all/5":                                                                           `{"id":5,"username":"rex","access_level":20}`,
		"GET /repository/commits/" + labCommit + "/statuses?all=true&per_page=100":                     "[" + fmt.Sprintf(status, 1, "pending") + "," + fmt.Sprintf(status, 3, "canceled") + "," + fmt.Sprintf(status, 2, "failed") + "]",
		"POST /statuses/" + labCommit + ` {"description":"d","name":"ward/verdict","state":"failed"}`:  fmt.Sprintf(status, 4, "failed"),
		"POST /statuses/" + labCommit + ` {"description":"d","name":"ward/verdict","state":"pending"}`: `{"id":"5"}`,
	})
	ctx := t.Context()
	var by []string
	for _, i := range must[[]Issue](t)(f.Labelled(ctx, "ward")) {
		by = append(by, fmt.Sprint(i.Number, i.LabelledBy, i.Author))
	}
	if got, want := strings.Join(by, " "), "1 {ann false} {ann false} 2 {project_7_bot_1a true} {ann false}"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if i := must[Issue](t)(f.Issue(ctx, 1)); i.Number != 1 || !i.Open || i.Body != "" {
		t.Errorf("%+v", i)
	}
	if err := f.Close(ctx, 1); err != nil {
		t.Error(err)
	}
	if err := f.Close(ctx, 2); kindOf(err) != "no answer" {
		t.Errorf("what is still open: %v", err)
	}
	if rule, err := f.Required(ctx, "main", "ward/verdict"); rule.Required || err != nil {
		t.Errorf("%v %v", rule, err)
	}
	all := must[[]Comment](t)(f.Comments(ctx, Thread{Number: 1}))
	if len(all) != 2 || all[0].Edited() || !all[1].Edited() || all[0].Body != "/ward retry" {
		t.Errorf("%+v", all)
	}
	if none := must[[]Comment](t)(f.Comments(ctx, Thread{Request: true, Number: 1})); len(none) != 0 {
		t.Errorf("the issue's comments are the request's: %+v", none)
	}
	if c := must[Comment](t)(f.Comment(ctx, Thread{Number: 1}, "hello")); c.ID != 4 || c.Author.Login != "ann" {
		t.Errorf("%+v", c)
	}
	if n := strings.Count(asked(), "GET /users/2"); n != 1 {
		t.Errorf("who ann is was asked for %d times", n)
	}
	for login, want := range map[string]bool{"ann": true, "rex": false, "eve": false, "": false} {
		if got, err := f.MayWrite(ctx, login); err != nil && !errors.Is(err, ErrNotFound) || got != want {
			t.Errorf("%q may write: %v %v", login, got, err)
		}
	}
	var states []string
	for _, s := range must[[]Status](t)(f.Statuses(ctx, labCommit)) {
		states = append(states, s.State)
	}
	if want := []string{"error", "failure", "pending"}; !slices.Equal(states, want) {
		t.Errorf("%v, want %v", states, want)
	}
	if err := f.SetStatus(ctx, labCommit, Status{Context: "ward/verdict", State: "failure", Description: "d"}); err != nil {
		t.Error(err)
	}
	if err := f.SetStatus(ctx, labCommit, Status{Context: "ward/verdict", State: "pending", Description: "d"}); kindOf(err) != "no answer" {
		t.Errorf("a wrong type: %v", err)
	}
	if err := f.SetStatus(ctx, labCommit, Status{Context: "ward/verdict", State: "running"}); err == nil {
		t.Error("a state that is none is set")
	}
}
