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

// account is the answer: of the directive that pays for calls now, in this launch.
type account struct {
	Directive string `json:"directive"` // "" while none is open
	Unpaid    int    `json:"unpaid"`    // calls that were refused with 402
	Why       string `json:"why"`       // of the newest call; "" where it was paid for
}

// unpaid counts the calls that are not paid for. It is safe for concurrent use.
type unpaid struct {
	mu       sync.Mutex
	accounts map[string]account // by directive
}

// note takes down what became of a call: a refusal, nil when it is paid for.
func (u *unpaid) note(directive string, r *refusal) {
	u.mu.Lock()
	defer u.mu.Unlock()
	a := u.accounts[directive]
	switch {
	case r == nil:
		a.Why = ""
	case r.status == http.StatusPaymentRequired:
		a.Unpaid, a.Why = a.Unpaid+1, r.message
	}
	if u.accounts == nil {
		u.accounts = map[string]account{}
	}
	u.accounts[directive] = a
}

func (u *unpaid) of(directive string) account {
	u.mu.Lock()
	defer u.mu.Unlock()
	a := u.accounts[directive]
	a.Directive = directive
	return a
}

// serveAccount answers GET accountPath. It costs nothing.
func (g *Gateway) serveAccount(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		http.Error(w, "ward: "+accountPath+" is only read", http.StatusMethodNotAllowed)
		return
	}
	data, _ := json.Marshal(g.unpaid.of(g.config.Directive())) // two texts and a number: cannot fail
	w.Header().Set("Content-Type", "application/json")
	w.Write(append(data, '\n'))
}
