package command

import (
	"github.com/go-json-experiment/json"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/runstate"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
	"git-ward/protocols/review"
	"git-ward/protocols/uow"
)

// cost is what the work cost, as far as a readable counter says.
func (c *comparer) cost(p review.Position) (cost review.Cost, err error) {
	if p.Unit == nil {
		return cost, nil
	}
	b := p.Unit.Budget
	cost = review.Cost{Iterations: b.Spent.Iterations, Allowed: b.Total.Iterations, Claims: b.Spent.Claims}
	rev := p.Branch
	if id, err := uow.ParseID(p.Unit.ID); err == nil {
		rev = record.Ref(id)
	}
	used, ok := c.used(rev, p.Name)
	if ok {
		calls, seconds := int64(used.ToolCalls), int64(used.Seconds)
		cost.ToolCalls, cost.Seconds = &calls, &seconds
	}
	if p.Directive != nil {
		cost.Bound(p.Directive.Options)
	}
	if err := c.metered(&cost, p.Name); err != nil || used.Model == nil {
		return cost, err
	}
	cost.Count(used.Model.Input + used.Model.Output)
	return cost, nil
}

// used is the loop's own count; a missing or malformed log counts as unknown.
func (c *comparer) used(rev, directive string) (loop.Usage, bool) {
	if rev == "" {
		return loop.Usage{}, false
	}
	data, err := c.reader.File(rev, loop.Dir(directive)+"/"+loop.BudgetFile, loop.MaxEvidence)
	var log loop.BudgetLog
	if err != nil || data == nil || json.Unmarshal(data, &log) != nil {
		return loop.Usage{}, false
	}
	return log.Used(), true
}

// refused is what the host's gateway refused to a directive; a clone cannot see it.
func (c *comparer) refused(directive string) ([]review.Refused, error) {
	list := []review.Refused{}
	if !c.bare() {
		return list, nil
	}
	meter, err := c.meter()
	for _, at := range meter.Refused[directive] {
		list = append(list, review.Refused{Address: diag.Untrusted(at.Address), Setting: at.Setting})
	}
	return list, err
}

// meter reads the gateway's meter, once for all directives.
func (c *comparer) meter() (runstate.Meter, error) {
	if c.metering == nil {
		m, err := runstate.ReadMeter(c.repo.Dir)
		if err != nil {
			return m, err
		}
		c.metering = &m
	}
	return *c.metering, nil
}

// metered adds what the host's gateway counted; a clone cannot see it.
func (c *comparer) metered(cost *review.Cost, directive string) error {
	if !c.bare() {
		return nil
	}
	meter, err := c.meter()
	if used, ok := meter.Costs()[directive]; ok {
		cost.Tokens, cost.CountedBy, cost.Money, cost.Estimated = &used.Tokens, review.ByGateway, &used.Money, used.Estimated
		cost.Prices = config.PricesOf(c.settings.Prices)
	}
	return err
}
