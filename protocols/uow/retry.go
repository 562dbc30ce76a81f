package uow

import "time"

// The limits for retries of a unit that waits for a service. An outage is not the work's fault, so it
// does not condemn the unit: after the last retry the unit waits for the PM.
const (
	outageRetries = 24
	// reserve is the number of pushes that retries leave for the work and its end.
	reserve = 8
	// mostPauses is the longest pause between two retries, in units of `[agent] retry_pause`.
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

// RetriesSpent reports whether a unit in ZOMBIED_SOFT waits for the PM because it has no retries left.
func (r *Record) RetriesSpent() bool {
	return r.Retries >= r.retryLimit() || r.ReasonCode == TransientFailure && r.retriesLeft() == 0
}

// RetryAfter returns the time from such a unit's last step to its next retry. After an outage, or if its
// program was killed, it grows from one to ten times pause (`[agent] retry_pause`); otherwise it is poll.
func (r *Record) RetryAfter(pause, poll time.Duration) time.Duration {
	if r.ReasonCode != TransientFailure && r.ReasonCode != ProgramKilled {
		return poll
	}
	return pause * time.Duration(min(int64(1)<<min(r.Retries, 4), mostPauses))
}
