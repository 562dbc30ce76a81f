package gateway

import (
	"net/netip"
	"slices"

	"git-ward/internal/runstate"
)

// maxRefused bounds how many refused addresses of a directive are kept: whoever asks for more has
// shown what he is after.
const maxRefused = 50

// allowSetting is what opens a name to the fence.
const allowSetting = "[egress] allow"

// refused keeps an address that a directive did not get, for who reviews the work.
func (m *Meter) refused(directive string, d *denial) {
	at := runstate.Refused{Address: d.what}
	if d.setting != "" {
		at.Setting = allowSetting
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.state.Refused[directive]
	if directive == "" || len(list) >= maxRefused || slices.Contains(list, at) {
		return
	}
	if m.state.Refused == nil {
		m.state.Refused = map[string][]runstate.Refused{}
	}
	m.state.Refused[directive] = append(list, at)
	m.later()
}

// Unreached keeps addresses that the firewall refused to a directive. No setting allows those.
func (m *Meter) Unreached(directive string, addrs []netip.Addr) {
	for _, a := range addrs {
		m.refused(directive, &denial{what: a.String()})
	}
}
