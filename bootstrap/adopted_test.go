package bootstrap_test

import (
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/comms"
)

// newAdopted is a site whose project was there before Ward, on a branch of its own name,
// with a COMMS.md of its own.
func newAdopted(t testing.TB, agent string, settings ...string) *site {
	t.Helper()
	tier.First(t, "it runs Ward's binaries, a watcher with agents")
	dir := t.TempDir()
	env, err := gittest.Environ(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := &gittest.Pair{T: t, Bare: filepath.Join(dir, "remote.git"), Work: filepath.Join(dir, "project"), Env: env}
	p.Run(dir, "git", "init", "--quiet", "--initial-branch=trunk", p.Work)
	p.Commit("COMMS.md", "how we talk to each other\n")
	p.Run(dir, "git", "clone", "--quiet", "--bare", p.Work, p.Bare)
	p.Run(dir, "git-ward", "init", "--bare", p.Bare)
	p.Work = filepath.Join(dir, "work")
	p.Run(dir, "git-ward", "clone", p.Bare, p.Work)
	return makeSite(t, p, "trunk", "ward", agent, settings...)
}

// TestAdopted: in an adopted project the agent runs from the project's branch, which
// signals and the log call main and may call by its name; what the watcher has to tell
// goes to the control branch, in words that name the project's.
func TestAdopted(t *testing.T) {
	t.Parallel()
	s := newAdopted(t, steadily)
	project := s.head()
	s.branch("agent/x", "echo no such thing >&2; exit 7\n")
	s.start()
	s.await("SUCCESS main")
	s.until("the start on stdout", func() bool { return strings.Contains(s.out.String(), "ward-watcher: booted "+project+"\n") })
	s.signal("bootstrap", "agent/x")
	s.await("SUCCESS main", "FAILURE agent/x", "SUCCESS main")
	s.until("the report", func() bool { return len(s.reports(comms.Fallback)) == 1 })
	if text := s.reports(comms.Fallback)[0].Raw; !strings.Contains(text, "could not be started from agent/x") || !strings.Contains(text, "It runs from trunk;") {
		t.Error(text)
	}
	if text := s.Run(s.Bare, "git", "show", "trunk:COMMS.md"); text != "how we talk to each other\n" || s.head() == "" {
		t.Errorf("%q", text)
	}
	s.signal("bootstrap", "trunk")
	s.await("SUCCESS main", "FAILURE agent/x", "SUCCESS main", "SUCCESS main")
	// A push to the project's branch is another program; a report is none.
	next := s.main(steadily + "# again\n")
	s.signal("rollback", project)
	s.await("SUCCESS main", "FAILURE agent/x", "SUCCESS main", "SUCCESS main", "SUCCESS main")
	s.signal("bootstrap", "main")
	s.awaitLast("SUCCESS", next)
	s.until("the rollback's report", func() bool { return len(s.reports(comms.Rollback)) == 1 })
	if text := s.reports(comms.Rollback)[0].Raw; !strings.Contains(text, "until the code of trunk moves") {
		t.Error(text)
	}
	s.kill()
	s.Fsck()
}

// TestNoControl: a control branch that is gone is named in one line.
func TestNoControl(t *testing.T) {
	t.Parallel()
	s := newAdopted(t, steadily)
	s.Run(s.Bare, "git", "update-ref", "-d", "refs/heads/ward")
	s.start("--once")
	if err := await.Exit(t, s.watcher); err == nil {
		t.Error("it went well")
	}
	s.watcher = nil
	if text := s.err.String(); !strings.Contains(text, "has no branch refs/heads/ward, which [control] branch names") || strings.Contains(text, "BOOTSTRAPPING") {
		t.Error(text)
	}
}

// TestAdoptedProbation: there a probation has directives on the control branch, and the
// project as it is.
func TestAdoptedProbation(t *testing.T) {
	tier.Full(t, "work of the real agent")
	t.Parallel()
	s := newAdopted(t, shipped, `probation = true`)
	project := s.head()
	s.start("--model", "script", "--once")
	s.until("the start on stdout", func() bool { return strings.Contains(s.out.String(), "ward-watcher: booted "+project+"\n") })
	await.Exit(t, s.watcher)
	s.watcher = nil
	if told := s.reports(comms.Guard); len(told) > 0 || !s.missing(".probation") {
		t.Error(told)
	}
}
