package worker

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"git-ward/internal/diag"
	"git-ward/protocols/comms"
	"git-ward/protocols/lease"
)

// candidate is a directive that may be worth working on, with what tells whether it is.
type candidate struct {
	comms.Directive
	class class
	may   func(context.Context, comms.Directive) (bool, error)
}

// The classes of candidates, in the order in which those of one priority are taken.
type class int

const (
	open      class = iota
	suspended       // with a unit that may go on
	forked          // closed, with a unit that the PM forked since, on the same text
)

// askAtOnce is how many open directives the host is asked for with one question. The other
// classes are asked for one by one, because it takes git to know whether one is worth it.
const askAtOnce = 64

// pick is the directive to work on: the one of the highest priority that waits for nobody
// and that this worker may have, of those the first class's, and of those the oldest. Nil is
// none.
func (p *pass) pick(ctx context.Context, doc *comms.Document) (*comms.Directive, error) {
	mine, err := p.deps.leases.mine(ctx)
	if err != nil {
		return nil, err
	}
	list, err := p.candidates(ctx, doc, mine)
	if err != nil {
		return nil, err
	}
	var asked []comms.Directive
	for i, c := range list {
		may, err := p.wants(ctx, c)
		if err != nil {
			return nil, err
		}
		if may {
			asked = append(asked, c.Directive)
		}
		last := i == len(list)-1 || c.class != open || list[i+1].class != open || len(asked) == askAtOnce || p.deps.leases == nil
		if len(asked) == 0 || !last {
			continue
		}
		if got, err := p.grant(ctx, asked); got != nil || err != nil {
			return got, err
		}
		asked = asked[:0]
	}
	return nil, p.deps.leases.release(ctx, mine) // there is nothing more to do on it
}

// candidates are in the order in which they are to be taken: what this worker has already is
// first.
func (p *pass) candidates(ctx context.Context, doc *comms.Document, mine string) (list []candidate, err error) {
	waits := doc.Waiting()
	add := func(class class, directives []comms.Directive, may func(context.Context, comms.Directive) (bool, error)) {
		for _, d := range directives {
			// What the only one comes after the host says, and that is an error.
			if p.deps.only == "" && len(waits(d)) == 0 || d.Name() == p.deps.only {
				list = append(list, candidate{d, class, may})
			}
		}
	}
	add(open, doc.Open(), p.mayBegin)
	if p.deps.config.Agent.Loop {
		add(suspended, doc.Suspended(), p.mayGoOn)
		further, err := p.forked(ctx, doc)
		if err != nil {
			return nil, err
		}
		add(forked, further, p.mayGoOnForked)
	}
	first := func(c candidate) int {
		if c.Name() == mine {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(first(a), first(b)), cmp.Compare(b.Options.Priority, a.Options.Priority), cmp.Compare(a.class, b.class), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

// forked are directives that a report closed and that have a second unit. Only those
// with one are read.
func (p *pass) forked(ctx context.Context, doc *comms.Document) (list []comms.Directive, err error) {
	further, err := p.deps.store.Further(ctx)
	if err != nil || len(further) == 0 {
		return nil, err
	}
	state := doc.States()
	for _, d := range doc.Directives {
		if further[d.Name()] && state(d) == comms.Closed && !doc.Dropped(d) {
			list = append(list, d)
		}
	}
	return list, nil
}

// wants reports whether a candidate is to be asked for in this pass.
func (p *pass) wants(ctx context.Context, c candidate) (bool, error) {
	switch hash := c.Hash(); {
	case !p.worked[hash]:
	case c.class == open && !p.deps.config.Agent.Loop && p.failed[hash] == nil && !p.waits[hash]:
		return false, fmt.Errorf("%s is still open after its report", c.Name())
	default:
		return false, nil
	}
	may, err := p.ask(ctx, c.Directive, c.may)
	if err != nil || !may || c.class != open {
		return may, err
	}
	return p.ask(ctx, c.Directive, func(ctx context.Context, d comms.Directive) (bool, error) {
		rests, err := p.rests(ctx, d)
		return !rests, err
	})
}

// grant asks the host for one of some directives; nil is none of them.
func (p *pass) grant(ctx context.Context, list []comms.Directive) (*comms.Directive, error) {
	var names []string
	for _, d := range list {
		names = append(names, d.Name())
	}
	got, why, err := p.deps.leases.take(ctx, names...)
	if err != nil {
		return nil, err
	}
	for _, d := range list {
		if d.Name() == got {
			return &d, nil
		}
	}
	p.deps.log.Debug().Strs("directives", names).Err(why).Msg("not this worker's to have now")
	if p.deps.only != "" && why.Why != lease.Closed {
		return nil, diag.Hint(fmt.Errorf("%s is not this worker's: %w", p.deps.only, why), "git ward lease --bare DIR says who has it")
	}
	return nil, nil
}
