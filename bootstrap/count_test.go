package bootstrap_test

import (
	"strconv"
	"strings"
	"testing"

	"git-ward/internal/failpoint"
	"git-ward/protocols/boot"
)

// told is what the watchers have told the host, but for what there is to count.
func (s *site) told() string {
	var told []string
	for line := range strings.Lines(s.out.String()) {
		if !strings.HasPrefix(line, boot.Counts) {
			told = append(told, line)
		}
	}
	return strings.Join(told, "")
}

// counted writes down what the host would have counted by now of D-1's workers.
func (s *site) counted() {
	s.T.Helper()
	n, commit := map[string]int{}, map[string]string{}
	for line := range strings.Lines(s.out.String()) {
		said, is := strings.CutPrefix(line, boot.Counts)
		if !is {
			continue
		}
		c, err := boot.ParseCount(strings.TrimSuffix(said, "\n"))
		if err != nil {
			s.T.Fatal(err)
		}
		n[c.Of] += c.By
		commit[c.Of] = c.Commit
	}
	for _, of := range []string{boot.Deaths, boot.Trials, boot.Hops} {
		prefix := boot.CountPrefix(of, "D-1")
		for _, ref := range strings.Fields(s.Run(s.Bare, "git", "for-each-ref", "--format=%(refname)", prefix)) {
			s.Run(s.Bare, "git", "update-ref", "-d", ref)
		}
		for i := range n[of] {
			s.Run(s.Bare, "git", "update-ref", boot.CountRef(prefix, i+1), commit[of])
		}
	}
}

// killedIn starts watchers in containers of their own, one after the other, each of which is killed at
// a point.
func (s *site) killedIn(containers int, point string) {
	s.T.Helper()
	s.env = []string{failpoint.Var + "=" + point + "=kill"}
	for n := range containers {
		s.state += strconv.Itoa(n)
		s.start("--directive", "D-1")
		s.killedItself()
		s.endLeftovers()
		s.counted()
	}
	s.env = nil
	s.state += "-last"
}

// TestDiesInEachContainer: a container that ends begins no count of deaths anew: the third death of
// main's program is the last one, whichever containers it had the others in.
func TestDiesInEachContainer(t *testing.T) {
	t.Parallel()
	s := newSite(t, steadily, `check = "10m"`)
	first := s.head()
	s.held(s.main(dies), first)
	s.killedIn(2, "bootstrap/booted#2")
	s.start("--directive", "D-1")
	s.awaitLast(boot.Success, first)
	if n := s.runs(dies); n != 1 {
		t.Errorf("it died %d times more: %v", n, s.history())
	}
	s.counted()
	if left := s.Run(s.Bare, "git", "for-each-ref", boot.CountPrefix(boot.Deaths, "")); left != "" {
		t.Errorf("what gave way is counted still:\n%s", left)
	}
}

// TestDiesInItsTurnForAll: an earlier program that gave way in its turn has one try more in each later
// container, which does not know of it, and not three.
func TestDiesInItsTurnForAll(t *testing.T) {
	t.Parallel()
	s := newSite(t, steadily, `check = "10m"`)
	first := s.head()
	second := s.main(dies + "# second\n")
	last := s.main(dies)
	s.held(second, first)
	s.Run(s.Bare, "git", "update-ref", boot.Fallen, last)
	s.start("--directive", "D-1")
	s.awaitLast(boot.Success, first)
	s.kill()
	s.endLeftovers()
	s.counted()
	s.state += "-next"
	s.start("--directive", "D-1")
	s.awaitLast(boot.Success, first)
	if n := s.runs(dies + "# second\n"); n != 1 {
		t.Errorf("it died %d times more: %v", n, s.history())
	}
}

// TestProbationInEachContainer: a program in whose probation container after container ends has not
// passed it.
func TestProbationInEachContainer(t *testing.T) {
	t.Parallel()
	s := newSite(t, diligent+diligence, `probation = true`)
	good := s.head()
	s.held(good)
	bad := s.main(diligent + "# it ends its container\n" + diligence)
	s.killedIn(3, "bootstrap/trial")
	s.start("--directive", "D-1")
	s.awaitLast(boot.Success, good)
	if f := last(s.history(), boot.Failure); f.Commit != bad || !strings.Contains(f.Reason, "probation: the watcher ended 3 times while it ran") {
		t.Errorf("%v", f)
	}
	s.counted()
	if left := s.Run(s.Bare, "git", "for-each-ref", boot.Prefix+boot.Trials); left != "" {
		t.Errorf("its trials are counted still:\n%s", left)
	}
}

// asks is an agent that asks for a branch until its start has failed.
const asks = library + "ok\ngrep -q FAILURE \"$WARD_BOOT_LOG\" && while :; do sleep 0.1 9>&-; done\nsignal bootstrap agent/x\n"

// TestHopInEachContainer: a branch whose start ends container after container is not tried for ever,
// though each new one's agent asks for it.
func TestHopInEachContainer(t *testing.T) {
	t.Parallel()
	s := newSite(t, asks, `check = "10m"`)
	main := s.head()
	bad := s.branch("agent/x", handover)
	s.killedIn(3, "bootstrap/prepared#2")
	s.start("--directive", "D-1")
	s.until("main runs again", func() bool { return len(s.history()) == 5 })
	if f := last(s.history(), boot.Failure); f.Branch != "agent/x" || !strings.Contains(f.Reason, "the watcher ended 3 times while it prepared this") {
		t.Errorf("%v of %s, not of %s; main is %s", f, f.Commit, bad, main)
	}
	s.counted()
	if left := s.Run(s.Bare, "git", "for-each-ref", boot.Prefix+boot.Hops); left != "" {
		t.Errorf("its attempts are counted still:\n%s", left)
	}
}

// TestHopForgottenUncounted: a hop that fails before its attempt is counted ends the count of containers
// before all the same.
func TestHopForgottenUncounted(t *testing.T) {
	t.Parallel()
	s := newSite(t, steadily)
	tree := strings.Repeat("1", 40) // which the repository does not have
	broken := strings.TrimSpace(s.Run(s.Bare, "sh", "-c", "git cat-file commit "+s.head()+" | sed '1s/.*/tree "+tree+"/' | git hash-object -t commit -w --stdin"))
	s.Run(s.Bare, "git", "update-ref", "refs/heads/agent/x", broken)
	s.start("--directive", "D-1")
	s.await("BOOTSTRAPPING main", "SUCCESS main")
	s.signal("bootstrap", "agent/x")
	want := boot.Counts + boot.Count{Of: boot.Hops, By: -boot.MaxCount, Commit: broken}.String() + "\n"
	s.until("the hop has failed", func() bool { return last(s.history(), boot.Failure).Branch == "agent/x" })
	s.until("its count is forgotten", func() bool { return strings.Contains(s.out.String(), want) })
}
