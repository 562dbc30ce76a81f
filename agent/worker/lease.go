package worker

import (
	"cmp"
	"context"
	"errors"

	"git-ward/agent/gateway"
	"git-ward/agent/launch"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/lease"
)

// leases asks the host for what this worker may work on (MANY-1): which directive is to be
// worked on the agent knows, and which one it gets the host does. Nil is a process that asks
// nobody, as one that no launcher has started; then it may work on any.
type leases struct {
	base string // of the gateway
	bare *git.Repo
	// looked are the units that this process has left waiting, by their directive's hash: the
	// record that they wait with. Taking them up again before something has changed would be
	// for nothing, and would keep them from others.
	looked map[string]string
	// held are the refs of directives that others had when they were asked for.
	held map[string]git.Mark
}

// maxHeld bounds the refs that are looked at for that they become free.
const maxHeld = 256

func newLeases(l launch.Launch, getenv func(string) string, bare string) (*leases, error) {
	if !l.Leased {
		return nil, nil
	}
	base := cmp.Or(getenv(gateway.Anthropic), getenv(gateway.OpenAI))
	if base == "" {
		return nil, diag.Hint(errors.New("there is no gateway to ask for a directive"), "start the agent by `git ward launch`")
	}
	return &leases{base: base, bare: git.Open(bare), looked: map[string]string{}, held: map[string]git.Mark{}}, nil
}

// mine is the directive that this worker has already: a process before this one was at it.
func (l *leases) mine(ctx context.Context) (string, error) {
	if l == nil {
		return "", nil
	}
	now, err := gateway.Lease(ctx, l.base)
	if now == nil {
		return "", err
	}
	return now.Directive, err
}

// take gets the first of some directives that this worker may have; "" is none, and then why
// says what the host has against the first.
func (l *leases) take(ctx context.Context, directives ...string) (got string, why *lease.Refused, err error) {
	if l == nil {
		return directives[0], nil, nil
	}
	marks := map[string]git.Mark{} // before it is asked: what is given back in between is then seen
	for _, d := range directives[:min(len(directives), maxHeld)] {
		marks[d] = l.bare.Mark(lease.Ref(d))
	}
	granted, err := gateway.TakeLease(ctx, l.base, directives)
	if errors.As(err, &why) {
		for d, mark := range marks {
			if len(l.held) < maxHeld {
				l.held[d] = mark
			}
		}
		return "", why, nil
	}
	return granted.Directive, nil, err
}

// release gives a directive back.
func (l *leases) release(ctx context.Context, directive string) error {
	if l == nil || directive == "" {
		return nil
	}
	return gateway.ReleaseLease(ctx, l.base, directive)
}

// only gives back what this worker has from a process before this one, unless it is a
// directive that something is to be said of: it may say nothing of others meanwhile.
func (l *leases) only(ctx context.Context, directive string) error {
	mine, err := l.mine(ctx)
	if err != nil || mine == directive {
		return err
	}
	return l.release(ctx, mine)
}

// freed reports whether one of the directives that others had is nobody's now. A renewal
// moves the ref, too, and is no news.
func (l *leases) freed() bool {
	if l == nil {
		return false
	}
	for directive, was := range l.held {
		ref := lease.Ref(directive)
		now := l.bare.Mark(ref)
		if now == was {
			continue
		}
		l.held[directive] = now
		if id, err := l.bare.Ref(context.Background(), ref); err == nil && id == git.Zero {
			return true
		}
	}
	return false
}

// rests reports whether this process has left a directive's unit waiting, and nothing has
// changed since.
func (p *pass) rests(ctx context.Context, d comms.Directive) (bool, error) {
	l := p.deps.leases
	if l == nil || l.looked[d.Hash()] == "" {
		return false, nil
	}
	journals, err := p.deps.store.Journals(ctx, d.Name())
	if err != nil || len(journals) == 0 {
		return false, err
	}
	last := journals[len(journals)-1].Last()
	if last.Hash != l.looked[d.Hash()] || p.due(ctx, last) {
		return false, nil
	}
	p.later(last) // this worker waits for it, if it is one to wait
	return true, nil
}
