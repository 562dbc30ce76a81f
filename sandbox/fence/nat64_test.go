package fence

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
)

// A prefix that is known stays refused while a name server does not answer, and goes when
// all of them say that there is none.
func TestTranslatorsStay(t *testing.T) {
	said := map[string][]netip.Addr{"192.0.2.1": {netip.MustParseAddr("2001:db8:64::192.0.0.170")}}
	silent := errors.New("no answer")
	far, near := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	nat64, other := netip.MustParsePrefix("2001:db8:64::/96"), netip.MustParsePrefix("2001:db8:65::/96")
	for name, c := range map[string]struct {
		silent []netip.Addr
		says   bool // far knows a prefix
		want   []netip.Prefix
	}{
		"all say none":            {nil, false, nil},
		"one is silent":           {[]netip.Addr{far}, false, []netip.Prefix{other}},
		"one is silent, one says": {[]netip.Addr{near}, true, []netip.Prefix{nat64, other}},
		"all say another":         {nil, true, []netip.Prefix{nat64}},
		"all are silent":          {[]netip.Addr{far, near}, true, []netip.Prefix{other}},
	} {
		ask := func(_ context.Context, server netip.Addr) ([]netip.Addr, error) {
			if slices.Contains(c.silent, server) {
				return nil, silent
			}
			if !c.says {
				return nil, nil
			}
			return said[server.String()], nil
		}
		got, err := translators(t.Context(), []netip.Addr{far, near}, []netip.Prefix{other}, ask)
		if !slices.Equal(got, c.want) || (err != nil) != (len(c.silent) == 2) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
		}
	}
}
