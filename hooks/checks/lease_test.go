package checks_test

import (
	"testing"
	"time"

	"git-ward/hooks/checks"
	"git-ward/hooks/leases"
	"git-ward/hooks/push"
	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/protocols/lease"
)

// fixtureLease is the id of every lease of a fixture's but another's.
var fixtureLease = [lease.IDBytes]byte{1}

// leases has the push judged by the leases of the server as they are then.
func (s *server) leases(f *fixture, p *checks.Push) {
	if f.worker != "" {
		p.Lease = push.Lease{Directive: f.worker, ID: lease.New(f.worker, fixtureLease, "", "", s.time, 0).ID}
	}
	batch := git.Open(s.dir).Batch(s.t.Context())
	s.t.Cleanup(func() { batch.Close() })
	p.Leases = func(directive string) (leases.Standing, error) { return leases.Read(batch, directive, time.Now()) }
}

// lease gives a directive a lease.
func (s *server) lease(directive, is string) {
	id, taken := fixtureLease, time.Now()
	switch is {
	case "ended":
		taken = taken.Add(-lease.DefaultTerm - time.Second)
	case "free":
		taken = taken.Add(-lease.DefaultTerm - lease.Grace)
	case "ahead":
		taken = taken.Add(lease.MaxSkew + time.Minute)
	case "other":
		id = [lease.IDBytes]byte{2}
	case "broken":
		s.setRef(lease.Ref(directive), s.write("blob", []byte("{}\n")))
		return
	case "commit":
		s.setRef(lease.Ref(directive), s.id("main"))
		return
	}
	data, err := lease.New(directive, id, "alpha.1", "process", taken, lease.DefaultTerm).Format()
	s.must(err)
	s.setRef(lease.Ref(directive), s.write("blob", data))
}

// TestLeaseWhileJudged: what a lease says is asked anew each time, since the answer of a
// minute ago says nothing.
func TestLeaseWhileJudged(t *testing.T) {
	s := newServer(t)
	p := &checks.Push{Principal: push.Agent, Config: config.Default(), Updates: []push.Update{{Ref: "refs/ward/uow/D-3.1", Old: git.Zero, New: git.Zero[1:] + "1"}}}
	s.leases(&fixture{worker: "D-3"}, p)
	for _, c := range []struct{ is, want string }{
		{"live", ""}, {"other", "lease/lost"}, {"live", ""}, {"ended", "lease/lost"}, {"ahead", "lease/lost"}, {"broken", "lease/lost"}, {"live", ""},
	} {
		s.lease("D-3", c.is)
		found, err := p.Leased()
		got := ""
		if len(found) > 0 {
			got = found[0].Rule
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %q, not %q (%v)", c.is, got, c.want, err)
		}
	}
}
