package bootstrap_test

import (
	"slices"
	"strings"
	"testing"

	"git-ward/internal/failpoint"
	"git-ward/internal/tier"
	"git-ward/protocols/boot"
	"git-ward/protocols/comms"
)

// dies answers that it is up, and ends.
const dies = library + "ok\nexit 1\n"

// held writes down what the host would: the programs that held, the last one first.
func (s *site) held(commits ...string) {
	s.T.Helper()
	for i, commit := range commits {
		s.Run(s.Bare, "git", "update-ref", boot.GoodRef(i), commit)
	}
}

// TestDies: a main that answers SUCCESS and then dies, again and again, gives way to the
// program that held before, and that to the one before it. It is said once for each, to
// the host and to the PM, and the watcher's end in between does not begin the count anew.
func TestDies(t *testing.T) {
	t.Parallel()
	s := newSite(t, steadily, `check = "10m"`)
	first := s.head()
	second := s.main(dies + "# second\n")
	last := s.main(dies)
	s.held(last, second, first)
	s.env = []string{failpoint.Var + "=bootstrap/booted#3=kill"}
	s.start()
	s.killedItself()
	s.env = nil
	s.start()
	s.awaitLast(boot.Success, first)
	var went []string // the programs: a report moves main, and not its program
	for _, e := range s.history() {
		if program := s.show(e.Commit + ":agent.sh"); len(went) == 0 || went[len(went)-1] != program {
			went = append(went, program)
		}
	}
	if want := []string{dies, dies + "# second\n", steadily}; !slices.Equal(went, want) {
		t.Errorf("it ran %q, want %q", went, want)
	}
	if n := len(s.history()); n > 2*(3+1+3+1) { // the run that the watcher was killed in does not count
		t.Errorf("%d lines: %v", n, s.history())
	}
	_, fell, _ := strings.Cut(s.out.String(), boot.FellBack)
	if commit, _, _ := strings.Cut(fell, "\n"); strings.Contains(fell, boot.FellBack) || s.show(commit+":agent.sh") != dies {
		t.Errorf("%q", s.out.String())
	}
	s.until("the PM is told of both", func() bool { return len(s.reports(comms.Fallback)) == 2 })
	for _, told := range s.reports(comms.Fallback) {
		if !strings.Contains(told.Raw, "The agent ended by itself 3 times in a row from main, commit ") {
			t.Error(told.Raw)
		}
	}
	mended := s.main(steadily + "# mended\n")
	s.endAgent()
	s.awaitLast(boot.Success, mended)
	s.onlyOne()
}

// TestDiesWithASignal: a main that writes a signal before it dies, which leads back to it or
// nowhere, was not asked to.
func TestDiesWithASignal(t *testing.T) {
	t.Parallel()
	for name, asks := range map[string]string{
		"to main":               "signal bootstrap main",
		"to a branch like main": `signal bootstrap agent/same; [ "$WARD_BRANCH" = main ] || signal bootstrap main`,
		"to no branch":          "signal bootstrap agent/none",
		"to no name":            `echo a b c >"$S/.signal/bootstrap"`,
		"back to itself":        `signal rollback "$WARD_COMMIT"`,
		"back to nothing":       "signal rollback refs/heads/none",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, steadily, `check = "10m"`)
			first := s.head()
			bad := s.main(library + "ok\n" + asks + "\nexit 1\n")
			s.Git("push", "--quiet", "origin", "HEAD:agent/same")
			s.held(bad, first)
			s.start()
			s.awaitLast(boot.Success, first)
			if n := strings.Count(s.read("logs/bootstrap.log"), "BOOTSTRAPPING main"); n > 3+1 {
				t.Errorf("%d starts", n)
			}
			s.until("the PM is told", func() bool { return len(s.reports(comms.Fallback)) > 0 })
			s.onlyOne()
		})
	}
}

// TestDiesAlone: where no earlier program is left, main is tried again and again.
func TestDiesAlone(t *testing.T) {
	tier.Full(t, "the first tier's minutes go to TestDies")
	t.Parallel()
	s := newSite(t, dies, `check = "10m"`)
	s.held(s.head())
	s.start()
	s.awaitCount("SUCCESS main", 5)
	if told := s.reports(comms.Fallback); len(told) > 0 {
		t.Error(told)
	}
}
