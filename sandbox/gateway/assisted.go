package gateway

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"git-ward/internal/pattern"
)

// maxAssisted bounds the programs and models in a directive's account.
const maxAssisted = 8

// product is how a program names itself in User-Agent (RFC 9110, section 10.1.5), and a
// provider's model itself. The worker chooses both.
var product = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._/+-]{0,59}`)

// assistant is a program and its model as the gateway saw them: "codex_cli_rs/0.46.0:gpt-5".
func assistant(userAgent, model string) string {
	if model = product.Regexp().FindString(model); model == "" {
		return ""
	}
	return cmp.Or(product.Regexp().FindString(userAgent), "unknown") + ":" + model
}

// assisted records who made a paid call.
func (a *Account) assisted(by string) {
	if by == "" || len(a.Assisted) >= maxAssisted && a.Assisted[by] == 0 {
		return
	}
	if a.Assisted == nil {
		a.Assisted = map[string]int64{}
	}
	a.Assisted[by]++
}

// Assisted lists the programs and models that the gateway billed to a directive, each as
// "PROGRAM:MODEL".
func (m *Meter) Assisted(directive string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.state.Directives[directive]
	if a == nil {
		return nil
	}
	return slices.SortedFunc(maps.Keys(a.Assisted), strings.Compare)
}
