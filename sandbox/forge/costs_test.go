package forge_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/tier"
	"git-ward/protocols/loop"
)

// calls are those of a look.
func (s *scene) calls() (n int) {
	s.T.Helper()
	out := s.once(0)
	if _, err := fmt.Sscanf(out[strings.Index(out, `"calls":`):], `"calls":%d`, &n); err != nil {
		s.T.Fatalf("%v: %s", err, out)
	}
	return n
}

// TestCalls: what a look costs, at rest, at work, and at each step (docs/forge.md).
func TestCalls(t *testing.T) {
	tier.Full(t, "a real Gitea")
	s := newScene(t)
	var u *unit
	var n int64
	last := func() string { list := s.forge.comments(n); return list[len(list)-1].Body }
	for _, step := range []struct {
		name string
		most int
		do   func()
	}{
		{"at rest", 4, func() { s.once(0) }},
		{"an issue is proposed", 9, func() { n = s.forge.issue("greet the user", body) }},
		{"it is approved", 10, func() { s.forge.comment(s.forge.lead, n, approveLine.FindString(last())) }},
		{"a claim becomes a request", 14, func() { u = s.begin("D-1"); u.claims("greet.sh", "echo \"Hello, $1.\"\n") }},
		{"with one issue and one request", 9, func() { s.once(0) }},
		{"a verdict becomes a status", 12, func() { u.verdict(loop.Exact); u.step("LOOP_CONVERGED", uowComplete); u.push() }},
		{"a merge is taken", 7, func() {
			p := s.forge.pulls()[0]
			s.forge.merge(t, p.Number, p.Head.Sha)
		}},
	} {
		step.do()
		if got := s.calls(); got > step.most {
			t.Errorf("%s: a look makes %d calls, more than %d", step.name, got, step.most)
		} else {
			t.Logf("%s: %d calls", step.name, got)
		}
	}
}

// TestPace: a verdict becomes a status long before the next look is due.
func TestPace(t *testing.T) {
	tier.Full(t, "a real Gitea")
	s, _, u := begun(t)
	commit := u.claims("greet.sh", "echo \"Hello, $1.\"\n")
	s.Run(s.Bare, "git-ward", "config", "--bare", s.Bare, "forge.poll=24h")
	stop := s.serves()
	at := time.Now()
	u.verdict(loop.Exact)
	await.True(t, "the status, a day before the next look", func() bool {
		list := s.forge.statuses(commit)
		return len(list) > 0 && list[0].Status == "success"
	})
	t.Logf("from the verdict to the status: %v", time.Since(at).Round(10*time.Millisecond))
	stop()
}
