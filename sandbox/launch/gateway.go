package launch

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"path/filepath"
	"sync"
	"time"

	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/runstate"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
	"git-ward/sandbox/fence"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/gateway"
)

// openMeter opens the meter of directives' use, and makes what all gateways of the launch
// share.
func (l *launch) openMeter() (s service, err error) {
	budget := l.spec.Settings.Budget
	l.shared = gateway.NewShared(budget.Calls, budget.FreeCalls)
	if l.meter, err = gateway.OpenMeter(filepath.Join(l.spec.Bare, runstate.MeterPath)); err != nil {
		return s, err
	}
	return service{"the meter", func(ctx context.Context) error {
		<-ctx.Done() // after the gateways have ended
		return l.meter.Close()
	}}, nil
}

// openGateway opens a worker's gateway to the models.
func (w *worker) openGateway() (s service, err error) {
	l, settings := w.launch, w.launch.spec.Settings
	w.Troubles(nil) // those of an earlier one
	prices, err := gateway.ReadPrices(settings.Prices)
	if err != nil {
		return s, err
	}
	cost, err := gateway.ParseMoney(settings.Budget.Cost)
	if err != nil {
		return s, fmt.Errorf("[budget] cost: %w", err)
	}
	m := settings.Model
	anthropic, err := provider(m.AnthropicURL, m.AnthropicKeyFile, l.spec.Getenv("ANTHROPIC_API_KEY"))
	if err != nil {
		return s, err
	}
	openai, err := provider(m.OpenAIURL, m.OpenAIKeyFile, l.spec.Getenv("OPENAI_API_KEY"))
	if err != nil {
		return s, err
	}
	if worker, _ := config.FindWorker(m.Name); worker.ProviderOf(m.ID) == config.Anthropic && anthropic.Key.Subscription() {
		cost = gateway.Unlimited
	}
	g, err := gateway.Listen(gateway.Config{
		Dir: l.scratch.Path, Meter: l.meter, Shared: l.shared,
		Payer: w, Leased: w.job != nil || w.ahead != nil,
		Budget:    gateway.Budget{Tokens: settings.Budget.Tokens, Cost: cost},
		Until:     l.until,
		Models:    settings.Models(),
		Anthropic: anthropic, OpenAI: openai, Prices: prices, PricesOf: config.PricesOf(settings.Prices),
		Allowlist: l.policy.Mode == firewall.Allowlist, Allow: settings.Egress.Allow, Refuses: l.refuses(),
		Log: l.logOf("gateway"),
	})
	if err != nil {
		return s, err
	}
	w.gateway = g.Socket()
	w.tell(func(now *runstate.Worker) { now.Gateway = w.gateway })
	return service{"the gateway", g.Serve}, nil
}

// Directive names who pays for the worker's calls now. Each call is a sign of work.
func (w *worker) Directive() string {
	if w.job == nil {
		return w.launch.payer()
	}
	w.job.Sign()
	now, _ := w.job.Hold.Current(context.Background())
	return now.Directive
}

// refuses returns a test for addresses that the firewall refuses now.
func (l *launch) refuses() func(context.Context) (func(netip.Addr) bool, error) {
	var mu sync.Mutex
	var looked time.Time
	source := fence.Follow(l.policy)
	return func(ctx context.Context) (func(netip.Addr) bool, error) {
		mu.Lock()
		defer mu.Unlock()
		thorough := time.Since(looked) > firewall.RenewAfter
		// The caller cannot cancel a complete renewal, which has its own deadline.
		p, err := source(context.WithoutCancel(ctx), thorough)
		if err != nil {
			return nil, err
		}
		if thorough {
			looked = time.Now()
		}
		return p.Refuses(), nil
	}
}

// provider takes its key from a place that only the host can read: a file, or the launcher's
// environment.
func provider(url, keyFile, fromEnv string) (p gateway.Provider, err error) {
	p.BaseURL = url
	if keyFile != "" {
		p.Key, err = gateway.ReadKey(keyFile)
	} else if fromEnv != "" {
		p.Key, err = gateway.NewKey(fromEnv)
	}
	return p, err
}

// payer names who pays for a user's own command: the directive of the ACTIVE unit, else main's
// oldest open directive, or "shell" if none is open.
func (l *launch) payer() string {
	repo := git.Open(l.spec.Bare)
	if name := activeDirective(repo); name != "" {
		return name
	}
	return cmp.Or(openDirective(repo, l.spec.Settings.Control.Ref()), "shell")
}

// unreadable refuses all calls while it cannot be read whether they may be paid for.
const unreadable = "of a state that cannot be read"

// Held is why a directive's newest unit may not be worked on now: nothing is spent for it
// then, whatever still runs (WORK-3).
func (w *worker) Held(directive string) string {
	l := w.launch
	reader := git.Open(l.spec.Bare).Reader(context.Background())
	defer reader.Close()
	before, _ := l.newest.Load(directive)
	k, _ := before.(int)
	newest, err := state.Newest(reader, directive, k)
	if err != nil {
		return unreadable
	}
	if newest == nil {
		return ""
	}
	l.newest.Store(directive, newest.ID.K)
	last, err := state.Record(reader, newest.Tip)
	switch {
	case err != nil:
		return unreadable
	case last.State == uow.Paused:
		return "paused"
	case last.Event == uow.Cancel:
		return "cancelled"
	}
	return ""
}

// activeDirective is the directive of the first unit that is ACTIVE, "" for none.
func activeDirective(repo *git.Repo) string {
	reader := repo.Reader(context.Background())
	defer reader.Close()
	units, _, _ := state.Units(reader)
	for _, u := range units {
		if last, err := state.Record(reader, u.Tip); err == nil && last.State == uow.Active {
			return last.Directive
		}
	}
	return ""
}

// openDirective is the oldest open directive of the control branch, "" when there is
// none or COMMS.md cannot be read.
func openDirective(repo *git.Repo, control string) string {
	reader := repo.Reader(context.Background())
	defer reader.Close()
	doc, err := state.ReadComms(reader, control)
	if err != nil {
		return ""
	}
	if open := doc.Open(); len(open) > 0 {
		return open[0].Name()
	}
	return ""
}
