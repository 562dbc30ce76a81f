package sandbox

import (
	"net/netip"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/tier"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/lab"
)

// TestQuestionsFromAContainer: whoever floods the host's name server from inside `git ward
// launch`, in whatever way, gets no more questions through than the bounds say; the same
// container, its rules taken away, gets many more through (SBX-2).
func TestQuestionsFromAContainer(t *testing.T) {
	tier.Full(t, "it launches containers")
	m := newMachine(t)
	p := m.probe(t)
	p.Run("true") // the launcher has asked what it asks name servers
	const each = 36
	ask := func(how string) (came func() lab.Asked, most int) {
		before := m.world.Asked()
		done := p.AskNames(lab.Questions{To: netip.MustParseAddrPort(resolver + ":53"), How: how, Bytes: each, Tries: 20_000})
		t.Logf("%s: %d sent and %d refused", how, done.Sent, done.Refused)
		return func() lab.Asked {
			now := m.world.Asked()
			return lab.Asked{Questions: now.Questions - before.Questions, Bytes: now.Bytes - before.Bytes}
		}, firewall.NameBurst + int(firewall.NameRate*(done.Took.Seconds()+1))
	}
	ways := []string{"one by one", "sendmmsg", "bundles", "bundles as long as one question", "a stream", "streams of some questions"}
	for _, how := range ways {
		if came, most := ask(how); came().Questions > most || came().Bytes > most*each {
			t.Errorf("%s: %+v came, more than %d questions, or than as many of %d bytes", how, came(), most, each)
		}
	}
	m.withoutRules(t)
	for _, how := range ways {
		came, most := ask(how)
		await.True(t, how+": without rules many more come", func() bool { return came().Questions > 2*most })
	}
}
