package launch

import (
	"context"
	"fmt"
	"time"
)

// startClock ends a launch after [budget] time and grace. Once the time is spent the gateway
// pays for no more calls, and processes inside learn it from a variable. The grace is for
// reports, evidence and closing steps (UOW-3).
func (l *launch) startClock(ctx context.Context) (context.Context, context.CancelFunc) {
	b := l.spec.Settings.Budget
	l.until = time.Now().Add(b.Time.Duration)
	spent := time.AfterFunc(b.Time.Duration, func() {
		l.log.Warn().Str("time", b.Time.String()).Str("grace", b.Grace.String()).Msg("[budget] time is spent; only [budget] grace is left")
	})
	ctx, cancel := context.WithTimeoutCause(ctx, b.Time.Duration+b.Grace.Duration,
		fmt.Errorf("[budget] time, %s, and grace, %s, are spent", b.Time.Duration, b.Grace.Duration))
	return ctx, func() { spent.Stop(); cancel() }
}

// untilText is when [budget] time is spent, for processes inside.
func (l *launch) untilText() string { return l.until.UTC().Format(time.RFC3339Nano) }
