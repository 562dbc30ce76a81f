package lab

import (
	"bytes"
	"encoding/json"
	"net"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// An actor obeys one order after the other and answers each.
func TestAct(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	there := Attempt{Proto: "tcp", To: netip.MustParseAddr("127.0.0.1"), Port: l.Addr().(*net.TCPAddr).Port}
	var orders, answers bytes.Buffer
	send := json.NewEncoder(&orders)
	send.Encode(Order{Try: []Attempt{there}})
	send.Encode(Order{Run: "echo said; exit 3"})
	if err := Act(&orders, &answers); err != nil {
		t.Fatal(err)
	}
	l.Close()
	orders.Reset()
	send.Encode(Order{Try: []Attempt{there}})
	if err := Act(&orders, &answers); err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(&answers)
	var open, shut []Outcome
	var ran Ran
	for _, into := range []any{&open, &ran, &shut} {
		if err := dec.Decode(into); err != nil {
			t.Fatal(err)
		}
	}
	if len(open) != 1 || open[0].Err != "" || ran != (Ran{"said\n", 3}) || len(shut) != 1 || !strings.Contains(shut[0].Err, "refused") || shut[0].Timeout {
		t.Errorf("open %v, ran %+v, shut %v", open, ran, shut)
	}
	if err := Act(strings.NewReader("no order"), &answers); err == nil {
		t.Error("noise is obeyed")
	}
}

// How an attempt looks in a table, and to a sniffer.
func TestAttemptWords(t *testing.T) {
	for _, c := range []struct {
		a          Attempt
		text, wire string
	}{
		{Attempt{Proto: "tcp", To: netip.MustParseAddr("10.1.2.3"), Port: 80}, "tcp 10.1.2.3 port 80", "tcp 10.1.2.3 80"},
		{Attempt{Proto: "tcp", To: netip.MustParseAddr("::ffff:10.1.2.3"), Port: 80}, "tcp ::ffff:10.1.2.3 port 80", "tcp 10.1.2.3 80"},
		{Attempt{Proto: "udp", To: netip.MustParseAddr("fe80::1%eth0"), Port: 53, Via: "eth0"}, "udp fe80::1%eth0 port 53 by eth0", "udp fe80::1 53"},
		{Attempt{Proto: "icmp", To: netip.MustParseAddr("10.0.0.1"), First: "192.0.2.1"}, "icmp 10.0.0.1 through 192.0.2.1", "icmp 192.0.2.1 0"},
		{Attempt{Proto: "132", To: netip.MustParseAddr("10.0.0.1"), From: "192.0.2.9"}, "132 10.0.0.1 from 192.0.2.9", "protocol 132 10.0.0.1"},
		{Attempt{Proto: "udp", To: netip.MustParseAddr("fd00::1"), Port: 9, First: "2001:db8::5"}, "udp fd00::1 port 9 through 2001:db8::5", "protocol 43 2001:db8::5"},
	} {
		if c.a.String() != c.text || c.a.Wire() != c.wire {
			t.Errorf("%q, %q; want %q, %q", c.a, c.a.Wire(), c.text, c.wire)
		}
	}
}

// A sniffer names packets as attempts do, and leaves out what the kernel sends.
func TestDescribe(t *testing.T) {
	four := func(proto byte, rest ...byte) []byte {
		return append([]byte{0x45, 0, 0, 28, 0, 0, 0, 0, 64, proto, 0, 0, 192, 0, 2, 2, 10, 1, 2, 3}, rest...)
	}
	six := func(proto byte, rest ...byte) []byte {
		p := make([]byte, 40)
		p[0], p[6] = 0x60, proto
		copy(p[24:], netip.MustParseAddr("2001:db8::5").AsSlice())
		return append(p, rest...)
	}
	port := []byte{0, 1, 0, 80, 0, 0, 0, 0}
	for _, c := range []struct {
		packet []byte
		want   string
	}{
		{four(6, port...), "tcp 10.1.2.3 80"},
		{four(17, port...), "udp 10.1.2.3 80"},
		{four(1, port...), "icmp 10.1.2.3 0"},
		{four(41, port...), "protocol 41 10.1.2.3"},
		{four(47, port...), "protocol 47 10.1.2.3"},
		{six(6, port...), "tcp 2001:db8::5 80"},
		{six(58, 128, 0, 0, 0, 0, 0, 0, 0), "icmp 2001:db8::5 0"},
		{six(58, 135, 0, 0, 0, 0, 0, 0, 0), ""}, // neighbour solicitation
		{[]byte("short"), ""},
	} {
		if got := describe(c.packet); got != c.want {
			t.Errorf("%x: %q, want %q", c.packet, got, c.want)
		}
	}
}

// A name has the addresses of its turns, one turn a question, and the last one stays.
func TestNames(t *testing.T) {
	n := &Names{Turns: map[string][]string{"turns.example.com": {"10.1.2.3", "203.0.113.5 fd00::5"}}}
	ask := func(kind dnsmessage.Type) string {
		t.Helper()
		q := dnsmessage.Message{Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName("turns.example.com."), Type: kind, Class: dnsmessage.ClassINET}}}
		data, err := q.Pack()
		if err != nil {
			t.Fatal(err)
		}
		var m dnsmessage.Message
		if err := m.Unpack(n.Answer(data)); err != nil || !m.Response {
			t.Fatal(m, err)
		}
		var all []string
		for _, r := range m.Answers {
			switch b := r.Body.(type) {
			case *dnsmessage.AResource:
				all = append(all, netip.AddrFrom4(b.A).String())
			case *dnsmessage.AAAAResource:
				all = append(all, netip.AddrFrom16(b.AAAA).String())
			}
		}
		return strings.Join(all, " ")
	}
	got := []string{ask(dnsmessage.TypeA), ask(dnsmessage.TypeA), ask(dnsmessage.TypeAAAA), ask(dnsmessage.TypeA)}
	if want := "10.1.2.3|203.0.113.5|fd00::5|203.0.113.5"; strings.Join(got, "|") != want {
		t.Errorf("%q, want %s", got, want)
	}
	if noise := []byte("no question"); !bytes.Equal(n.Answer(noise), noise) {
		t.Error("noise is answered")
	}
}
