package launch

import (
	"context"
	"fmt"
	"sync"

	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/state"
	"git-ward/sandbox/gateway"
)

// owns knows what directives' texts allow of their budgets, as on the control branch when a
// call is made, so that a PM's edit applies to running work.
type ownBudgets struct {
	mu  sync.Mutex
	tip string // the version of the control branch that was read
	doc state.Comms
}

// Own is what a directive's text allows.
func (w *worker) Own(directive string) (gateway.Budget, error) {
	l := w.launch
	budget := gateway.Budget{Tokens: gateway.Unlimited, Cost: gateway.Unlimited}
	d, err := l.ownBudgets.find(git.Open(l.spec.Bare), l.spec.Settings.Control.Ref(), directive)
	if err != nil || d == nil {
		return budget, err
	}
	if d.Options.MaxTokens > 0 {
		budget.Tokens = int64(d.Options.MaxTokens)
	}
	if d.Options.MaxCost != "" {
		if budget.Cost, err = gateway.ParseMoney(d.Options.MaxCost); err != nil {
			return budget, fmt.Errorf("%s of %s: %w", comms.KeyMaxCost, directive, err)
		}
	}
	return budget, nil
}

// find is a directive of the control branch, nil if it has none of that name. Each version of
// COMMS.md is read once.
func (o *ownBudgets) find(repo *git.Repo, control, directive string) (*comms.Directive, error) {
	reader := repo.Reader(context.Background())
	defer reader.Close()
	o.mu.Lock()
	defer o.mu.Unlock()
	tip, err := reader.Tip(control)
	if err != nil || tip == "" {
		return nil, err
	}
	if tip != o.tip {
		doc, err := state.ReadComms(reader, tip)
		if err != nil {
			return nil, err
		}
		o.tip, o.doc = tip, doc
	}
	return o.doc.Directive(directive), nil
}
