package bootstrap_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/failpoint"
	"git-ward/internal/tier"
	"git-ward/protocols/boot"
	"git-ward/protocols/comms"
)

// diligent is an agent that works through what is open where it is to end then, and else
// stays. begins, which a test may define anew before it, is called with a directive's number
// before its work, and ends after all of it.
const diligent = library + `begins() { :; }
ends() { :; }
`

const diligence = `ok
exec 9>&-
case "$*" in
*--once*)
	echo x >>"$S/trials"
	while [ $# -gt 0 ]; do
		case $1 in
		--bare) bare=$2 ;;
		--state) work=$2 ;;
		esac
		shift
	done
	git clone -q "$bare" "$work" && cd "$work" || exit 8
	git config user.name it && git config user.email it@localhost
	for n in 1 2 3; do
		begins $n
		word=$(sed -n "s/.*grep -qx \([a-z0-9]*\) probation-$n.txt.*/\1/p" COMMS.md)
		git checkout -q -B agent/D-$n origin/main
		echo "$word" >probation-$n.txt
		git add -A && git commit -qm D-$n && git push -q origin agent/D-$n || exit 8
		git checkout -q -B main origin/main
		sed -i "s/^## Questions/### R-$n 2026-11-24T00:00:00Z D-$n DONE\nIt is done.\n\n&/" COMMS.md
		git commit -qam "report D-$n" && git push -q origin main || exit 8
	done
	ends
	exit 0
	;;
esac
while [ ! -e "$S/.signal/bootstrap" ] && [ ! -e "$S/.signal/rollback" ]; do sleep 0.1; done
`

// TestProbation: what says SUCCESS and cannot work is not started, is not what held last,
// and what held before works on (BOOT-2, BOOT-3).
func TestProbation(t *testing.T) {
	t.Parallel()
	testProbation(t, map[string]candidate{
		"dies at once":              {"exit 7\n", nil, "probation: exit 7"},
		"another commit":            {"WARD_COMMIT=0123456789012345678901234567890123456789\n", nil, "probation: exit 0"},
		"does nothing":              {"ok\nexit 0\n", nil, "probation: the branch agent/D-1 does not have what"},
		"dies at its first":         {"begins() { exit 1; }\n", nil, "probation: exit 1"},
		"dies at each second":       {"begins() { [ $1 != 2 ] || exit 1; }\n", nil, "probation: exit 1"},
		"ends well at each second":  {"begins() { [ $1 != 2 ] || exit 0; }\n", nil, "probation: the branch agent/D-2 does not have what"},
		"dies after a while":        {"ends() { kill -9 $$; }\n", nil, "probation: killed by signal 9"},
		"hangs":                     {"begins() { trap '' TERM; while :; do sleep 1; done; }\n", []string{`probation_timeout = "1s"`}, "probation: 3 made-up directives took longer than"},
		"reports what it did not":   {without("*agent/D-3"), nil, "probation: the branch agent/D-3 does not have what"},
		"works and does not report": {without("*origin\\ main"), nil, "probation: there is no report on the made-up directive D-1"},
	})
}

// without is an agent whose git does nothing where its words are like a pattern of the shell.
func without(pattern string) string {
	return "git() { case \"$*\" in " + pattern + ") return 0 ;; esac; command git \"$@\"; }\n"
}

// TestProbationMemory is the one of TestProbation's table that takes what it can.
func TestProbationMemory(t *testing.T) {
	tier.Full(t, "an agent that takes what it can, for seconds")
	t.Parallel()
	testProbation(t, map[string]candidate{
		"eats memory": {`begins() { exec awk 'BEGIN { s = "0123456789abcdef"; while (length(s) < 300000000) s = s s; while (1) x++ }'; }` + "\n", []string{`[guard] memory = 200_000_000`}, "probation: ended by a guard: memory"},
	})
}

// candidate is what is wrong with a program, and what bootstrap.log says of it.
type candidate struct {
	change   string
	settings []string
	want     string
}

func testProbation(t *testing.T, table map[string]candidate) {
	for name, c := range table {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, diligent+diligence, append(c.settings, `probation = true`)...)
			good := s.head()
			s.held(good)
			bad := s.main(diligent + c.change + diligence)
			s.start()
			s.await("FAILURE main", "BOOTSTRAPPING main", "SUCCESS main")
			e := s.history()
			if f := last(e, boot.Failure); f.Commit != bad || !strings.Contains(f.Reason, c.want) {
				t.Errorf("%v, want %q", f, c.want)
			}
			if up := last(e, boot.Success); up.Commit != good {
				t.Errorf("%v, not %s", up, good)
			}
			s.until("the host is told", func() bool { return s.told() == boot.FellBack+bad+"\n"+boot.Booted+good+"\n" })
			s.until("the PM is told", func() bool { return len(s.reports(comms.Fallback)) == 1 })
			s.onlyOne()
		})
	}
}

// TestProbationPassed: a program that works through it is started, held from then on, and
// is not tried again, on main neither. The watcher's end in it begins it anew, three times.
func TestProbationPassed(t *testing.T) {
	t.Parallel()
	s := newSite(t, steadily, `probation = true`)
	s.Commit(".gitignore", "*.txt\n")
	s.Commit("probation-2.txt/in/the/way", "x\n")
	if err := os.Symlink("notes.txt", filepath.Join(s.Work, "probation-1.txt")); err != nil {
		t.Fatal(err)
	}
	s.Git("add", "--force", "probation-1.txt")
	s.Git("commit", "--quiet", "--message", "a link in the way")
	s.Git("push", "--quiet", "origin", s.project)
	s.held(s.head())
	s.branch("agent/x", diligent+"signal() { :; }\n"+diligence)
	s.env = []string{failpoint.Var + "=bootstrap/trial=kill"}
	s.start()
	s.await("SUCCESS main")
	s.signal("bootstrap", "agent/x")
	s.killedItself()
	s.env = nil
	s.start()
	s.await("BOOTSTRAPPING agent/x", "SUCCESS agent/x")
	s.signal("bootstrap", "main")
	s.await("SUCCESS agent/x", "BOOTSTRAPPING main", "SUCCESS main")
	now := s.main(diligent + "signal() { :; }\n" + diligence)
	s.endAgent()
	s.awaitLast(boot.Success, now)
	s.until("the host is told", func() bool { return strings.HasSuffix(s.out.String(), boot.Booted+now+"\n") })
	if n := strings.Count(s.read("trials"), "x"); n != 1 {
		t.Errorf("%d probations went on to work", n)
	}
	if slices.Contains(s.events(), "FAILURE agent/x") || !s.missing(".probation") {
		t.Error(s.events())
	}
	s.onlyOne()
}

// TestProbationOfBranch: a hop to what says SUCCESS and cannot work ends on main.
func TestProbationOfBranch(t *testing.T) {
	t.Parallel()
	s := newSite(t, steadily, `probation = true`)
	s.held(s.head())
	tip := s.branch("agent/x", handover)
	s.start()
	s.await("SUCCESS main")
	s.signal("bootstrap", "agent/x")
	s.await("SUCCESS main", "FAILURE agent/x", "BOOTSTRAPPING main", "SUCCESS main")
	if f := last(s.history(), boot.Failure); f.Commit != tip || !strings.Contains(f.Reason, "probation: the branch agent/D-1 does not have what") {
		t.Error(f)
	}
	s.until("the PM is told", func() bool { return len(s.reports(comms.Fallback)) == 1 })
}

// TestProbationAlone: a main that fails, where there is no earlier program, runs all the
// same; the PM is told, and it does not count as one that held.
func TestProbationAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t, steadily+"\n", `probation = true`)
	s.set(`probation_timeout = "1s"`)
	s.start()
	s.await("SUCCESS main")
	s.until("the PM is told", func() bool { return len(s.reports(comms.Guard)) == 1 })
	s.endAgent()
	s.awaitCount("SUCCESS main", 2)
	if raw := s.reports(comms.Guard)[0].Raw; !strings.Contains(raw, "has not passed its probation") || s.told() != "" {
		t.Errorf("%s%s", raw, s.told())
	}
}
