package hooks_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/failpoint"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	door "git-ward/internal/token"
	"git-ward/protocols/lease"
)

// leased is a guarded repository with the directives D-3 and D-7, whose leases a test moves as
// a launcher does.
type leased struct{ *gittest.Pair }

func newLeased(t *testing.T) leased {
	p := newPair(t)
	p.Commit("COMMS.md", "# COMMS\n\n## Directives\n\n### D-3: greet\n\nSay hello.\n\n- [ ] it greets (`test -f hello`)\n\n### D-7: part\n\nSay goodbye.\n\n"+
		"- [ ] it parts (`test -f bye`)\n\n## Reports\n")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(out)
	}
	p.Commit("hello", "hello\n")
	return leased{p}
}

// take gives a directive to a worker, whoever has it.
func (p leased) take(directive string, at time.Time) lease.Lease {
	p.T.Helper()
	var id [lease.IDBytes]byte
	rand.Read(id[:])
	l := lease.New(directive, id, "alpha.1", "process", at, lease.DefaultTerm)
	data, err := l.Format()
	if err != nil {
		p.T.Fatal(err)
	}
	blob, err := p.Try(p.Bare, nil, string(data), "git", "hash-object", "-w", "--stdin")
	if err != nil {
		p.T.Fatal(blob)
	}
	p.Run(p.Bare, "git", "update-ref", lease.Ref(directive), strings.TrimSpace(blob))
	return l
}

// door is the environment that the door of a worker gives receive-pack.
func (p leased) door(name string) []string {
	p.T.Helper()
	key, err := os.ReadFile(filepath.Join(p.Bare, door.KeyFile))
	if err != nil {
		p.T.Fatal(err)
	}
	return door.Environ(key, door.NewID(time.Now()), "agent", name)
}

// flood pushes a commit of 120 kB that nobody has.
func (p leased) flood(l lease.Lease, refspec string) (string, error) {
	noise := make([]byte, 60_000)
	rand.Read(noise)
	p.Git("checkout", "--quiet", "--detach", "main")
	p.Commit("noise", fmt.Sprintf("%x", noise))
	return p.push(l, refspec)
}

// push pushes as a worker.
func (p leased) push(l lease.Lease, args ...string) (string, error) {
	p.T.Helper()
	return p.Try(p.Work, p.door(l.Name()), "", "git", append([]string{"push", "origin"}, args...)...)
}

// refuses fails the test unless the push was refused by a rule.
func (p leased) refuses(rule string) func(out string, err error) {
	return func(out string, err error) {
		p.T.Helper()
		if err == nil || !strings.Contains(out, rule) {
			p.T.Errorf("it is not refused by %s: %v\n%s", rule, err, out)
		}
	}
}

func (p leased) accepts(out string, err error) {
	p.T.Helper()
	if err != nil {
		p.T.Errorf("%v\n%s", err, out)
	}
}

func (p leased) refs() string {
	p.T.Helper()
	return p.Run(p.Bare, "git", "for-each-ref", "refs/heads", "refs/ward/uow", "refs/ward/record", lease.Prefix)
}

// TestWorkersKeepApart: what one worker, who has its own door, tries against the others
// (MANY-2).
func TestWorkersKeepApart(t *testing.T) {
	t.Parallel()
	p := newLeased(t)
	three, seven := p.take("D-3", time.Now()), p.take("D-7", time.Now())
	p.accepts(p.push(three, "HEAD:refs/heads/agent/D-3"))
	p.accepts(p.push(seven, "HEAD:refs/heads/agent/D-7"))
	before := p.refs()
	for _, refspecs := range [][]string{
		{"HEAD:refs/heads/agent/D-7-more"},
		{"--delete", "agent/D-7"},
		{"--force", "origin/main:refs/heads/agent/D-7"},
		{"--atomic", "HEAD:refs/heads/agent/D-3-more", ":refs/heads/agent/D-7"},
		{"HEAD:refs/heads/agent/D-3-more", "HEAD:refs/heads/agent/topic"},
		{"HEAD:refs/ward/record/D-7.1"},
		{"HEAD:refs/ward/uow/D-7.1"},
	} {
		out, err := p.push(three, refspecs...)
		p.refuses("lease/other")(out, err)
	}
	for _, ref := range []string{lease.Ref("D-3"), lease.Ref("D-9"), lease.Prefix + "D-3/x", "refs/ward/folded/D-3.1"} {
		if out, err := p.push(three, "HEAD:"+ref); err == nil || !strings.Contains(out, "hidden ref") && !strings.Contains(out, "ref/host-only") {
			t.Errorf("%s: %v\n%s", ref, err, out)
		}
		if out, err := p.Push("HEAD:" + ref); err == nil {
			t.Errorf("the PM moves %s\n%s", ref, out)
		}
	}
	p.refuses("lease/held")(p.AgentPush("HEAD:refs/heads/agent/D-3-more"))
	forged := append(p.door(three.Name()), door.NameVar+"="+seven.Name())
	p.refuses("the push token is wrong")(p.Try(p.Work, forged, "", "git", "push", "origin", "HEAD:refs/heads/agent/D-7-more"))
	older := three
	older.ID = "00000000deadbeef"
	p.refuses("lease/lost")(p.push(older, "HEAD:refs/heads/agent/D-3-more"))
	if after := p.refs(); after != before {
		t.Errorf("something moved:\n%s\nwas\n%s", after, before)
	}

	// The PM is nobody's worker, and the audit says who was who.
	p.accepts(p.Push("HEAD:refs/heads/agent/D-3"))
	if out := p.Run(p.Bare, "git-ward", "log"); !strings.Contains(out, "agent:D-3") || !strings.Contains(out, "agent:D-7") {
		t.Error(out)
	}
	p.take("D-3", time.Now().Add(-lease.DefaultTerm)) // ended
	p.refuses("lease/lost")(p.push(three, "HEAD:refs/heads/agent/D-3-more"))
	p.Fsck()
}

// TestRevoked: a revoked lease is the end of its worker's pushes, and the list says who has
// what.
func TestRevoked(t *testing.T) {
	t.Parallel()
	p := newLeased(t)
	l := p.take("D-3", time.Now())
	p.take("D-7", time.Now().Add(-time.Hour))
	var listed struct {
		Leases []struct{ Directive, State, Holder string }
	}
	out := p.Run(p.Bare, "git-ward", "lease", "--json")
	if err := json.Unmarshal([]byte(out), &listed); err != nil || fmt.Sprint(listed.Leases) != "[{D-3 live alpha.1} {D-7 free alpha.1}]" {
		t.Error(err, out)
	}
	if out := p.Run(p.Bare, "git-ward", "lease", "--revoke", "D-3"); !strings.Contains(out, "revoked the lease of D-3: alpha.1 had it") {
		t.Error(out)
	}
	p.refuses("lease/lost")(p.push(l, "HEAD:refs/heads/agent/D-3"))
	p.accepts(p.AgentPush("HEAD:refs/heads/agent/D-3"))
	if out, err := p.Try(p.Bare, nil, "", "git-ward", "lease", "--revoke", "D-3"); err == nil || !strings.Contains(out, "there is no lease of D-3") {
		t.Error(err, out)
	}
	if out, err := p.Try(p.Work, nil, "", "git-ward", "lease", "--revoke", "D-7"); err == nil || !strings.Contains(out, "on the host") {
		t.Error(err, out)
	}
	p.Fsck()
}

// TestBrokenLeases: fsck names what nobody can work by, and revoke mends it.
func TestBrokenLeases(t *testing.T) {
	t.Parallel()
	p := newLeased(t)
	p.take("D-3", time.Now().Add(2*time.Hour))
	p.take("D-8", time.Now())
	p.Run(p.Bare, "git", "update-ref", lease.Ref("D-7"), "refs/heads/main")
	fsckFinds(p.Pair, "the lease of D-3 was taken at", "the lease of D-7 cannot be read", "D-8, and there is no such directive", "git ward lease --revoke D-3")
	p.refuses("lease/held")(p.AgentPush("HEAD:refs/heads/agent/D-3", "HEAD:refs/heads/agent/D-7"))
	for _, directive := range []string{"D-3", "D-7", "D-8"} {
		p.Run(p.Bare, "git-ward", "lease", "--revoke", directive)
	}
	p.accepts(p.AgentPush("HEAD:refs/heads/agent/D-3", "HEAD:refs/heads/agent/D-7"))
	p.Fsck()
}

// TestLeaseMovesWhileJudged: a lease that goes, or comes, after a push was judged and before
// its refs move decides all the same. A hook of the host's, which runs in between, does it.
func TestLeaseMovesWhileJudged(t *testing.T) {
	tier.Full(t, "four repositories; TestRevokedMeanwhile tries the revocation at each point")
	t.Parallel()
	for name, c := range map[string]struct {
		worker bool   // pushes by the lease that is there before; else an agent without one
		script string // what the host does meanwhile
		want   string
	}{
		"revoked":      {true, "git update-ref -d refs/ward/lease/D-3", "lease/lost"},
		"taken over":   {true, "git update-ref refs/ward/lease/D-3 $(cat other)", "lease/lost"},
		"taken anew":   {false, "git update-ref refs/ward/lease/D-3 $(cat other)", "lease/held"},
		"of another's": {true, "git update-ref -d refs/ward/lease/D-7", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newLeased(t)
			p.take("D-7", time.Now())
			p.take("D-3", time.Now())
			other := p.Run(p.Bare, "git", "rev-parse", lease.Ref("D-3"))
			if err := os.WriteFile(filepath.Join(p.Bare, "other"), []byte(other), 0o600); err != nil {
				t.Fatal(err)
			}
			l := p.take("D-3", time.Now())
			if !c.worker {
				p.Run(p.Bare, "git", "update-ref", "-d", lease.Ref("D-3"))
			}
			chained(p.Pair, "pre-receive", "unset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES\n"+c.script+"\n")
			push := p.AgentPush
			if c.worker {
				push = func(refspecs ...string) (string, error) { return p.push(l, refspecs...) }
			}
			out, err := push("HEAD:refs/heads/agent/D-3")
			if err := os.Remove(filepath.Join(p.Bare, "hooks.chained", "pre-receive")); err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				p.accepts(out, err)
			} else {
				p.refuses(c.want)(out, err)
				if refs := p.refs(); strings.Contains(refs, "agent/D-3") {
					t.Error(refs)
				}
				if out := p.Run(p.Bare, "git-ward", "log", "--refused"); !strings.Contains(out, c.want) {
					t.Error(out)
				}
			}
			p.Fsck()
		})
	}
}

// TestRevokedMeanwhile: a lease that is revoked while its worker's push is at one of its
// points: before its admission the push moves nothing; after it, the revocation waits.
func TestRevokedMeanwhile(t *testing.T) {
	t.Parallel()
	p := newLeased(t)
	for point, enters := range map[string]bool{"receive/arrived": false, "receive/judged": false, "receive/admitted": false, "git": true} {
		l, held, waits := p.take("D-3", time.Now()), filepath.Join(t.TempDir(), "held"), filepath.Join(t.TempDir(), "waits")
		if point == "git" { // it has admitted the push, and moves the ref
			hook := filepath.Join(p.Bare, "hooks/reference-transaction")
			gittest.Program(t, hook, "#!/bin/sh\ngrep -q agent/D-3-git || exit 0\ntest -e "+held+".was || touch "+held+" "+held+".was\nuntil [ ! -e "+held+" ]; do sleep 0.01; done\n")
		}
		branch := "refs/heads/agent/D-3-" + filepath.Base(point)
		pushed := make(chan error, 1)
		go func() {
			env := append(p.door(l.Name()), failpoint.Var+"="+point+"=hold:"+held)
			out, err := p.Try(p.Work, env, "", "git", "push", "origin", "HEAD:"+branch)
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			pushed <- err
		}()
		await.True(t, "the push is held at "+point, stands(held))
		revoked := make(chan string, 1)
		go func() {
			out, err := p.Try(p.Bare, []string{failpoint.Var + "=leases/waits#2=hold:" + waits}, "", "git-ward", "lease", "--revoke", "D-3")
			revoked <- fmt.Sprint(err, out)
		}()
		await.True(t, "the revocation ends, or waits for the push", func() bool { return stands(waits)() || len(revoked) > 0 })
		if admitted := point == "receive/admitted" || point == "git"; stands(waits)() != admitted {
			t.Errorf("%s: it waits: %v", point, !admitted)
		}
		os.Remove(held)
		if err := await.Value(t, "the push ends", pushed); (err == nil) != enters {
			t.Errorf("%s: %v", point, err)
		}
		os.Remove(waits)
		if out := await.Value(t, "the revocation ends", revoked); !strings.Contains(out, "revoked the lease of D-3") {
			t.Errorf("%s: %s", point, out)
		}
		if there := strings.Contains(p.refs(), branch); there != enters {
			t.Errorf("%s: the ref is there: %v", point, there)
		}
	}
	os.Remove(filepath.Join(p.Bare, "hooks/reference-transaction"))
	p.Fsck()
}

// TestRevokeRace: whenever a lease is revoked, what its worker pushes at the same time has
// moved its ref by then, or does not.
func TestRevokeRace(t *testing.T) {
	tier.Full(t, "pushes and revocations that meet at random moments; TestRevokedMeanwhile tries each point")
	p := newLeased(t)
	random := mathrand.New(mathrand.NewPCG(tier.Seed(t), 0))
	const rounds, pushers = 8, 3
	enter := 0
	for round := range rounds {
		l := p.take("D-3", time.Now())
		var done sync.WaitGroup
		for i := range pushers {
			cmd := p.Command(p.Work, p.door(l.Name()), "git", "push", "--quiet", "--force", "origin", fmt.Sprintf("HEAD:refs/heads/agent/D-3-%d-%d", round, i))
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			done.Add(1)
			go func() { defer done.Done(); await.Exit(t, cmd) }()
		}
		time.Sleep(time.Duration(random.IntN(160)) * time.Millisecond) // any moment of the pushes: that is the test
		p.Run(p.Bare, "git-ward", "lease", "--revoke", "D-3")
		at := p.refs()
		done.Wait()
		if after := p.refs(); after != at {
			t.Errorf("round %d: a ref moved after the revocation:\n%s\nwas\n%s", round, after, at)
		}
		enter += strings.Count(at, fmt.Sprintf("D-3-%d-", round))
		if refs := strings.Fields(p.Run(p.Bare, "git", "for-each-ref", "--format=%(refname)", "refs/heads/agent")); len(refs) > 0 {
			p.Run(p.Work, "git", append([]string{"push", "--quiet", "origin", "--delete"}, refs...)...)
		}
	}
	t.Logf("%d of %d pushes entered before their lease was revoked", enter, rounds*pushers)
	p.Fsck()
}

// TestShareOfTheRoom: a worker that floods the host takes nothing of the other's room; one
// that is alone has all of it.
func TestShareOfTheRoom(t *testing.T) {
	tier.Full(t, "a worker floods the room of another")
	t.Parallel()
	p := newLeased(t)
	limitTo(p.Pair, "agent_objects", "600_000")
	three := p.take("D-3", time.Now())
	flood := func(l lease.Lease, ref string) (string, error) { return p.flood(l, "HEAD:"+ref) }
	p.accepts(flood(three, "refs/heads/agent/D-3-0"))
	seven := p.take("D-7", time.Now())
	out, err, n := "", error(nil), 1
	for ; err == nil && n < 9; n++ {
		out, err = flood(three, fmt.Sprintf("refs/heads/agent/D-3-%d", n))
	}
	p.refuses("its part among 2 workers")(out, err)
	p.refuses("its part among 2 workers")(flood(three, "refs/heads/rescue/D-3-one"))
	p.accepts(flood(seven, "refs/heads/agent/D-7"))
	p.accepts(p.push(three, "--delete", "agent/D-3-0"))
	p.Run(p.Bare, "git-ward", "lease", "--revoke", "D-7")
	p.accepts(flood(three, "refs/heads/agent/D-3-9"))
	p.Fsck()
}

// TestShareOfWhatIsGone: what a worker brought and leads to no more, because it rewrites one
// branch again and again, is of its part until maintenance has freed it.
func TestShareOfWhatIsGone(t *testing.T) {
	tier.Full(t, "a worker floods the room of another")
	t.Parallel()
	p := newLeased(t)
	limitTo(p.Pair, "agent_objects", "600_000")
	three := p.take("D-3", time.Now())
	p.take("D-7", time.Now())
	rewrite := func() (string, error) { return p.flood(three, "+HEAD:refs/heads/agent/D-3") }
	out, err := "", error(nil)
	for n := 0; err == nil && n < 9; n++ {
		out, err = rewrite()
	}
	p.refuses("its part among 2 workers")(out, err)
	p.Run(p.Bare, "git-ward", "maintain", "--reclaim")
	p.accepts(rewrite())
	p.Fsck()
}
