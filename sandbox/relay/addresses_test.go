package relay

import (
	"net/netip"
	"slices"
	"testing"
)

// TestAddresses: what a fence near by refuses is the gate's host, whatever the port.
func TestAddresses(t *testing.T) {
	for gate, want := range map[string]string{"ssh://ward@192.0.2.7:2222/srv/p.git": "192.0.2.7/32", "ssh://[2001:db8::7]": "2001:db8::7/128", "ssh://localhost": "127.0.0.1/32"} {
		got, err := Config{Gate: gate}.Addresses(t.Context())
		if err != nil || !slices.Contains(got, netip.MustParsePrefix(want)) {
			t.Errorf("%s: %v, %v", gate, got, err)
		}
	}
	for _, gate := range []string{"", "http://192.0.2.7", "ssh://"} {
		if got, err := (Config{Gate: gate}).Addresses(t.Context()); err == nil {
			t.Errorf("%q: %v", gate, got)
		}
	}
}
