package gateway

import (
	"net/http"
	"sync"

	"github.com/go-json-experiment/json"
)

// accountPath is where a client asks whether its calls are paid for. A program that
// makes the calls itself tells its own story of a refusal, in words that nobody else
// can decide by.
const accountPath = "/ward/account"

// payment is the answer: of the directive that pays for calls now, in this launch.
type payment struct {
	Directive string `json:"directive"` // "" while none is open
	Unpaid    int    `json:"unpaid"`    // calls that were refused with 402
	Why       string `json:"why"`       // of the newest call; "" where it was paid for
}

// payments are what became of the calls, refused and paid ones. It is safe for concurrent use.
type payments struct {
	mu          sync.Mutex
	byDirective map[string]payment
}

// note takes down what became of a call: a refusal, nil when it is paid for.
func (p *payments) note(directive string, r *refusal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.byDirective[directive]
	switch {
	case r == nil:
		now.Why = ""
	case r.status == http.StatusPaymentRequired:
		now.Unpaid, now.Why = now.Unpaid+1, r.message
	}
	if p.byDirective == nil {
		p.byDirective = map[string]payment{}
	}
	p.byDirective[directive] = now
}

func (p *payments) of(directive string) payment {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.byDirective[directive]
	now.Directive = directive
	return now
}

// serveAccount answers GET accountPath. It costs nothing.
func (g *Gateway) serveAccount(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		http.Error(w, "ward: "+accountPath+" is only read", http.StatusMethodNotAllowed)
		return
	}
	data, _ := json.Marshal(g.payments.of(g.config.Directive())) // two texts and a number: cannot fail
	w.Header().Set("Content-Type", "application/json")
	w.Write(append(data, '\n'))
}
