package gateway

import (
	"context"
	"errors"
	"io"
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
	began     time.Time
	call      *call // nil for the list of models
	endpoint  *endpoint
	tap       tap
	reached   atomic.Bool // there was a connection to send on
	answered  int         // the provider's status; 0 before it answers
	status    int         // the client's
	used      Charge
	estimated bool
	failed    string // the code of why the provider did not answer at all; "" for nothing
}

// serveModel is one model call from check to settlement.
func (g *Gateway) serveModel(w http.ResponseWriter, r *http.Request, p *provider, path string) {
	x := &exchange{g: g, p: p, path: path, began: time.Now()}
	ctx, cancel := context.WithTimeout(r.Context(), g.limits.Call)
	defer cancel()
	err := x.run(ctx, w, r)
	var own *refusal
	if errors.As(err, &own) && x.status == 0 {
		x.status = own.status
		own.write(w, p.name)
	}
	x.log(err)
	if err != nil && own == nil {
		// The answer has begun: only a broken connection tells the client that
		// it is not whole.
		panic(http.ErrAbortHandler)
	}
}

func (x *exchange) run(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	if err := x.admit(r); err != nil {
		return err
	}
	select {
	case x.g.slots <- struct{}{}:
		defer func() { <-x.g.slots }()
	case <-ctx.Done():
		return refusef(http.StatusTooManyRequests, "too many model calls at once")
	}
	var body []byte
	if x.endpoint != nil {
		var err error
		if body, err = x.body(w, r); err != nil {
			return err
		}
	}
	return x.charged(ctx, func() error { return x.send(ctx, w, r, body) })
}

// admit decides by method and path alone. What is not an inference path has no
// business here: files, batches, fine-tuning and administration keep or fetch.
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
	if x.directive = x.g.config.Directive(); x.directive == "" {
		return refusef(http.StatusForbidden, "no directive is open, so nobody pays for a call")
	}
	if held := x.g.config.Held; held != nil {
		if why := held(x.directive); why != "" {
			r := refusef(http.StatusForbidden, "%s is %s: nothing of it is paid for until the PM lets it go on", x.directive, why)
			r.held = true
			x.g.payments.note(x.directive, r)
			return r
		}
	}
	return nil
}

// body reads and checks the request's body, and gives what is to go out.
func (x *exchange) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.Header.Get("Content-Encoding") != "" {
		return nil, refusef(http.StatusBadRequest, "an encoded body cannot be checked: send it plain")
	}
	// A deadline that stayed would end the call when it passes, because the
	// server goes on reading to see whether the client is still there.
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Now().Add(bodyTime))
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, x.g.limits.Body))
	control.SetReadDeadline(time.Time{})
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return nil, refusef(http.StatusRequestEntityTooLarge, "the request is larger than %d bytes", large.Limit)
	}
	if err != nil {
		return nil, refusef(http.StatusBadRequest, "the request did not arrive whole")
	}
	if x.call, err = x.endpoint.read(data, x.g.limits.MaxOutput); err != nil {
		return nil, refusef(http.StatusBadRequest, "%v", x.p.key.scrub(clip(err.Error())))
	}
	return x.call.body, nil
}

// charged runs send with the most that it can cost reserved, and settles what it
// did cost. Calls that are not billed reserve nothing, and are still refused when
// the budget is spent; the list of models is free to all.
func (x *exchange) charged(ctx context.Context, send func() error) error {
	if x.call == nil {
		return send()
	}
	if until := x.g.config.Until; !until.IsZero() && !time.Now().Before(until) {
		return x.refuseUnpaid(&spent{late: true})
	}
	price := x.g.config.Prices.Of(x.call.model)
	most := Usage{Input: x.call.input, Output: x.call.output}
	// All of the input may turn out to be written to the cache.
	dear := price
	dear.Input = max(price.Input, price.CacheWrite, price.CacheWriteLong)
	charge := Charge{Calls: 1, Usage: most, Cost: dear.cost(most)}
	reservation, err := x.g.meter.Reserve(ctx, x.directive, x.g.config.Budget(x.directive), charge)
	if err != nil {
		x.g.config.Log.Warn().Str("directive", x.directive).Err(err).Msg("not charged, not called")
		return x.refuseUnpaid(err)
	}
	x.g.payments.note(x.directive, nil)
	defer func() {
		x.use(price)
		reservation.Settle(x.used, time.Since(x.began), x.estimated)
	}()
	err = send()
	if code, known := x.troubleOf(err); known {
		x.g.payments.ended(x.directive, code)
	}
	return err
}

// refuseUnpaid is the refusal of a call that nobody pays for, which the account notes.
func (x *exchange) refuseUnpaid(err error) *refusal {
	r := refusalOf(err)
	x.g.payments.note(x.directive, r)
	return r
}

// use works out the charge. A call that could not be sent, or that the provider
// answered with an error, costs nothing unless the answer says so.
func (x *exchange) use(price Price) {
	x.used.Calls = 1
	failed := x.answered >= http.StatusMultipleChoices && !x.tap.started
	if x.endpoint.free || !x.reached.Load() || failed {
		return
	}
	x.used.Usage, x.estimated = x.tap.used(x.call, time.Since(x.began))
	x.used.Cost = price.cost(x.used.Usage)
}

// send makes the call and relays its answer.
func (x *exchange) send(ctx context.Context, w http.ResponseWriter, r *http.Request, body []byte) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// Not WroteRequest: over HTTP/2 it may come after the answer, or never.
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { x.reached.Store(true) }}
	req, err := x.p.request(httptrace.WithClientTrace(ctx, trace), r, x.path, body)
	if err != nil {
		return refusef(http.StatusBadRequest, "the request cannot be passed on")
	}
	resp, err := x.p.transport.RoundTrip(req)
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

// unreachable says what kept the provider from answering, on whose side it was.
func (x *exchange) unreachable(err error) error {
	x.g.config.Log.Warn().Str("provider", string(x.p.name)).Str("error", x.p.key.scrub(clip(err.Error()))).Msg("no answer")
	var timeout interface{ Timeout() bool }
	if x.failed = "unreachable"; errors.As(err, &timeout) && timeout.Timeout() {
		x.failed = "timeout"
		return refusef(http.StatusGatewayTimeout, "%s did not answer in time", x.p.name)
	}
	return refusef(http.StatusBadGateway, "%s cannot be reached from the host", x.p.name)
}

// unfit refuses answers that must not pass: to the client a redirect would name
// a place that it cannot reach, and an encoded answer could hide the key. On 401
// providers quote parts of the key.
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

// log writes the call's line. Nothing in it is the client's but the model's
// name, which was checked.
func (x *exchange) log(err error) {
	event := x.g.config.Log.Info()
	if err != nil {
		event = x.g.config.Log.Warn().Str("error", x.p.key.scrub(clip(err.Error())))
	}
	event = event.Str("provider", string(x.p.name)).Str("path", clip(x.path)).Int("status", x.status).
		Str("directive", x.directive).Dur("took_ms", time.Since(x.began))
	if x.call != nil {
		u := x.used.Usage
		event = event.Str("model", x.call.model).Bool("stream", x.call.stream).
			Int64("input", u.Input).Int64("output", u.Output).Int64("cache_read", u.CacheRead).
			Int64("cache_write", u.CacheWrite+u.CacheWriteLong).
			Stringer("cost", x.used.Cost).Bool("estimated", x.estimated)
	}
	event.Msg("model call")
}
