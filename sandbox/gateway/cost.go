package gateway

import (
	"net/http"

	"github.com/go-json-experiment/json"
)

// costPath is where a client asks for a directive's cost so far, for its report:
// costPath?directive=D-1.
const costPath = "/ward/cost"

// cost is the answer. An uncounted value is absent, never 0.
type cost struct {
	Tokens    *int64 `json:"tokens,omitempty"`
	Money     string `json:"money,omitempty"`    // dollars, a decimal
	Estimated int64  `json:"estimated,omitzero"` // calls without a reported usage
	Prices    string `json:"prices,omitempty"`   // day of the price table
}

// costOf is a directive's total over all launches.
func (g *Gateway) costOf(directive string) cost {
	g.config.Meter.mu.Lock()
	defer g.config.Meter.mu.Unlock()
	a := g.config.Meter.state.Directives[directive]
	if a == nil || a.Used.Calls == 0 {
		return cost{}
	}
	tokens := a.Used.Usage.Tokens()
	return cost{Tokens: &tokens, Money: a.Used.Cost.String(), Estimated: a.Estimated, Prices: g.config.PricesOf}
}

// serveCost answers GET costPath. It costs nothing.
func (g *Gateway) serveCost(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		http.Error(w, "ward: "+costPath+" is only read", http.StatusMethodNotAllowed)
		return
	}
	data, _ := json.Marshal(g.costOf(r.URL.Query().Get("directive"))) // texts and numbers: cannot fail
	w.Header().Set("Content-Type", "application/json")
	w.Write(append(data, '\n'))
}
