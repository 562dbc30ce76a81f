package uow

import "time"

// How often a unit is tried again that waits for a service alone. An outage is not the
// work's failing, so it does not end in a dead letter: after the last try the unit waits
// for the PM.
const (
	outageRetries = 24
	// reserve is the number of pushes of the budget that is kept for the work and its end.
	reserve = 8
	// mostPauses is the longest pause between two tries, in pauses of the settings.
	mostPauses = 10
)

// retryLimit is how often the unit may be retried after its last step, by anybody.
func (r *Record) retryLimit() int64 {
	if r.ReasonCode == TransientFailure {
		return max(outageRetries, r.Policy.MaxRetries)
	}
	return r.Policy.MaxRetries
}

// retriesLeft is how often the agent may still retry a unit that waits for a passing cause;
// each retry takes two pushes of the budget.
func (r *Record) retriesLeft() int64 {
	left := r.retryLimit() - r.Retries
	if r.ReasonCode == TransientFailure {
		left = min(left, (r.Budget.Left().Pushes-reserve)/2)
	}
	return max(0, left)
}

// RetriesSpent reports whether a unit that is ZOMBIED_SOFT waits for the PM because it was
// tried again as often as it may be.
func (r *Record) RetriesSpent() bool {
	return r.Retries >= r.retryLimit() || r.ReasonCode == TransientFailure && r.retriesLeft() == 0
}

// RetryAfter is how long after its last step such a unit is tried again: after an outage, or where
// its program was killed, the pause grows from one to ten of `[agent] retry_pause`; for anything
// else it is the poll's.
func (r *Record) RetryAfter(pause, poll time.Duration) time.Duration {
	if r.ReasonCode != TransientFailure && r.ReasonCode != ProgramKilled {
		return poll
	}
	return pause * time.Duration(min(int64(1)<<min(r.Retries, 4), mostPauses))
}
