package firewall

import (
	"net/netip"
	"testing"
)

// TestReserved: both ends of each prefix of the table are reserved, by whatever form an
// address has, and what stands beside them is not.
func TestReserved(t *testing.T) {
	for _, r := range reservedPrefixes {
		for _, a := range []netip.Addr{r.prefix.Addr(), last(r.prefix)} {
			if !Reserved(a) || a.Is4() && !Reserved(netip.AddrFrom16(a.As16())) {
				t.Errorf("%v (%s) is not reserved", a, r.why)
			}
		}
	}
	if !Reserved(netip.MustParseAddr("fe80::1%eth0")) {
		t.Error("an address with a zone is not reserved")
	}
	for _, open := range []string{"1.1.1.1", "9.255.255.255", "11.0.0.0", "168.63.129.17", "198.20.0.0", "::ffff:8.8.8.8", "2606:4700::1", "2001:1::1", "fe00::1"} {
		if Reserved(netip.MustParseAddr(open)) {
			t.Errorf("%s is reserved", open)
		}
	}
}
