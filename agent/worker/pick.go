package worker

import (
	"context"
	"fmt"
	"strings"
	"time"

	"git-ward/agent/store"
	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/live"
	"git-ward/protocols/comms"
	"git-ward/protocols/schedule"
)

// known is what the remote's refs say about this process's directives.
func (d *deps) known(ctx context.Context, doc *comms.Document) (*schedule.Known, schedule.Rules, error) {
	reader := git.Open(d.store.Bare).Reader(ctx)
	defer reader.Close()
	k := &schedule.Known{Shared: !d.config.Control.Split()}
	k.Control(doc)
	err := k.Units(reader, d.only)
	rules := rules(d.config, d.launch.Over())
	rules.Only = d.only
	if err == nil {
		rules.Stop, err = schedule.Stop(reader, d.config.Control.Ref())
	}
	return k, rules, err
}

func rules(c *config.Config, spent bool) schedule.Rules {
	return schedule.Rules{Now: time.Now(), Loop: c.Agent.Loop, Retry: c.Agent.RetryPause.Duration, Poll: c.Agent.Poll.Duration, Linger: c.Launch.Linger.Duration, Spent: spent}
}

// next is the directive to work on, nil for none. A launcher's worker is told its directive.
// Without a launcher this process is the schedule's only worker.
func (p *pass) next(ctx context.Context, doc *comms.Document) (*comms.Directive, error) {
	k, rules, err := p.deps.known(ctx, doc)
	if err != nil {
		return nil, err
	}
	s := schedule.State{Rules: rules, Slots: []schedule.Slot{{Number: 1}}, Stopped: map[string]bool{}}
	for _, d := range k.Directives {
		switch {
		case d.Gone: // directives that are gone come last
			continue
		case d.Name == p.deps.only && len(d.Waits) > 0:
			return nil, fmt.Errorf("%s comes after %s", d.Name, strings.Join(d.Waits, ", "))
		case p.worked[d.Hash] && !rules.Loop && d.State == comms.Open && p.failed[d.Hash] == nil && !p.waits[d.Hash]:
			return nil, fmt.Errorf("%s is still open after its report", d.Name)
		}
		s.Directives, s.Stopped[d.Name] = append(s.Directives, d), p.worked[d.Hash]
	}
	plan := schedule.Assign(s)
	if len(plan.Start) == 0 {
		return nil, nil
	}
	return doc.Directive(plan.Start[0].Directive), nil
}

// look is known for callers without a document.
func (d *deps) look(ctx context.Context) (*schedule.Known, schedule.Rules, error) {
	main, err := d.store.Main(ctx)
	if err != nil {
		return nil, schedule.Rules{}, err
	}
	_, doc, err := main.Comms(ctx)
	if err != nil {
		return nil, schedule.Rules{}, err
	}
	return d.known(ctx, doc)
}

// patience is how long a process without a launcher waits for its next pass if no ref moves:
// at most until a unit whose model did not answer is due. 0 means no wait.
func (d *deps) patience(ctx context.Context, once bool) (wait time.Duration, err error) {
	if !once {
		wait = d.config.Agent.Poll.Duration
	}
	k, rules, err := d.look(ctx)
	if err != nil {
		return wait, err
	}
	if at := rules.Outage(k.Directives); !at.IsZero() && (once || time.Until(at) < wait) {
		wait = max(time.Until(at), time.Second)
	}
	return wait, nil
}

// linger keeps a launcher's worker while its directive waits for something that may come soon:
// [launch] linger, unless the launcher wants the slot. It returns true if there is work again.
func (d *deps) linger(ctx context.Context) (again bool, err error) {
	watch := d.store.Watch()
	for began := time.Now(); ; again = true {
		k, rules, err := d.look(ctx)
		if err != nil {
			return false, err
		}
		due, at := schedule.Over, time.Time{}
		if of := k.Directive(d.only); of != nil {
			due, at = rules.Due(of)
		}
		left := rules.Linger - time.Since(began)
		switch {
		case due == schedule.Now:
			return again, nil // otherwise the launcher decides
		case due == schedule.Over || left <= 0:
			return false, nil
		case due == schedule.Later:
			left = min(left, time.Until(at)+time.Second)
		}
		if !again {
			d.live.At(d.only, 0)
			d.live.Tell(live.Event{Kind: live.Waits, Text: "it waits for " + left.Round(time.Second).String() + " at most"})
			d.live.At("", 0)
		}
		if _, err := watch.Wait(ctx, store.LookEvery, time.Now().Add(left), nil); err != nil {
			return false, err
		}
	}
}
