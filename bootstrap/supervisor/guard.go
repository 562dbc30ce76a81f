package supervisor

import (
	"fmt"
	"time"
)

// Limits are what an agent may take for long (BOOT-4), [guard] in the settings.
type Limits struct {
	CPU    float64       // processors
	Window time.Duration // for so long without a pause
	Memory int64         // bytes
	Logs   int64         // bytes
}

// Excess is what an agent took too much of.
type Excess struct {
	Kind string // cpu, memory or logs
	Text string // for the PM
}

// guard watches one run of the agent. Its times are of the monotonic clock: the
// wall clock may jump.
type guard struct {
	limits Limits
	usage  func() (cpu time.Duration, memory int64)
	logs   func() int64 // bytes

	samples []sample
	high    int // samples in a row with too much memory
}

// sample is how much processor time all had used by a moment.
type sample struct {
	at   time.Time
	used time.Duration
}

// look takes a sample at a moment and says what is too much, nil while nothing is.
func (g *guard) look(now time.Time) *Excess {
	cpu, memory := g.usage()
	if g.high++; memory <= g.limits.Memory {
		g.high = 0
	}
	if g.high > 1 { // a single sample may be of a moment that passes
		return &Excess{"memory", fmt.Sprintf(
			"The agent's processes used %d MiB of memory, more than [guard] memory, %d MiB. They were ended, and the agent is started again.", memory>>20, g.limits.Memory>>20)}
	}
	if size := g.logs(); size > g.limits.Logs {
		return &Excess{"logs", fmt.Sprintf(
			"The agent wrote %d MiB of logs, more than [guard] logs, %d MiB. It was ended, logs/ was emptied of what is large, and the agent is started again.", size>>20, g.limits.Logs>>20)}
	}
	if share := g.share(now, cpu); share > g.limits.CPU {
		return &Excess{"cpu", fmt.Sprintf(
			"The agent's processes used %.1f processors for %s without a pause, more than [guard] cpu, %.1f. They were ended, and the agent is started again.", share, g.limits.Window, g.limits.CPU)}
	}
	return nil
}

// share is how many processors were used over the last window, 0 before there was
// a whole one.
func (g *guard) share(now time.Time, used time.Duration) float64 {
	g.samples = append(g.samples, sample{now, used})
	for len(g.samples) > 1 && now.Sub(g.samples[1].at) >= g.limits.Window {
		g.samples = g.samples[1:]
	}
	first := g.samples[0]
	if now.Sub(first.at) < g.limits.Window {
		return 0
	}
	return float64(used-first.used) / float64(now.Sub(first.at))
}
