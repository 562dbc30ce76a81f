package host

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/schedule"
)

const (
	// maxHands bounds the workers of other machines, and firstHand is the first one's number.
	maxHands, firstHand = 200, 1001
)

// Offer is a place for one worker on another machine that has asked for work (MANY-2).
type Offer struct {
	Name string // name of the machine's key, a dot, and a number
	Once bool   // only for what can begin now
	Run  func(ctx context.Context, j *Job) error
}

// machine is the machine's name in an offer NAME.K.
func machine(name string) string { return name[:max(strings.LastIndexByte(name, '.'), 0)] }

// offer is a machine's offer of one worker: it waits or works.
type offer struct {
	machine, holder, where string

	once  bool
	run   func(ctx context.Context, j *Job) error
	given bool          // it has got a directive
	left  bool          // withdrawn
	none  chan struct{} // closed when there is nothing for it
	ended chan error    // how its worker has ended
}

// dismiss tells a waiting offer that there is nothing for it.
func (o *offer) dismiss() {
	if !o.given && !o.left {
		o.left = true
		close(o.none)
	}
}

var (
	// ErrAtWork means that a machine offers the same place twice.
	ErrAtWork = errors.New("this worker is at it already")
	// ErrFull means that a machine, or all together, offer more than they may.
	ErrFull = errors.New("no more")
)

// Offer waits until a directive is to be worked on at a place, and until its worker there has
// ended; did is false where there was none, because ctx has ended or there is nothing to do.
// A machine has no more places than most at once.
func (h *Host) Offer(o Offer, most int) (wait func(context.Context) (did bool, err error), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	of := &offer{machine: machine(o.Name), holder: h.spec.Name + "." + o.Name, where: "ssh " + machine(o.Name), once: o.Once, run: o.Run,
		none: make(chan struct{}), ended: make(chan error, 1)}
	number, err := h.place(of, most)
	if err != nil {
		return nil, err
	}
	if h.offers[number] = of; h.closed {
		of.dismiss()
	}
	h.nudge()
	return func(ctx context.Context) (bool, error) { return h.wait(ctx, number, of) }, nil
}

// place is a free slot number for an offer.
func (h *Host) place(o *offer, most int) (number int, err error) {
	own := 0
	for _, other := range h.offers {
		if other.holder == o.holder {
			return 0, ErrAtWork
		}
		if other.machine == o.machine {
			own++
		}
	}
	if own >= most {
		return 0, fmt.Errorf("%w: the gate has %s of this machine, as many as [launch] hand_agents there allows: ask for fewer with --agents, or raise it", ErrFull, diag.Count(own, "worker"))
	}
	for n := firstHand; n < firstHand+maxHands; n++ {
		if h.offers[n] == nil {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%w: other machines have %d workers at the gate, which is the most that it accepts", ErrFull, maxHands)
}

func (h *Host) wait(ctx context.Context, number int, o *offer) (did bool, err error) {
	select {
	case err := <-o.ended:
		return true, err
	case <-o.none:
	case <-ctx.Done():
	}
	h.mu.Lock()
	if o.given {
		h.mu.Unlock()
		return true, <-o.ended // it ends with its connection
	}
	o.left = true
	delete(h.offers, number)
	h.mu.Unlock()
	return false, nil
}

// refuse dismisses offers that got nothing in a plan and do not want to wait. One that came
// after the plan waits for the next.
func (h *Host) refuse(planned []schedule.Slot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range planned {
		if o := h.offers[s.Number]; o != nil && o.once {
			o.dismiss()
		}
	}
}
