package door

import (
	"strings"
	"testing"
)

// The door's word stands between two packets however git's answer comes in pieces, once,
// and only where the client has side bands.
func TestWordBetweenPackets(t *testing.T) {
	list := string(packet("0123 refs/heads/main\x00report-status")) + "0000"
	banded := string(packet("\x02one\n"))
	report := string(packet("\x01000dunpack no0000"))
	plain := string(packet("unpack no\n"))
	word := string(packet("\x02why\n"))
	for name, c := range map[string]struct{ git, client string }{
		"side bands":              {list + banded + report + "0000", list + word + banded + report + "0000"},
		"none":                    {list + plain + "0000", list + plain + "0000"},
		"the list alone":          {list, list},
		"a packet of nothing":     {list + "0004" + report, list + "0004" + word + report},
		"cut in a packet":         {list + report[:9], list + word + report[:9]},
		"no packets at all":       {"fatal: what is this", "fatal: what is this"},
		"a length that is none":   {list + "0003" + report, list + "0003" + report},
		"a band before the flush": {banded + list + report, banded + list + word + report},
	} {
		for piece := 1; piece <= len(c.git); piece++ {
			w := &words{why: func() string { return "why" }}
			var got strings.Builder
			for rest := c.git; rest != ""; {
				n := min(piece, len(rest))
				got.Write(w.pass([]byte(rest[:n])))
				rest = rest[n:]
			}
			if got.String() != c.client {
				t.Errorf("%s, by %d: %q, want %q", name, piece, got.String(), c.client)
			}
		}
	}
	quiet := &words{why: func() string { return "" }}
	if got := string(quiet.pass([]byte(list + report))); got != list+report {
		t.Errorf("nothing to say: %q", got)
	}
}
