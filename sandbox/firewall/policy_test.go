package firewall

import (
	"encoding/json"
	"net/netip"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"git-ward/sandbox/lab"
)

func TestReservedPrefixes(t *testing.T) {
	var all []netip.Prefix
	for _, r := range reservedPrefixes {
		all = append(all, r.prefix)
		if r.why == "" {
			t.Errorf("%v has no reason", r.prefix)
		}
	}
	mapped := netip.MustParsePrefix("::ffff:0:0/96")
	all = slices.DeleteFunc(all, func(p netip.Prefix) bool { return p == mapped }) // it would become 0.0.0.0/0
	if merged := merge(all); !slices.Equal(all, merged) {
		t.Errorf("not disjoint and in order:\n%v\n%v", all, merged)
	}
}

func TestMerge(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"", ""},
		{"10.1.2.3/8 10.0.0.0/8", "10.0.0.0/8"},
		{"10.1.0.0/16 10.0.0.0/8 10.1.2.3/32", "10.0.0.0/8"},
		{"9.0.0.1/32 9.0.0.0/32", "9.0.0.0/32 9.0.0.1/32"},
		{"fd00::/64 10.0.0.0/8 fd00::/16", "10.0.0.0/8 fd00::/16"},
		{"::ffff:10.0.0.0/104", "10.0.0.0/8"},
		{"::/0 10.0.0.0/8", "10.0.0.0/8 ::/0"},
	} {
		if got := merge(prefixes(strings.Fields(test.in)...)); !slices.Equal(got, prefixes(strings.Fields(test.want)...)) {
			t.Errorf("%s: %v, want %s", test.in, got, test.want)
		}
	}
}

func TestValidate(t *testing.T) {
	with := func(change func(*Policy)) Policy {
		p := openPolicy()
		change(&p)
		return p
	}
	for why, p := range map[string]Policy{
		"no mode":         {},
		"unknown mode":    {Mode: "open"},
		"empty resolver":  with(func(p *Policy) { p.Resolvers = []netip.Addr{{}} }),
		"no resolver":     with(func(p *Policy) { p.Resolvers = addrs("0.0.0.0") }),
		"many resolvers":  with(func(p *Policy) { p.Resolvers = addrs("ff02::fb") }),
		"empty address":   with(func(p *Policy) { p.HostAddrs = []netip.Addr{{}} }),
		"empty route":     with(func(p *Policy) { p.HostRoutes = []netip.Prefix{{}} }),
		"default route":   with(func(p *Policy) { p.HostRoutes = prefixes("0.0.0.0/0") }),
		"default route 6": with(func(p *Policy) { p.HostRoutes = prefixes("::/0") }),
		"mapped default":  with(func(p *Policy) { p.HostRoutes = prefixes("::ffff:0.0.0.0/96") }),
		"refuse all":      with(func(p *Policy) { p.Refuse = prefixes("::/0") }),
		"no translator":   with(func(p *Policy) { p.Translators = prefixes("2001:db8::/49") }),
		"old translator":  with(func(p *Policy) { p.Translators = prefixes("10.0.0.0/32") }),
		"no connections":  with(func(p *Policy) { p.Connections = 0 }),
		"no packets":      with(func(p *Policy) { p.Packets = 0 }),
		"many packets":    with(func(p *Policy) { p.Packets = maxPackets + 1 }),
	} {
		if err := p.Validate(); err == nil {
			t.Errorf("%s is accepted", why)
		}
		if _, err := Text(p); err == nil {
			t.Errorf("%s: there is a text", why)
		}
	}
}

func TestTextIsDeterministic(t *testing.T) {
	p := public()
	first, err := Text(p)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(p.Resolvers)
	slices.Reverse(p.HostAddrs)
	slices.Reverse(p.HostRoutes)
	slices.Reverse(p.Refuse)
	slices.Reverse(p.Translators)
	second, err := Text(p)
	if err != nil {
		t.Fatal(err)
	}
	if first != second {
		t.Errorf("another order, another text:\n%s\n%s", first, second)
	}
	t.Log(first)
}

func TestPolicyIsJSON(t *testing.T) {
	data, err := json.Marshal(public())
	if err != nil {
		t.Fatal(err)
	}
	var p Policy
	if err := json.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(p, public()) {
		t.Errorf("%s became %+v", data, p)
	}
}

// The facts of a namespace that has one of each.
func TestHostFacts(t *testing.T) {
	needRoot(t)
	host := lab.Start(t, "host", syscall.CLONE_NEWNET)
	host.Sh(`
		ip link set lo up
		ip link add v0 type veth peer name v1
		ip link set v0 up
		ip link set v1 up
		ip addr add 192.0.2.2/24 dev v0
		ip addr add 192.0.2.9 peer 198.51.100.1 dev v0
		ip addr add 2001:db8::2/64 dev v0 nodad
		ip route add default via 192.0.2.1
		ip route add default via 192.0.2.1 table 52
		ip route add 0.0.0.0/1 via 192.0.2.1
		ip route add 128.0.0.0/1 via 192.0.2.1
		ip route add 203.0.113.0/25 via 192.0.2.1
		ip route add 203.0.113.128/25 via 192.0.2.1 table 52
		ip route add unreachable 198.51.100.128/25
		ip route add local 9.9.9.0/24 dev lo
		ip route add default via 2001:db8::1
		ip route add 2000::/3 via 2001:db8::1
		ip route add 2001:db8:5::/48 via 2001:db8::1 table 7
	`)
	var got Policy
	host.Ask("facts", &got)
	for _, want := range addrs("192.0.2.2", "192.0.2.9", "198.51.100.1", "2001:db8::2", "127.0.0.1", "::1") {
		if !slices.Contains(got.HostAddrs, want) {
			t.Errorf("address %v is missing", want)
		}
	}
	for _, want := range prefixes("192.0.2.0/24", "203.0.113.0/25", "203.0.113.128/25", "198.51.100.128/25", "9.9.9.0/24", "2001:db8::/64", "2001:db8:5::/48", "fe80::/64") {
		if !slices.Contains(got.HostRoutes, want) {
			t.Errorf("route %v is missing", want)
		}
	}
	for _, p := range got.HostRoutes {
		if isDefault(p) {
			t.Errorf("the default route %v is there", p)
		}
	}
	got.Mode, got.Connections, got.Packets = Public, 4096, 20_000
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
	if _, err := exec.LookPath("nft"); err == nil {
		apply(t, got, fresh(t))
	}
}
