package gateway

import (
	"context"
	"fmt"
	"time"
)

// spent says that a directive's budget, or the launch's time, is too small for a call.
type spent struct {
	late      bool // time is spent; the other fields are unset
	directive string
	left      Budget
	need      Charge
	held      bool   // other calls hold it now and will return some
	limit     string // the limit that was hit: the directive's key, or a setting
}

// money reports whether money is short, not tokens.
func (e *spent) money() bool {
	return e.left.Tokens > 0 && e.need.Usage.Tokens() <= e.left.Tokens
}

func (e *spent) Error() string {
	switch {
	case e.late:
		return "the time of this launch, [budget] time, is spent; the next launch has its own"
	case e.held:
		return fmt.Sprintf("calls that run now hold the rest of the budget of %s; try again", e.directive)
	case e.left.Tokens <= 0 || e.left.Cost <= 0:
		return fmt.Sprintf("the budget of %s is spent: %s", e.directive, e.limit)
	}
	left, need := fmt.Sprintf("%d tokens", e.left.Tokens), fmt.Sprintf("%d", e.need.Usage.Tokens())
	if e.money() {
		left, need = "$"+e.left.Cost.String(), "$"+e.need.Cost.String()
	}
	return fmt.Sprintf("the budget of %s has %s left and this call may take %s: ask for fewer output tokens; the limit is %s", e.directive, left, need, e.limit)
}

// Reservation is the charge of one running call. The caller must settle it.
type Reservation struct {
	meter     *Meter
	directive string
	held      Charge
	by        string // assistant's word
}

// Reserve charges the most that a call can use, and returns when that is on
// disk. The sum of what is used and held never passes the budget, however many
// reserve at once. Where others hold what is missing it waits a while for them.
//
// Where the most does not fit in what is left, and what a call is thought to use does, it
// runs alone and holds all that is left: the bound on a text's tokens is several times what
// a text has, and without this the last part of a budget could not be spent. What is billed
// beyond a budget is then one such call's, whatever runs or is killed.
func (m *Meter) Reserve(ctx context.Context, directive string, total Budget, most, thought Charge) (*Reservation, error) {
	ctx, cancel := context.WithTimeout(ctx, heldWait)
	defer cancel()
	for {
		held, change, settled, err := m.hold(directive, total, most, thought)
		if err != nil && err.held && waitSettled(ctx, settled) {
			continue
		}
		if err != nil {
			return nil, err
		}
		r := &Reservation{meter: m, directive: directive, held: held}
		if err := m.store(change); err != nil {
			r.cancel()
			return nil, err
		}
		return r, nil
	}
}

// hold reserves an amount if the budget has room for it.
func (m *Meter) hold(directive string, total Budget, most, thought Charge) (held Charge, change uint64, settled <-chan struct{}, refused *spent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.state.Directives[directive]
	if a == nil {
		a = &Account{}
	}
	left := Budget{total.Tokens - a.Used.Usage.Tokens(), total.Cost - a.Used.Cost}
	free := Budget{left.Tokens - a.Held.Usage.Tokens(), left.Cost - a.Held.Cost}
	switch {
	case free.holds(most):
	case a.Held.Calls == 0 && left.holds(thought):
		most = left.all(most)
	default:
		return Charge{}, 0, m.settled, &spent{directive: directive, left: left, need: thought, held: left.holds(thought)}
	}
	m.state.Directives[directive] = a
	a.Held.add(most)
	m.changed++
	return most, m.changed, nil, nil
}

// all is as much of a charge as there is.
func (b Budget) all(c Charge) Charge {
	c.Usage.Output = min(c.Usage.Output, b.Tokens)
	c.Usage.Input = min(c.Usage.Input, b.Tokens-c.Usage.Output)
	c.Cost = min(c.Cost, b.Cost)
	return c
}

// holds is also false for a budget spent to the last token, so that it refuses calls that
// reserve nothing.
func (b Budget) holds(c Charge) bool {
	return b.Tokens > 0 && b.Cost > 0 && c.Usage.Tokens() <= b.Tokens && c.Cost <= b.Cost
}

// Settle replaces the reservation by what the call used. In memory that counts
// at once; on disk a moment later, and until then the call is charged in full.
func (r *Reservation) Settle(used Charge, took time.Duration, estimated bool) {
	r.finish(func(a *Account) {
		a.Used.add(used)
		a.Millis += took.Milliseconds()
		if used.Usage.Tokens() > 0 {
			a.assisted(r.by)
		}
		if estimated {
			a.Estimated += used.Calls
		}
	})
}

// cancel returns the reservation of a call that was never sent.
func (r *Reservation) cancel() { r.finish(func(*Account) {}) }

func (r *Reservation) finish(record func(*Account)) {
	m := r.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.state.Directives[r.directive]
	a.Held.sub(r.held)
	record(a)
	close(m.settled)
	m.settled = make(chan struct{})
	m.later()
}

// later has a change written in a moment. The caller has the lock.
func (m *Meter) later() {
	m.changed++
	if m.pending == nil {
		m.pending = time.AfterFunc(settleDelay, m.storeSettled)
	}
}

// storeSettled writes settlements unless a reservation already did. If the disk fails, the
// next reservation fails as well and is refused.
func (m *Meter) storeSettled() {
	m.mu.Lock()
	m.pending = nil
	change := m.changed
	m.mu.Unlock()
	m.store(change)
}
