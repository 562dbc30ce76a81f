package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"git-ward/hooks/audit"
	"git-ward/hooks/push"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
)

// said is what a command printed and how it ended.
type said struct {
	out, errs string
	err       error
}

// run runs a command in a directory.
func run(t *testing.T, command cli.Command, dir string, args ...string) said {
	t.Helper()
	var out, errs bytes.Buffer
	err := command.Call(t.Context(), &cli.Env{Args: args, Stdin: strings.NewReader("from stdin\n"), Stdout: &out, Stderr: &errs, Dir: dir, Getenv: func(string) string { return "" }})
	return said{out.String(), errs.String(), err}
}

// check compares what was said with parts of it, and the error with a part of its text
// or "usage" or "findings".
func (s said) check(t *testing.T, wantErr string, parts ...string) {
	t.Helper()
	switch {
	case wantErr == "" && s.err != nil,
		wantErr == "usage" && !errors.Is(s.err, cli.ErrUsage),
		wantErr == "findings" && !errors.Is(s.err, cli.ErrFindings),
		wantErr != "" && wantErr != "usage" && wantErr != "findings" && (s.err == nil || !strings.Contains(s.err.Error(), wantErr)):
		t.Errorf("ended with %v, want %q\n%s%s", s.err, wantErr, s.out, s.errs)
	}
	var hinted *diag.Hinted
	if s.err != nil && wantErr != "usage" && wantErr != "findings" && !errors.As(s.err, &hinted) {
		t.Errorf("no remedy for %v", s.err)
	}
	for _, part := range parts {
		if !strings.Contains(s.out+s.errs, part) {
			t.Errorf("no %q in\n%s%s", part, s.out, s.errs)
		}
	}
}

const document = "# COMMS\n\n## Directives\n\n## Reports\n"

// remote is a bare repository with one commit on main; no hooks guard it.
func remote(t *testing.T) *git.Repo {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "r.git")
	gittest.Git(t, ".", "init", "-q", "--bare", "--initial-branch=main", dir)
	repo := git.Open(dir)
	id, err := repo.CommitFile("", "COMMS.md", []byte(document), time.Now(), "first")
	if err != nil {
		t.Fatal(err)
	}
	gittest.Git(t, dir, "update-ref", "refs/heads/main", id)
	return repo
}

// clone is a clone of it, by git ward clone.
func clone(t *testing.T, of *git.Repo) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "work")
	run(t, Clone, t.TempDir(), of.Dir, dir).check(t, "", "cloned into", "with the audit")
	return dir
}

// record appends a record of one ref to the chain.
func record(t *testing.T, repo *git.Repo, r audit.Record) {
	t.Helper()
	main, err := repo.Ref(t.Context(), "refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	r.Time, r.Principal = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), "pm"
	r.Refs = []audit.Ref{{Update: push.Update{Ref: "refs/heads/main", Old: git.Zero, New: main}, Applied: r.Verdict == audit.Accepted}}
	batch := repo.Batch(t.Context())
	defer batch.Close()
	if err := os.MkdirAll(filepath.Join(repo.Dir, "ward/pending"), 0o700); err != nil {
		t.Fatal(err)
	}
	if r.Verdict == audit.Refused {
		err = audit.Refuse(t.Context(), repo, batch, &r)
	} else {
		err = appendTo(t.Context(), repo, batch, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func appendTo(ctx context.Context, repo *git.Repo, batch *git.Batch, r *audit.Record) error {
	w, err := audit.NewWriter(ctx, repo, batch)
	if err != nil {
		return err
	}
	defer w.Close()
	return w.Append(ctx, audit.Entry{Record: r})
}

// audited is remote with three records: one accepted, one refused three times.
func audited(t *testing.T) *git.Repo {
	t.Helper()
	repo := remote(t)
	record(t, repo, audit.Record{Push: "push-1", Verdict: audit.Accepted, Rules: []string{}, Name: "pat", Allowed: []string{"secret/key:a b"}})
	for range 3 {
		record(t, repo, audit.Record{Push: "push-2", Verdict: audit.Refused, Rules: []string{"rights/ref"}})
	}
	return repo
}

func TestClone(t *testing.T) {
	dir := clone(t, remote(t))
	if got := gittest.Git(t, dir, "config", "--get-all", "remote.origin.fetch"); !strings.Contains(got, "\nrefs/ward/*:refs/ward/*\nrefs/notes/*:refs/notes/*") {
		t.Error(got)
	}
	run(t, Clone, dir).check(t, "usage")
	run(t, Clone, dir, "a", "b", "c").check(t, "usage")
}

// TestCloneAdopted: the control branch of an adopted repository is checked out beside the
// project, each follows its own branch of origin, and later commands know both.
func TestCloneAdopted(t *testing.T) {
	bare := filepath.Join(t.TempDir(), "r.git")
	gittest.Git(t, ".", "init", "-q", "--bare", "--initial-branch=master", bare)
	repo := git.Open(bare)
	for branch, file := range map[string]string{"master": "go.mod", "ward": "COMMS.md"} {
		id, err := repo.CommitFile("", file, []byte(document), time.Now(), "first")
		if err != nil {
			t.Fatal(err)
		}
		gittest.Git(t, bare, "update-ref", "refs/heads/"+branch, id)
	}
	dir := filepath.Join(t.TempDir(), "work")
	run(t, Clone, t.TempDir(), bare, dir).check(t, "", "(master, the project) and "+dir+".ward (ward, Ward's documents)", "next: cd "+dir+".ward")
	for tree, want := range map[string]string{dir: "master origin/master go.mod", dir + ".ward": "ward origin/ward COMMS.md"} {
		got := gittest.Git(t, tree, "rev-parse", "--abbrev-ref", "HEAD", "@{upstream}") + " " + gittest.Git(t, tree, "ls-files")
		if strings.ReplaceAll(got, "\n", " ") != want {
			t.Errorf("%s: %q, want %q", tree, got, want)
		}
		if got := gittest.Git(t, tree, "config", "ward.control") + " " + gittest.Git(t, tree, "config", "ward.project"); got != "ward master" {
			t.Error(got)
		}
		run(t, Lint, tree).check(t, "", "note: linting with Ward's default settings")
	}
	run(t, Clone, t.TempDir(), bare, dir+"2", "--control", "none").check(t, "origin has no branch none")
	run(t, Clone, t.TempDir(), bare, dir).check(t, dir+".ward is there already")
	gittest.Git(t, bare, "branch", "-m", "ward", "papers")
	run(t, Clone, t.TempDir(), bare, dir+"3").check(t, "", "origin's branch main has no COMMS.md", "clone again with --control BRANCH")
	run(t, Clone, t.TempDir(), bare, dir+"4", "--control", "papers").check(t, "", dir+"4.ward (papers, Ward's documents)")
}

func TestLog(t *testing.T) {
	repo := audited(t)
	main := gittest.Git(t, repo.Dir, "rev-parse", "main")[:12]
	run(t, Log, repo.Dir).check(t, "", "1     2026-11-21 09:00:00  pm pat  accepted", "main  -.."+main, "allowed secret/key:a b", "refused (and 2 more times)", "rights/ref")
	if all := run(t, Log, repo.Dir); strings.Index(all.out, "rights/ref") > strings.Index(all.out, "accepted") {
		t.Errorf("the newest push is not first:\n%s", all.out)
	}
	if s := run(t, Log, repo.Dir, "-n", "1"); strings.Contains(s.out, "accepted") {
		t.Error(s.out)
	}
	if s := run(t, Log, repo.Dir, "--refused"); strings.Contains(s.out, "accepted") || !strings.Contains(s.out, "refused") {
		t.Error(s.out)
	}
	var r audit.Record
	if s := run(t, Log, repo.Dir, "--json", "-n", "1"); json.Unmarshal([]byte(s.out), &r) != nil || r.ID != 2 || r.Repeats != 2 {
		t.Error(s.out)
	}
	run(t, Log, remote(t).Dir).check(t, "this repository has no audit")
	run(t, Log, t.TempDir()).check(t, "is not in a git repository")
	run(t, Log, repo.Dir, repo.Dir, repo.Dir).check(t, "usage")
}

func TestFsck(t *testing.T) {
	repo := audited(t)
	gittest.Git(t, repo.Dir, "config", "core.logAllRefUpdates", "always")
	run(t, Fsck, repo.Dir).check(t, "", "2 records, 1 note, 1 finding\n", "warning: fsck/tail: it has no reflog")
	gittest.Git(t, repo.Dir, "update-ref", "refs/heads/smuggled", "main")
	run(t, Fsck, t.TempDir(), repo.Dir).check(t, "findings", "refs/heads/smuggled: fsck/unrecorded: ", "2 records, 1 note, 2 findings\n")
	var result struct {
		Findings       []diag.Diagnostic
		Records, Notes int
		Repaired       []string
	}
	s := run(t, Fsck, repo.Dir, "--json")
	if err := json.Unmarshal([]byte(s.out), &result); err != nil || result.Records != 2 || len(result.Findings) != 2 || !errors.Is(s.err, cli.ErrFindings) {
		t.Errorf("%v: %s", err, s.out)
	}
	gittest.Git(t, repo.Dir, "update-ref", "-d", "refs/notes/audit")
	run(t, Fsck, repo.Dir, "--repair").check(t, "findings", "repaired: rebuilt refs/notes/audit from the chain\n")
}

func TestLint(t *testing.T) {
	dir := clone(t, remote(t))
	run(t, Lint, dir).check(t, "", "note: linting with Ward's default settings")
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("<<<<<<< HEAD\n=======\n>>>>>>> x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	gittest.Git(t, dir, "checkout", "-q", "-b", "topic")
	gittest.Git(t, dir, "add", "f")
	gittest.Git(t, dir, "commit", "-q", "-m", "topic")
	run(t, Lint, dir, "--as", "agent").check(t, "findings", "rights/ref")
	run(t, Lint, dir, "--as", "agent", "--json").check(t, "findings", `"rule":"rights/ref"`)
	run(t, Lint, dir, "no-such-rev").check(t, `"no-such-rev" is not a commit`)
	run(t, Lint, dir, "HEAD", "HEAD").check(t, "usage")
	if s := run(t, Lint, dir, "--as", "king"); s.err == nil || !strings.Contains(s.err.Error(), "--as is pm, agent or member") {
		t.Error(s.err)
	}
	gittest.Git(t, dir, "update-ref", "-d", "refs/remotes/origin/main")
	run(t, Lint, dir).check(t, "no origin/main to compare with")
}

func TestReport(t *testing.T) {
	dir := clone(t, remote(t))
	below := filepath.Join(dir, "a/b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, Report(nil), below, "--append", "--status", "INFO", "-m", "a text").check(t, "", "appended R-1 to COMMS.md")
	run(t, Report(nil), dir, "--append", "--status", "INFO", "-F", "-").check(t, "", "appended R-2 to COMMS.md")
	data, err := os.ReadFile(filepath.Join(dir, "COMMS.md"))
	if err != nil || !strings.Contains(string(data), "a text\n") || !strings.Contains(string(data), "from stdin\n") {
		t.Errorf("%v\n%s", err, data)
	}
	run(t, Report(nil), dir, "--append", "--status", "GREAT").check(t, `"GREAT" is not a report's status`)
	run(t, Report(nil), dir, "--append", "--status", "INFO", "more").check(t, "usage")
	if s := run(t, Report(nil), dir, "--append", "--status", "INFO", "-m", "x", "-F", "-"); s.err == nil || !strings.Contains(s.err.Error(), "exclude each other") {
		t.Error(s.err)
	}
	run(t, Report(nil), t.TempDir(), "--append", "--status", "INFO").check(t, "is not in a working tree")
}

func TestMaintain(t *testing.T) {
	repo := remote(t)
	run(t, Maintain, repo.Dir).check(t, "", "packed refs and objects, wrote the commit-graph")
	if _, err := os.Stat(filepath.Join(repo.Dir, "packed-refs")); err != nil {
		t.Error(err)
	}
}

// TestInit: without --bare, init says what to do instead; what it does is package
// install's.
func TestInit(t *testing.T) {
	var asked []string
	initialize := Init(nil, fstest.MapFS{}, func(_ context.Context, env *cli.Env) error {
		asked = env.Args
		return nil
	})
	run(t, initialize, t.TempDir()).check(t, "Ward guards a bare repository")
	run(t, initialize, clone(t, remote(t))).check(t, "this is a repository with a work tree")
	run(t, initialize, t.TempDir(), "--bare").check(t, "usage")
	run(t, initialize, t.TempDir(), "--bare", "a", "b").check(t, "usage")
	run(t, initialize, t.TempDir(), "--forge", "https://forge.example/o/p", "--remove").check(t, "usage")
	run(t, initialize, t.TempDir(), "--forge", "https://forge.example/o/p", "--control", "w", "--bare", "a").check(t, "")
	if got := strings.Join(asked, " "); got != "--forge https://forge.example/o/p --control w -- a" {
		t.Error(got)
	}
}

// TestClonePapersPlace: what comes to be where the control branch is to be checked out, at
// whatever moment, stays as it is, and nothing comes into it.
func TestClonePapersPlace(t *testing.T) {
	bare := filepath.Join(t.TempDir(), "r.git")
	gittest.Git(t, ".", "init", "-q", "--bare", "--initial-branch=master", bare)
	for branch, file := range map[string]string{"master": "go.mod", "ward": "COMMS.md"} {
		id, err := git.Open(bare).CommitFile("", file, []byte(document), time.Now(), "first")
		if err != nil {
			t.Fatal(err)
		}
		gittest.Git(t, bare, "update-ref", "refs/heads/"+branch, id)
	}
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	path := os.Getenv("PATH")
	for _, moment := range []string{"worktree add", "worktree move", "worktree repair"} {
		bin, parent := t.TempDir(), t.TempDir()
		theirs := filepath.Join(parent, "work.ward")
		script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *'%s'*) mkdir -p '%s' ;; esac\nexec '%s' \"$@\"\n", moment, theirs, real)
		gittest.Program(t, filepath.Join(bin, "git"), script)
		t.Setenv("PATH", bin+":"+path)
		got := run(t, Clone, parent, bare, filepath.Join(parent, "work"))
		entries, _ := os.ReadDir(theirs)
		names := ""
		for _, e := range entries {
			names += e.Name() + " "
		}
		if moment == "worktree add" {
			got.check(t, "work.ward was created meanwhile, and is left alone")
			if names != "" {
				t.Errorf("%s: in what came meanwhile: %s", moment, names)
			}
			continue
		}
		if got.err != nil || names != ".git COMMS.md " || strings.Contains(got.errs, "repair") {
			t.Errorf("%s: %v; in the directory: %s", moment, got.err, names)
		}
		gittest.Git(t, theirs, "status")
		if list := gittest.Git(t, filepath.Join(parent, "work"), "worktree", "list"); !strings.Contains(list, theirs+" ") {
			t.Errorf("%s: git knows of %s", moment, list)
		}
	}
}

// TestCloneLeaves: a clone that fails takes back what it made, and nothing that somebody else
// put into its directory meanwhile, whether that was there and empty or is the clone's own.
func TestCloneLeaves(t *testing.T) {
	of := remote(t)
	for _, c := range []struct {
		name         string
		there, fails bool   // the directory is there; the clone fails
		put          string // what comes to be in it meanwhile
	}{
		{"fails, nothing there", false, true, ""},
		{"fails, into an empty one", true, true, ""},
		{"fails, with a file of somebody's", true, true, "mine"},
		{"fails, with a directory made meanwhile", false, true, "mine"},
		{"with a file of somebody's", true, false, "mine"},
		{"with one in its way", true, false, "COMMS.md"},
		{"into a directory made meanwhile", false, false, "mine"},
		{"into an empty one", true, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "work")
			if c.there {
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			// What git starts on the other side puts the file there, in the middle of the clone.
			script := filepath.Join(t.TempDir(), "upload-pack")
			text := "#!/bin/sh\n"
			if c.put != "" {
				text += "mkdir -p '" + dir + "/mine.d'; echo mine >'" + dir + "/" + c.put + "'\n"
			}
			if c.fails {
				text += "exit 1\n"
			}
			gittest.Program(t, script, text+"exec git-upload-pack \"$@\"\n")
			t.Setenv("GIT_CONFIG_COUNT", "1")
			t.Setenv("GIT_CONFIG_KEY_0", "core.sshCommand")
			t.Setenv("GIT_CONFIG_VALUE_0", script+" '"+of.Dir+"' #")
			t.Setenv("GIT_SSH_VARIANT", "simple")
			got := run(t, Clone, parent, "host:"+of.Dir, dir)
			if (got.err != nil) != (c.fails || c.put != "") {
				t.Fatalf("it ended with %v\n%s", got.err, got.errs)
			}
			if c.put != "" && !c.fails && !strings.Contains(got.err.Error(), "was created meanwhile, and is left alone") {
				t.Errorf("it does not name what is in its way: %v", got.err)
			}
			var names []string
			entries, _ := os.ReadDir(dir)
			for _, e := range entries {
				names = append(names, e.Name())
			}
			want := map[bool]string{true: ".git COMMS.md", false: ""}[got.err == nil]
			if c.put != "" {
				want = map[string]string{"mine": "mine mine.d", "COMMS.md": "COMMS.md mine.d"}[c.put]
			}
			if strings.Join(names, " ") != want {
				t.Errorf("in the directory: %q, want %q", names, want)
			}
			if _, err := os.Stat(dir); err != nil && c.there {
				t.Error("the directory that was there is gone")
			}
			if left, _ := filepath.Glob(parent + "/*"); len(left) > 1 {
				t.Errorf("left: %q", left)
			}
		})
	}
}
