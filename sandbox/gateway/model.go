package gateway

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// exchange is one request to a provider and its answer.
type exchange struct {
	g         *Gateway
	p         *provider
	path      string
	directive string
	program   string // the client's User-Agent
	began     time.Time
	sent      time.Time // when the call was sent, perhaps after waiting for others
	call      *call     // nil for the list of models
	endpoint  *endpoint
	loan      *loan // the loan for its body; nil for none
	tap       tap
	reached   atomic.Bool // a connection was established
	answered  int         // the provider's status; 0 before it answers
	status    int         // the client's
	used      Charge
	estimated bool
	failed    string // the code of why the provider did not answer at all; "" for nothing
}

// serveModel handles one model call from check to settlement.
func (g *Gateway) serveModel(w http.ResponseWriter, r *http.Request, p *provider, path string) {
	x := &exchange{g: g, p: p, path: path, program: r.UserAgent(), began: time.Now()}
	ctx, cancel := context.WithTimeout(r.Context(), g.limits.Call)
	defer cancel()
	err := x.run(ctx, w, r)
	var own *refusal
	if errors.As(err, &own) && x.status == 0 {
		x.status = own.status
		own.write(w, p.name)
	}
	if own == nil || !own.told {
		x.log(err)
	}
	if err != nil && own == nil {
		// The answer has begun: only a broken connection can tell the client that it is
		// incomplete.
		panic(http.ErrAbortHandler)
	}
}

func (x *exchange) run(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength > x.g.limits.Body {
		return refusef(http.StatusRequestEntityTooLarge, "the request is larger than %d bytes", x.g.limits.Body)
	}
	if err := x.admit(r); err != nil {
		return err
	}
	select {
	case x.g.slots <- struct{}{}:
		defer func() { <-x.g.slots }()
	case <-ctx.Done():
		return refusef(http.StatusTooManyRequests, "too many model calls at once")
	}
	defer x.forget()
	if x.endpoint != nil {
		if err := x.body(ctx, w, r); err != nil {
			return err
		}
	}
	return x.charged(ctx, func() error { return x.send(ctx, w, r) })
}

// admit decides by method and path alone. Everything but inference is refused: files, batches,
// fine-tuning and administration store or fetch data.
func (x *exchange) admit(r *http.Request) error {
	x.endpoint = x.p.endpoints[x.path]
	known := r.Method == http.MethodPost && x.endpoint != nil || r.Method == http.MethodGet && modelsPath.MatchString(x.path)
	if !known {
		return refusef(http.StatusForbidden, "%s %s is not an inference path; the gateway admits nothing else", clip(r.Method), clip(x.path))
	}
	if name := badQuery(r.URL); name != "" {
		return refusef(http.StatusForbidden, "the query parameter %q is not admitted", clip(name))
	}
	if !x.p.usable() {
		return refusef(http.StatusForbidden, "the host has no key for %s: set %s where `git ward launch` runs", x.p.name, x.p.setting)
	}
	if x.directive = x.g.config.Payer.Directive(); x.directive == "" {
		return x.unleased()
	}
	if r := x.held(); r != nil {
		return r
	}
	return x.counted()
}

// unleased is the refusal of a call that no directive pays for. Without a lease there is no
// work, as with a held unit.
func (x *exchange) unleased() *refusal {
	if !x.g.config.Leased {
		return refusef(http.StatusForbidden, "no directive is open, so nobody pays for a call")
	}
	r := refusef(http.StatusForbidden, "this worker's lease of its directive is gone, so nobody pays for a call")
	r.held = true
	x.g.payments.note("", r)
	return r
}

// held is the refusal of a call for a held unit, or nil. A call that waited must still have
// its initial lease.
func (x *exchange) held() *refusal {
	if x.g.config.Leased && x.g.config.Payer.Directive() != x.directive {
		return x.unleased()
	}
	why := x.g.config.Payer.Held(x.directive)
	if why == "" {
		return nil
	}
	r := refusef(http.StatusForbidden, "%s is %s: nothing of it is paid for until the PM lets it go on", x.directive, why)
	r.held = true
	x.g.payments.note(x.directive, r)
	return r
}

// charged reserves the highest possible cost, runs send, and settles the real cost. Free calls
// reserve nothing but are also refused when the budget is spent; the list of models is always
// free.
func (x *exchange) charged(ctx context.Context, send func() error) error {
	if x.call == nil {
		return send()
	}
	if until := x.g.config.Until; !until.IsZero() && !time.Now().Before(until) {
		return x.refuseUnpaid(&spent{late: true, limit: timeSetting})
	}
	price := x.g.config.Prices.Of(x.call.model)
	reservation, err := x.reserve(ctx, price)
	if err != nil {
		x.g.config.Log.Warn().Str("directive", x.directive).Err(err).Msg("not charged, not called")
		return x.refuseUnpaid(err)
	}
	reservation.by = assistant(x.program, x.call.model)
	if time.Since(x.began) > x.g.limits.Wait {
		if r := x.held(); r != nil {
			reservation.cancel()
			return r
		}
	}
	x.g.payments.note(x.directive, nil)
	defer func() {
		x.use(reservation.held, price)
		reservation.Settle(x.used, time.Since(x.began), x.estimated)
		if x.used.Usage.Tokens() == 0 && !x.endpoint.free {
			x.g.config.Shared.unpaid.of(x.directive).ReserveN(time.Now(), 1)
		}
	}()
	err = send()
	if code, known := x.troubleOf(err); known {
		x.g.payments.ended(x.directive, code)
	}
	return err
}

// reserve reserves the call's highest possible cost in the directive's budget.
func (x *exchange) reserve(ctx context.Context, price Price) (*Reservation, error) {
	b, err := x.g.config.bounds(x.directive)
	if err != nil {
		return nil, err
	}
	r, err := x.g.config.Meter.Reserve(ctx, x.directive, b.Budget, x.call.most(price), x.call.thought(price))
	if short, ok := errors.AsType[*spent](err); ok {
		short.limit = b.names(short)
	}
	return r, err
}

// refuseUnpaid refuses a call that nobody pays for, and records it.
func (x *exchange) refuseUnpaid(err error) *refusal {
	r := refusalOf(err)
	x.g.payments.note(x.directive, r)
	return r
}

// slowError is how long a provider's error may take and still count as free. A proxy may
// answer with an error while the model works, so a client with a large unstreamed request
// could otherwise work for free by causing errors.
const slowError = 10 * time.Second

// use computes the charge. A call that was not sent, or was answered with nothing but an
// error, is free unless the answer says otherwise.
func (x *exchange) use(reserved Charge, price Price) {
	x.used.Calls = 1
	quick := x.answered < http.StatusInternalServerError || time.Since(x.sent) < slowError
	failed := x.answered >= http.StatusMultipleChoices && quick || x.tap.failed && !x.tap.begun
	if x.endpoint.free || !x.reached.Load() || failed && !x.tap.started && x.tap.pieces+x.tap.letters == 0 {
		return
	}
	x.used, x.estimated = x.tap.used(reserved, price)
	x.used.Calls = 1
}

// most is a call's highest possible cost, and thought its expected cost.
func (c *call) most(p Price) Charge {
	if c.free() {
		return Charge{}
	}
	u := Usage{Input: c.input, Output: c.output}
	return Charge{Calls: 1, Usage: u, Cost: c.seen.dear(p).cost(u)}
}

func (c *call) thought(p Price) Charge {
	u := Usage{Input: c.likely, Output: c.output}
	return Charge{Calls: 1, Usage: u, Cost: p.cost(u)}
}

// free reports that nothing is billed, because nothing was computed.
func (c *call) free() bool { return c.output == 0 }

// send makes the call and relays its answer.
func (x *exchange) send(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// Not WroteRequest, which over HTTP/2 may come after the answer or never.
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { x.reached.Store(true) }}
	req, err := x.p.request(httptrace.WithClientTrace(ctx, trace), r, x.path, x.call)
	if err != nil {
		return refusef(http.StatusBadRequest, "the request cannot be passed on")
	}
	x.sent = time.Now()
	resp, err := x.p.transport.RoundTrip(req)
	x.forget()
	if err != nil {
		return x.unreachable(err)
	}
	defer resp.Body.Close()
	x.answered = resp.StatusCode
	if own := x.unfit(resp); own != nil {
		return own
	}
	return x.relay(ctx, w, resp, cancel)
}

// unreachable says why the provider could not be reached, and on whose side.
func (x *exchange) unreachable(err error) error {
	x.g.config.Log.Warn().Str("provider", string(x.p.name)).Str("error", clip(x.p.key.Scrub(err.Error()))).Msg("no answer")
	var timeout interface{ Timeout() bool }
	if x.failed = "unreachable"; errors.As(err, &timeout) && timeout.Timeout() {
		x.failed = "timeout"
		return refusef(http.StatusGatewayTimeout, "%s did not answer in time", x.p.name)
	}
	return refusef(http.StatusBadGateway, "%s cannot be reached from the host", x.p.name)
}

// unfit refuses answers that must not pass: the client cannot follow a redirect, and an
// encoded answer could hide the key. On 401 providers quote parts of the key.
func (x *exchange) unfit(resp *http.Response) *refusal {
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return refusef(http.StatusBadGateway, "%s answered with a redirect, which is not followed", x.p.name)
	case resp.StatusCode == http.StatusUnauthorized:
		return refusef(http.StatusUnauthorized, "%s does not accept the host's key: see %s", x.p.name, x.p.setting)
	case resp.Header.Get("Content-Encoding") != "" && resp.Header.Get("Content-Encoding") != "identity":
		return refusef(http.StatusBadGateway, "%s answered in an encoding that was not asked for", x.p.name)
	}
	return nil
}

// log writes the call's line. The only client text in it is the checked model name.
func (x *exchange) log(err error) {
	event := x.g.config.Log.Info()
	if err != nil {
		event = x.g.config.Log.Warn().Str("error", clip(x.p.key.Scrub(err.Error())))
	}
	event = event.Str("provider", string(x.p.name)).Str("path", clip(x.path)).Int("status", x.status).
		Str("directive", x.directive).Dur("took_ms", time.Since(x.began))
	if x.call != nil {
		u := x.used.Usage
		event = event.Str("model", x.call.model).Bool("stream", x.call.stream).
			Int64("input", u.Input).Int64("output", u.Output).Int64("cache_read", u.CacheRead).
			Int64("cache_write", u.CacheWrite+u.CacheWriteLong).
			Stringer("cost", x.used.Cost).Bool("estimated", x.estimated)
		if len(x.call.left) > 0 {
			event = event.Strs("left_out", x.call.left[:min(len(x.call.left), 10)])
		}
	}
	event.Msg("model call")
}
