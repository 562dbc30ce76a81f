package planrun

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/tier"
	"git-ward/protocols/plan"
)

// searchEngine is a search on this machine that names pages of its own, and counts what
// it is asked.
func searchEngine(t *testing.T) (url string, asked *[]string) {
	t.Helper()
	asked = new([]string)
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.URL.Path)
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/search":
			fmt.Fprintf(w, `<p><a href="%s/bucket">The bucket</a> a leaky bucket delays pushes</p><p><a href="%s/gone">gone</a> nothing of it</p>`, server.URL, server.URL)
		case "/bucket":
			fmt.Fprint(w, "<h1>Buckets</h1><p>A leaky bucket delays what comes too fast, and refuses nothing.</p>")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

// researched is a repository with a research plan, and how its places are called.
func researched(t *testing.T, topic string, search, agents bool) (r *Runner, path, report string) {
	t.Helper()
	slug := plan.Slug(topic)
	path = "plans/research/" + slug + ".txt"
	files := "-- docs/door.md --\n# Door\n\nPushes wait in a leaky bucket.\n-- door/bucket.go --\npackage door\n\ntype LeakyBucket struct{}\n-- 限.md --\n推送速度有限制。\n"
	where := ""
	if agents {
		where = ".ward/"
	}
	archive := files + "-- " + where + path + " --\n" + plan.Research(topic, slug, search).String()
	if agents {
		r = newRunner(newClone(t, archive))
	} else {
		r = newRunner(newRepo(t, archive))
	}
	r.Task = "research-" + slug
	return r, path, filepath.Join(r.Tree.Dir, where, "research", slug+".md")
}

// TestResearch: the report is made of what the phases found, each with its source; a phase
// is one commit; a run that was killed in the middle makes the same report.
func TestResearch(t *testing.T) {
	for _, agents := range []bool{false, true} {
		url, asked := searchEngine(t)
		r, path, report := researched(t, "how does the leaky bucket delay zebras", true, agents)
		r.Search = url + "/search"
		killed, kill := context.WithCancelCause(t.Context())
		r.Done = func(step string) {
			if strings.HasSuffix(step, "#6") { // in the middle of the third phase
				kill(errors.New("killed"))
			}
		}
		if _, err := runPlan(killed, r, path); err == nil {
			t.Fatal("it was not killed")
		}
		before := len(*asked)
		r.Done = nil
		if _, err := runPlan(t.Context(), r, path); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(report)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		for _, want := range []string{
			"- Pushes wait in a leaky bucket. [documents: docs/door.md:3]", "- type LeakyBucket [symbols: door/bucket.go:3]", "refuses nothing. [web: " + url + "/bucket]",
			"Phase 4: targeted extraction; what stands around the best places, and what is said in their words: ", "No finding has these words: zebras.",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
		if strings.Contains(text, plan.FieldFindings) || strings.Contains(text, "/gone]\n- gone") || strings.Contains(text, path) {
			t.Errorf("%s", text)
		}
		if before == 0 || len(*asked) > before+6 {
			t.Errorf("asked %q, %d before the kill", *asked, before)
		}
		tip := "HEAD"
		if agents {
			tip = localRef
		}
		if n := strings.Count(gitRun(t, r, "log", "--format=%B", tip), TrailerStep+": "+path); n != 8 { // set_plan, four phases, three steps of the fifth
			t.Errorf("%d commits of steps", n)
		}
		if again, err := runPlan(t.Context(), r, path); err != nil || !again.Before {
			t.Errorf("%+v %v", again, err)
		}
		gitRun(t, r, "fsck", "--strict")
	}
}

// TestResearchFindsNothing: the report says so and stays, and the research fails.
func TestResearchFindsNothing(t *testing.T) {
	r, path, report := researched(t, "okapi quagga", false, false)
	_, err := runPlan(t.Context(), r, path)
	if err == nil || !strings.Contains(err.Error(), "has no findings") {
		t.Error("no: ", err)
	}
	if data, _ := os.ReadFile(report); !strings.Contains(string(data), "No findings: nothing that was looked at") || !strings.Contains(string(data), "okapi, quagga") {
		t.Errorf("%s", data)
	}
}

// TestEngines: an engine that fails, breaks off, redirects or lies is one source without an
// answer. The research goes on without it, says so, and makes no finding of what it said.
func TestEngines(t *testing.T) {
	other, _ := searchEngine(t)
	for name, c := range map[string]struct {
		serve func(w http.ResponseWriter, r *http.Request)
		says  string // "" where it answers
	}{
		"fails":  {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) }, "answered 500"},
		"breaks": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, strings.Replace(other, "127.0.0.1", "localhost", 1), http.StatusFound)
		}, "the search engine redirects to localhost"},
		"echoes": {func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "Nothing was found for %s", r.URL.Query().Get("q"))
		}, ""},
		"lies":     {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "Buy this: <http://10.0.0.1/shop>") }, ""},
		"not text": {func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte{0, 1, 2}) }, "answered with no text"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked++; c.serve(w, r) }))
			defer server.Close()
			for topic, finds := range map[string]bool{"leaky bucket": true, "okapi quagga": false} {
				asked = 0
				r, path, report := researched(t, topic, true, false)
				r.Search = server.URL
				_, err := runPlan(t.Context(), r, path)
				if data, _ := os.ReadFile(report); finds != (err == nil) || !finds && !strings.Contains(err.Error(), "has no findings") ||
					strings.Contains(string(data), "- Not looked at: ") != (c.says != "" || name == "lies") || !strings.Contains(string(data), c.says) || strings.Contains(string(data), "[web: ") {
					t.Errorf("%s: %v\n%s", topic, err, data)
				}
				if c.says != "" && asked > 1 {
					t.Errorf("an engine that failed was asked %d times", asked)
				}
			}
		})
	}
}

// TestResearchOfTheCaller: a registered plan of research that another plan calls is about what
// that one does not know.
func TestResearchOfTheCaller(t *testing.T) {
	r := newRunner(newRepo(t, "-- docs/door.md --\n# Door\n\nPushes wait in a leaky bucket.\n-- deep.txt --\n"+plan.Research(plan.FieldTopic, plan.FieldSlug, false).String()+
		"-- p.txt --\n# FSM: fdc\nset_plan\nMake it quick.\n---\nplan_step_complete begun\n---\n# Unknown: what the leaky bucket does\ncall_plan deep.txt\n---\nplan_step_complete known\n---\nrun_in_bash_session git ward task close --task-id D-1\n---\nsubmit\n"))
	r.Task = "D-1"
	if _, err := runPlan(t.Context(), r, "p.txt"); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(r.Tree.Dir, "research", plan.Slug("what the leaky bucket does")+".md"))
	if err != nil || !strings.Contains(string(data), "- Pushes wait in a leaky bucket. [documents: docs/door.md:3]") {
		t.Errorf("%v\n%s", err, data)
	}
}

// TestResearchInAnyScript: words without blanks between them are found.
func TestResearchInAnyScript(t *testing.T) {
	r, path, report := researched(t, "推送的速度", false, false)
	if _, err := runPlan(t.Context(), r, path); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(report); !strings.Contains(string(data), "- 推送速度有限制。 [documents: 限.md:1]") {
		t.Errorf("%s", data)
	}
}

// TestResearchOfOnesOwn: a plan that leaves no place for findings has them at the end of
// its report, of what its own steps gave.
func TestResearchOfOnesOwn(t *testing.T) {
	r := newRunner(newRepo(t, "-- a.md --\nWaits are long.\n\nThe queue is short.\n-- x.go --\npackage x // a queue\n-- p.txt --\n# FSM: research\nset_plan\nWhy is the queue short?\n---\nread_file a.md\n---\ngrep queue -- x.go\n---\nrun_in_bash_session echo measured: 3\n---\nplan_step_complete\n---\ncreate_file_with_block research/why.md\nI think so.\n---\nrun_in_bash_session git ward task close --task-id D-1\n"))
	if _, err := runPlan(t.Context(), r, "p.txt"); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(r.Tree.Dir, "research/why.md"))
	want := "I think so.\n\n## What was gathered, each with its source\n\n- The queue is short. [documents: a.md:3]\n"
	if err != nil || !strings.HasPrefix(string(data), want) || !strings.Contains(string(data), "[files: x.go:1]") || !strings.Contains(string(data), "measured: 3 [exit 0] [output: the output of `echo measured: 3`]") {
		t.Errorf("%v\n%s", err, data)
	}
}

// TestResearchKilled: research whose process is killed at any moment, again and again, makes
// the report that it makes in peace, in as many commits.
func TestResearchKilled(t *testing.T) {
	tier.Full(t, "a run killed at random moments")
	calm, path, calmReport := researched(t, "leaky bucket", false, false)
	if _, err := calm.Run(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(calmReport)
	if err != nil {
		t.Fatal(err)
	}
	killed, _, report := researched(t, "leaky bucket", false, false)
	kills := killUntilDone(t, filepath.Dir(killed.Tree.Dir), path, rand.New(rand.NewPCG(tier.Seed(t), 0)), 8)
	if got, err := os.ReadFile(report); err != nil || string(got) != string(want) {
		t.Errorf("after %d kills: %v\n%s\nnot\n%s", kills, err, got, want)
	}
	for _, args := range [][]string{{"rev-list", "--count", "HEAD"}, {"status", "--porcelain"}, {"rev-parse", "HEAD^{tree}"}} {
		if got, want := gitRun(t, killed, args...), gitRun(t, calm, args...); got != want {
			t.Errorf("git %v after %d kills: %s, not %s", args, kills, got, want)
		}
	}
	gitRun(t, killed, "fsck", "--strict")
	if kills == 0 {
		t.Error("nothing was killed")
	}
}
