package firewall

import (
	"net/netip"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/tier"
	"git-ward/sandbox/lab"
)

// TestQuestionsAreCounted: in whatever way a fence asks for names, a name server gets no more
// questions of an ordinary length than the bounds say, and no more bytes. Without their
// rules it gets many more. It answers none: answers that nobody reads hold a stream back, and
// their acknowledgements are packets of the flood, as many as the machine's speed makes them.
func TestQuestionsAreCounted(t *testing.T) {
	tier.Full(t, "floods of questions, by networks of three namespaces")
	four, six := netip.MustParseAddrPort("203.0.113.53:53"), netip.MustParseAddrPort("[2001:db8:2::5]:53")
	const short, full, padded = NameBytes, 271, 500
	packets, bytes := "packets goto", "bytes/second"
	for _, c := range []struct {
		how     string
		to      netip.AddrPort
		bytes   int
		without []string // the rules that refuse it
	}{
		{"one by one", four, short, []string{packets, bytes}},
		{"one by one", six, short, []string{packets, bytes}},
		{"one by one", four, full, []string{packets, bytes}},
		{"one by one", four, padded, []string{packets, bytes}},
		{"one by one", four, full, []string{bytes}},
		{"a socket each", four, short, []string{packets, bytes}},
		{"sendmmsg", four, short, []string{packets, bytes}},
		{"bundles", four, short, []string{bytes}},
		{"bundles", six, short, []string{bytes}},
		{"bundles", four, full, []string{bytes}},
		{"bundles that one call asks for", four, short, []string{bytes}},
		{"bundles that are not copied", four, short, []string{bytes}},
		{"bundles of two writes", four, short, []string{bytes}},
		{"bundles, a socket each", four, short, []string{bytes}},
		{"bundles as long as one question", four, short, []string{bytes}},
		{"bundles as long as one question", six, short, []string{bytes}},
		{"a stream", four, short, []string{bytes}},
		{"a stream", six, short, []string{bytes}},
		{"a stream of short writes", four, short, []string{bytes}},
		{"streams of some questions", four, short, []string{bytes}},
		{"fast opens", four, short, []string{bytes}},
	} {
		t.Run(c.how, func(t *testing.T) {
			ask := func(without []string) (*lab.Process, lab.Flooded) {
				r := newRouted(t)
				p := openPolicy()
				p.Resolvers, p.Packets = addrs("203.0.113.53", "2001:db8:2::5"), maxPackets
				r.enforce(t, p, without)
				return r.world, r.inside.AskNames(lab.Questions{To: c.to, How: c.how, Bytes: c.bytes, Tries: 20_000})
			}
			world, done := ask(nil)
			got := world.Asked()
			t.Logf("%d bytes each: %d sent and %d refused in %d ms: %+v came", c.bytes, done.Sent, done.Refused, done.Took.Milliseconds(), got)
			most := NameBurst + int(NameRate*(done.Took.Seconds()+1))
			if got.Questions > most || got.Bytes > most*NameBytes {
				t.Errorf("more than %d questions, or than as many of %d bytes", most, NameBytes)
			}
			world, _ = ask(c.without)
			more := func() bool {
				otherwise := world.Asked()
				return otherwise.Questions > 2*most || otherwise.Bytes > 2*most*NameBytes
			}
			await.True(t, "without the rules many more come", func() bool {
				if !more() { // a flood that the kernel dropped on a busy machine comes again
					world, _ = ask(c.without)
				}
				return more()
			})
			t.Logf("without %q: %+v", c.without, world.Asked())
		})
	}
}

// TestBytesAreCounted: bundles, of which each is one packet to the rules, bring no more bytes
// than [egress] packets of them could by themselves.
func TestBytesAreCounted(t *testing.T) {
	tier.Full(t, "floods of bundles, by networks of three namespaces")
	const each, tries, packets = 900, 20_000, 1000
	for _, to := range []string{"203.0.113.5:4444", "[2001:db8:2::5]:4444"} {
		send := func(without []string) (came int, done lab.Flooded) {
			r := newRouted(t)
			p := openPolicy()
			p.Packets = packets
			r.enforce(t, p, without)
			before := r.arrivedBytes(t)
			done = r.inside.AskNames(lab.Questions{To: netip.MustParseAddrPort(to), How: "bundles", Bytes: each, Tries: tries})
			return r.arrivedBytes(t) - before, done
		}
		got, done := send(nil)
		most := longestPacket + int(packets*wholePacket*(done.Took.Seconds()+2))
		t.Logf("%s: %d sent and %d refused in %d ms: %d bytes came, %d at most", to, done.Sent, done.Refused, done.Took.Milliseconds(), got, most)
		if got > most {
			t.Errorf("%d bytes came", got)
		}
		if otherwise, _ := send([]string{"bytes drop"}); otherwise < tries*each/2 {
			t.Errorf("without the rule %d bytes: the attack proves nothing", otherwise)
		}
	}
}
