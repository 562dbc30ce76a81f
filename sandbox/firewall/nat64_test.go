package firewall

import (
	"net/netip"
	"slices"
	"testing"
)

// The examples of RFC 6052, section 2.4, for every length.
func TestTranslate(t *testing.T) {
	for _, c := range []struct{ prefix, four, want string }{
		{"2001:db8::/32", "192.0.2.33/32", "2001:db8:c000:221::/64"},
		{"2001:db8:100::/40", "192.0.2.33/32", "2001:db8:1c0:2:21::/80"},
		{"2001:db8:122::/48", "192.0.2.33/32", "2001:db8:122:c000:2:2100::/88"},
		{"2001:db8:122:300::/56", "192.0.2.33/32", "2001:db8:122:3c0:0:221::/96"},
		{"2001:db8:122:344::/64", "192.0.2.33/32", "2001:db8:122:344:c0:2:2100::/104"},
		{"2001:db8:122:344::/96", "192.0.2.33/32", "2001:db8:122:344::c000:221/128"},
		{"2001:db8:122::/48", "10.0.0.0/8", "2001:db8:122:a00::/56"},
		{"2001:db8:122::/48", "192.168.0.0/16", "2001:db8:122:c0a8::/64"},
		{"2001:db8:122::/48", "172.16.0.0/12", "2001:db8:122:ac10::/60"},
		{"2001:db8:122:344::/64", "10.0.0.0/8", "2001:db8:122:344:a::/80"},
		{"2001:db8:122:344::/96", "10.0.0.0/8", "2001:db8:122:344::a00:0/104"},
	} {
		if got := translate(netip.MustParsePrefix(c.prefix), netip.MustParsePrefix(c.four)); got != netip.MustParsePrefix(c.want) {
			t.Errorf("%s behind %s: %v, want %s", c.four, c.prefix, got, c.want)
		}
	}
}

// What RFC 7050's name answers with tells the prefix, whatever its length.
func TestTranslators(t *testing.T) {
	for _, prefix := range []string{"2a00:64::/32", "2a00:64:100::/40", "2a00:64:122::/48", "2a00:64:122:300::/56", "2a00:64:122:344::/64", "64:ff9b::/96"} {
		p := netip.MustParsePrefix(prefix)
		for _, four := range []string{"192.0.0.170/32", "192.0.0.171/32"} {
			a := translate(p, netip.MustParsePrefix(four)).Addr()
			if got := Translators([]netip.Addr{a, a}); !slices.Equal(got, []netip.Prefix{p}) {
				t.Errorf("%v: %v, want %v", a, got, p)
			}
		}
	}
	if got := Translators(addrs("2001:db8::1", "192.0.0.170", "::ffff:192.0.0.170")); got != nil {
		t.Errorf("%v of addresses that tell none", got)
	}
}

// What nobody may reach by IPv4 is refused behind each translator, the host's own and the
// admin's included.
func TestRefusedBehindTranslators(t *testing.T) {
	p := public()
	refused := p.refused()
	for _, a := range []string{"203.0.113.77", "203.0.113.66", "10.88.0.1", "127.0.0.1", "169.254.169.254"} {
		four := netip.PrefixFrom(netip.MustParseAddr(a), 32)
		for _, tr := range p.Translators {
			six := translate(tr, four)
			if !isReserved(six) && !slices.ContainsFunc(refused, func(r netip.Prefix) bool { return contains(r, six) }) {
				t.Errorf("%s behind %v, %v, is open", a, tr, six)
			}
			if !p.Refuses()(six.Addr()) {
				t.Errorf("%v is not refused", six)
			}
		}
	}
}

// TestRefuses: who decides about an address and not about a packet says what the rules say, of a
// spelling behind a translator that is none, too.
func TestRefuses(t *testing.T) {
	p := Policy{HostRoutes: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/25")}, Translators: []netip.Prefix{netip.MustParsePrefix("2a00:64:122:344::/64")}}
	for addr, want := range map[string]bool{
		"8.8.8.8": false, "10.0.0.1": true, "::ffff:10.0.0.1": true, "203.0.113.7": true, "203.0.113.200": false, "2a00:64::1": false,
		"2a00:64:122:344:8:808:800::": false, "2a00:64:122:344:a:0:100::": true, "2a00:64:122:344:ff08:808:800::": true,
	} {
		if got := p.Refuses()(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: %v", addr, got)
		}
	}
	if !p.Refuses()(netip.Addr{}) {
		t.Error("no address is open")
	}
}
