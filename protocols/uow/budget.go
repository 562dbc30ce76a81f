package uow

// Totals returns a directive's totals for a number of iterations. Each iteration gets a second claim,
// because a merge with a main that has moved is claimed again (HOOK-4). The pushes include checkpoints,
// retries and closing steps.
func Totals(iterations int64) Counts {
	return Counts{Iterations: iterations, Claims: 2 * iterations, Pushes: 6*iterations + 20}
}

// Spent sums what records of one or more journals spent on one text of a directive. A journal may be
// given from any record on. The sum counts steps and ignores the records' ledgers, so that it can check
// them.
func Spent(directiveHash string, journals ...[]*Record) Counts {
	var sum Counts
	for _, records := range journals {
		for _, r := range records {
			if r.DirectiveHash == directiveHash {
				sum = sum.plus(cost(r.Event, r.Actor))
			}
		}
	}
	return sum
}

// cost returns what one record spends.
func cost(e Event, a Actor) Counts {
	var c Counts
	if a == Agent {
		c.Pushes = 1
	}
	switch e {
	case Iterate:
		c.Iterations = 1
	case MakeClaim:
		c.Claims = 1
	}
	return c
}

func (c Counts) plus(d Counts) Counts {
	return Counts{c.Iterations + d.Iterations, c.Claims + d.Claims, c.Pushes + d.Pushes}
}

// within reports whether each count is from low to high.
func (c Counts) within(low, high Counts) bool {
	in := func(n, from, to int64) bool { return from <= n && n <= to }
	return in(c.Iterations, low.Iterations, high.Iterations) && in(c.Claims, low.Claims, high.Claims) && in(c.Pushes, low.Pushes, high.Pushes)
}

// Left returns the remaining budget, never below zero.
func (b Budget) Left() Counts {
	return Counts{
		max(0, b.Total.Iterations-b.Spent.Iterations),
		max(0, b.Total.Claims-b.Spent.Claims),
		max(0, b.Total.Pushes-b.Spent.Pushes),
	}
}

// over names the first total that a step would exceed; "" for none.
func (b Budget) over(c Counts) string {
	left := b.Left()
	switch {
	case c.Iterations > left.Iterations:
		return "iterations"
	case c.Claims > left.Claims:
		return "claims"
	case c.Pushes > left.Pushes:
		return "pushes"
	}
	return ""
}
