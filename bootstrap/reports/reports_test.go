package reports_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/bootstrap/remote"
	"git-ward/bootstrap/reports"
	"git-ward/internal/config"
	"git-ward/internal/gittest"
	"git-ward/protocols/comms"
)

const empty = "# COMMS\n\n## Directives\n\n## Reports\n"

// desk is a repository with a COMMS.md, and the reports to it.
type desk struct {
	*reports.Reports
	t *testing.T
}

func newDesk(t *testing.T, text string) *desk {
	t.Helper()
	dir := t.TempDir()
	d := &desk{&reports.Reports{Bare: filepath.Join(dir, "remote.git"), Dir: dir}, t}
	d.git(dir, "init", "--quiet", "--bare", "--initial-branch=main", d.Bare)
	d.Remote = remote.Open(d.Bare, config.Default().Control)
	d.write(text)
	return d
}

func (d *desk) git(dir string, args ...string) string {
	d.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Pat", "GIT_AUTHOR_EMAIL=pat@example.org", "GIT_COMMITTER_NAME=Pat", "GIT_COMMITTER_EMAIL=pat@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// write makes a commit on main with this COMMS.md and another file.
func (d *desk) write(text string) {
	d.t.Helper()
	work := d.t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(work, comms.Path), []byte(text), 0o644), gittest.WriteProgram(filepath.Join(work, "code"), "code")); err != nil {
		d.t.Fatal(err)
	}
	d.git(work, "--git-dir="+d.Bare, "--work-tree=.", "add", "--all")
	d.git(work, "--git-dir="+d.Bare, "--work-tree=.", "commit", "--quiet", "--allow-empty", "-m", "PM")
}

func (d *desk) reports() []comms.Report {
	doc, _ := comms.Parse([]byte(d.git(d.Bare, "show", "main:"+comms.Path)))
	return doc.Reports
}

func report(text string) comms.NewReport {
	return comms.NewReport{Time: time.Now(), Directive: "-", Status: comms.Guard, Text: text}
}

// TestOnce: a report is appended and nothing else is touched; of an incident there is one,
// however often it is told.
func TestOnce(t *testing.T) {
	d := newDesk(t, empty)
	for _, incident := range []string{"a", "b", "a"} {
		if err := d.Once(t.Context(), incident, report("what happened: "+incident)); err != nil {
			t.Fatal(err)
		}
	}
	list := d.reports()
	if len(list) != 2 || !strings.Contains(list[0].Raw, "what happened: a\n\nIncident: a\n") || list[1].Status != comms.Guard {
		t.Errorf("%+v", list)
	}
	if diff := d.git(d.Bare, "diff", "--stat", "--format=", "main~2", "main"); !strings.Contains(diff, " 1 file changed") {
		t.Error(diff)
	}
	if who := d.git(d.Bare, "log", "-1", "--format=%an %s", "main"); who != "Ward Watcher comms: report - GUARD\n" {
		t.Error(who)
	}
	d.git(d.Bare, "fsck", "--strict")
	if left, _ := filepath.Glob(filepath.Join(d.Dir, "ward-*")); len(left) > 0 {
		t.Errorf("a repository of the watcher's own stays: %q", left)
	}
}

// TestRace: a report finds its place whoever else pushes, and says so when there is none.
func TestRace(t *testing.T) {
	d := newDesk(t, empty)
	done := make(chan error)
	for i := range 4 {
		go func() {
			done <- d.Once(t.Context(), fmt.Sprint("race", i), report("x"))
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if len(d.reports()) != 4 {
		t.Errorf("%+v", d.reports())
	}
	d.git(d.Bare, "fsck", "--strict")
}

// TestNoWay: a way that does not work is an error at once, and a document that is full
// stays as it is: the watcher may only append.
func TestNoWay(t *testing.T) {
	d := newDesk(t, empty)
	d.Connect = []string{"/nowhere/it's", "connect"}
	if err := d.Once(t.Context(), "a", report("x")); err == nil {
		t.Error("there is no such program")
	}
	d.Connect = nil
	full := empty
	for i := 1; len(full) < comms.MaxWatched-6000; i++ {
		full += fmt.Sprintf("\n### R-%d 2026-11-21T09:00:00Z - INFO\n\n%s\n", i, strings.Repeat("x", 5000))
	}
	d.write(full)
	if err := d.Once(t.Context(), "a", report(strings.Repeat("y", 10000))); !errors.Is(err, comms.ErrFull) {
		t.Error(err)
	}
	if got := d.git(d.Bare, "show", "main:"+comms.Path); got != full {
		t.Error("it was changed")
	}
	if err := d.Once(t.Context(), "b", report("few words")); err != nil {
		t.Error("there is room for few words: ", err)
	}
}
