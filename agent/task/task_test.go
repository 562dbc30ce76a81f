package task

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/agent/activity"
	"git-ward/agent/orient"
	"git-ward/internal/gittest"
	"git-ward/internal/worktree"
	"git-ward/protocols/comms"
	"git-ward/protocols/record"
	"git-ward/protocols/symbols"
)

// tree is a working tree whose tracked files are these, and its activity log.
func tree(t *testing.T, files map[string]string) (*worktree.Tree, *activity.Log) {
	t.Helper()
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "--quiet")
	w, err := worktree.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range files {
		if err := w.Write(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	git("add", "--all")
	log, err := activity.Open(filepath.Join(dir, "logs"))
	if err != nil {
		t.Fatal(err)
	}
	return w, log
}

// logged is "TYPE STATUS PHASE" of each line of the log.
func logged(t *testing.T, log *activity.Log) string {
	t.Helper()
	data, err := os.ReadFile(log.Path())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range bytes.Lines(data) {
		var e activity.Entry
		if err := json.Unmarshal(line, &e); err != nil || e.Task.ID != "D-1" {
			t.Fatalf("%v %s", err, line)
		}
		all = append(all, string(e.Action.Type)+" "+string(e.Outcome.Status)+" "+e.Phase)
	}
	return strings.Join(all, ", ")
}

// TestStart: TASK_START is logged whether work may begin or not.
func TestStart(t *testing.T) {
	w, log := tree(t, nil)
	report, err := Start(t.Context(), "D-1", orient.Options{Tree: w, Getenv: os.Getenv}, log)
	if err != nil || !report.Failed() {
		t.Errorf("%v %+v", err, report)
	}
	if got := logged(t, log); got != "TASK_START FAILURE ORIENTING" {
		t.Error(got)
	}
}

// TestClose: the post-mortem is written once, and what its author made of it stays.
func TestClose(t *testing.T) {
	w, log := tree(t, nil)
	path, err := Close(t.Context(), w, "D-1", " A summary.\n", log)
	if err != nil {
		t.Fatal(err)
	}
	text, err := w.Read(path, 1<<20)
	if err != nil || !strings.Contains(string(text), "**Task ID:** D-1\n") || !strings.Contains(string(text), "\nA summary.\n") {
		t.Errorf("%v\n%s", err, text)
	}
	if err := w.Write(path, []byte("mine")); err != nil {
		t.Fatal(err)
	}
	if again, err := Close(t.Context(), w, "D-1", "another", log); err != nil || again != path {
		t.Error(again, err)
	}
	if text, _ := w.Read(path, 1<<20); string(text) != "mine" {
		t.Errorf("%s", text)
	}
	if got := logged(t, log); got != "POST_MORTEM SUCCESS FINALIZING, TASK_END SUCCESS FINALIZING, POST_MORTEM SUCCESS FINALIZING, TASK_END SUCCESS FINALIZING" {
		t.Error(got)
	}
	at := time.Date(2026, 11, 21, 23, 30, 0, 0, time.FixedZone("", -3600))
	if got := PostMortemPath(at, "D-1"); got != "postmortems/2026-11-22-D-1.md" { // the day is UTC's
		t.Error(got)
	}
}

// TestQuery: plans, post-mortems from the newest, the symbols that a text names and
// who depends on their files; what cannot be read is left out.
func TestQuery(t *testing.T) {
	index := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	files := map[string]string{
		"plans/.gitkeep": "", "plans/D-1.plan.txt": "x", "postmortems/2026-01-01-D-1.md": "x", "postmortems/2026-11-21-D-2.md": "x", "postmortems/note.txt": "x",
		symbols.SymbolsPath: index(symbols.Symbols{Symbols: []symbols.Symbol{{Name: "Greeter.Greet", File: "greet.go", Line: 3}, {Name: "Other", File: "other.go", Line: 9}, {Name: "Go", File: "go.go", Line: 1}}}),
		symbols.GraphPath:   index(symbols.Graph{Edges: []symbols.Edge{{From: "main.go", Local: "greet.go"}, {From: "main.go", Local: "greet.go"}, {From: "x.go", Local: "other.go"}}}),
	}
	const all = "# What the repository knows\n\nPlans:\n- plans/D-1.plan.txt\n\nPost-mortems, the newest first:\n- postmortems/2026-11-21-D-2.md\n- postmortems/2026-01-01-D-1.md\n"
	const greet = "\nSymbols that the directive names:\n- greet.go:3 Greeter.Greet\n\nFiles that depend on theirs:\n- main.go\n"
	for name, c := range map[string]struct {
		text, without, want string
	}{
		"a method by its name":      {"Let Greet be polite.", "", all + greet},
		"a file by its name":        {"greet.go", "", all + greet},
		"a name too short to mean":  {"Go on.", "", all},
		"nothing of it":             {"Words.", "", all},
		"symbols that are not JSON": {"Greet", symbols.SymbolsPath, all},
	} {
		w, log := tree(t, files)
		if c.without != "" {
			if err := w.Write(c.without, []byte("{")); err != nil {
				t.Fatal(err)
			}
		}
		known := Query(t.Context(), w, "", c.text)
		if got := known.Text(); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
		if err := known.Log("D-1", log); err != nil || logged(t, log) != "FILE_READ SUCCESS PLANNING" {
			t.Error(err, logged(t, log))
		}
	}
	w, _ := tree(t, nil)
	if got := Query(t.Context(), w, filepath.Join(w.Dir, "nowhere"), "Greet").Text(); got != "" {
		t.Errorf("an empty repository knows %q", got)
	}
}

// TestBegin: the directive's words and unknowns, and its plan's, are searched for, and each
// search is logged: those of the web as such.
func TestBegin(t *testing.T) {
	w, log := tree(t, map[string]string{
		"knowledge_core/agent_meta.json": `{"name": "x", "limitations": []}`, "plans/D-1.plan.txt": "# Unknown: who calls Greet\nset_plan x\n", "plans/D-2.plan.txt": "# Unknown: other\nset_plan x\n",
		"greet.go": "package g\n\nfunc Greet() {}\n"})
	for _, args := range [][]string{{"-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "first"}} {
		if _, err := w.Git(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	doc, _ := comms.Parse([]byte("# COMMS\n## Directives\n### D-1: be polite in Greet\n- unknown: how fast it is\n- unknown: in which tongue\n## Reports\n"))
	asked := 0
	begun, err := Begin(t.Context(), doc.Directives[0], orient.Options{Tree: w, Getenv: os.Getenv,
		Search: func(context.Context, string) (string, error) { asked++; return "slow", nil }}, log)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"what is here about the task:\n    symbols greet.go:3: func Greet\n", "unknown (of the directive): how fast it is\n", "unknown (of the directive): in which tongue\n",
		"unknown (of plans/D-1.plan.txt): who calls Greet\n    symbols greet.go:3", "| slow", "# What the repository knows",
	} {
		if !strings.Contains(begun.Text(), want) {
			t.Errorf("no %q in:\n%s", want, begun.Text())
		}
	}
	got := logged(t, log)
	if asked != 3 || strings.Count(got, "EXTERNAL_RAG_QUERY SUCCESS ORIENTING") != 3 || strings.Count(got, "FILE_READ SUCCESS ORIENTING") != 4 || strings.Contains(begun.Text(), "other") {
		t.Errorf("%d asked: %s", asked, got)
	}
}

// TestBeginLists: the index that an agent's clone is brought up to date with is the one that is
// searched: its files are listed once.
func TestBeginLists(t *testing.T) {
	w, log := tree(t, map[string]string{"knowledge_core/agent_meta.json": `{"name": "x", "limitations": []}`, "greet.go": "package g\n\nfunc Greet() {}\n", "greet.md": "Greet is polite.\n"})
	for _, args := range [][]string{{"config", "ward.record", record.Dir}, {"-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "first"},
		{"update-ref", "refs/remotes/origin/main", "HEAD"}} {
		if _, err := w.Git(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	gittest.Program(t, filepath.Join(dir, "git"), fmt.Sprintf("#!/bin/sh\necho \"$*\" >>%s/log\nexec %s \"$@\"\n", dir, real))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	doc, _ := comms.Parse([]byte("# COMMS\n## Directives\n### D-1: be polite in Greet\n- unknown: who is polite\n## Reports\n"))
	begun, err := Begin(t.Context(), doc.Directives[0], orient.Options{Tree: w, Getenv: os.Getenv}, log)
	if err != nil {
		t.Fatal(err)
	}
	ran, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(ran), "ls-files"); n != 1 {
		t.Errorf("the files are listed %d times:\n%s", n, ran)
	}
	for _, want := range []string{"symbols greet.go:3: func Greet", "documents greet.md"} {
		if !strings.Contains(begun.Text(), want) {
			t.Errorf("no %q in:\n%s", want, begun.Text())
		}
	}
}
