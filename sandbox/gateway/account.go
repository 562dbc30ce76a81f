package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"git-ward/internal/runstate"

	"github.com/go-json-experiment/json"
)

// accountPath is where a client asks what became of its calls. A program that calls the models
// itself describes a refusal or an outage in words that nothing else can rely on.
const accountPath = "/ward/account"

// payment is the answer for the directive that pays now, in this launch.
type payment struct {
	Directive string `json:"directive"` // "" while none is open
	Unpaid    int    `json:"unpaid"`    // calls that were refused with 402
	Why       string `json:"why"`       // of the newest call; "" where it was paid for
	Limit     string `json:"limit"`     // that the newest call met: a key of the directive's, or a setting; "" where it was paid for
	Held      int    `json:"held"`      // calls refused because the unit is not to be worked on
	Answered  int    `json:"answered"`  // calls that completed
	Failed    int    `json:"failed"`    // calls that the provider failed
	Barred    int    `json:"barred"`    // calls that were refused for their model
	Unlisted  string `json:"unlisted"`  // the newest call's model, if the settings do not name it
	Trouble   string `json:"trouble"`   // of the newest call: its code, see runstate.Trouble; "" where it was answered
}

// payments counts the outcomes of calls. It is safe for concurrent use.
type payments struct {
	mu          sync.Mutex
	byDirective map[string]payment
	troubles    map[string]runstate.Trouble
	payer       Payer // is told when the troubles change
}

// change records something about a directive.
func (p *payments) change(directive string, f func(*payment)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.byDirective[directive]
	f(&now)
	if p.byDirective == nil {
		p.byDirective = map[string]payment{}
	}
	p.byDirective[directive] = now
}

// note records whether a call is paid for: its refusal, or nil.
func (p *payments) note(directive string, r *refusal) {
	p.change(directive, func(now *payment) {
		switch {
		case r == nil:
			now.Why, now.Limit = "", ""
		case r.held:
			now.Held++
		case r.status == http.StatusPaymentRequired:
			now.Unpaid, now.Why, now.Limit = now.Unpaid+1, r.message, r.limit
		}
	})
}

// unlisted records a call refused for its model.
func (p *payments) unlisted(directive, model string) {
	p.change(directive, func(now *payment) { now.Barred, now.Unlisted = now.Barred+1, model })
}

// ended records the end of a sent call: the code of its trouble, "" for none.
func (p *payments) ended(directive, code string) {
	p.change(directive, func(now *payment) {
		now.Unlisted = ""
		if now.Trouble = code; code == "" {
			now.Answered++
		} else {
			now.Failed++
		}
		p.trouble(directive, code)
	})
}

// trouble adds to the directive's troubles or ends them. The caller holds the lock.
func (p *payments) trouble(directive, code string) {
	t, had := p.troubles[directive]
	if code == "" && !had {
		return
	}
	if p.troubles == nil {
		p.troubles = map[string]runstate.Trouble{}
	}
	if code == "" {
		delete(p.troubles, directive)
	} else {
		if t.Last = time.Now().UTC().Truncate(time.Second); t.Calls == 0 {
			t.Since = t.Last
		}
		t.Calls, t.Code = t.Calls+1, code
		p.troubles[directive] = t
	}
	p.payer.Troubles(p.troubles)
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
	data, _ := json.Marshal(g.payments.of(g.config.Payer.Directive())) // texts and numbers: cannot fail
	w.Header().Set("Content-Type", "application/json")
	w.Write(append(data, '\n'))
}

// troubleOf is the code of a provider's failure of a sent call, "" if it answered. It is
// unknown if the client left.
func (x *exchange) troubleOf(err error) (code string, known bool) {
	switch s := x.answered; {
	case x.failed != "":
		return x.failed, true
	case s == http.StatusUnauthorized, s == http.StatusForbidden: // the key is wrong, and the host supplies it
		return fmt.Sprint(s), true
	case s == http.StatusNotFound && x.endpoint != nil && !x.endpoint.free: // there is no such model
		return fmt.Sprint(s), true
	case s >= 500, s == http.StatusTooManyRequests, s == http.StatusRequestTimeout, s == http.StatusConflict:
		return fmt.Sprint(s), true
	case errors.Is(err, errSilent):
		return "silent", true
	case errors.Is(err, errCut):
		return "cut", true
	case x.tap.failed && x.answered < http.StatusMultipleChoices:
		return "error", true
	}
	return "", err == nil
}
