package supervisor

import (
	"fmt"
	"time"
)

// Limits bound an agent's sustained use of resources (BOOT-4), [guard] in the settings.
type Limits struct {
	CPU    float64       // processors
	Window time.Duration // CPU must be exceeded on average over this time
	Memory int64         // bytes
	Logs   int64         // bytes
}

// Excess says which limit an agent exceeded.
type Excess struct {
	Kind string // cpu, memory, logs or stopped
	Text string // for the PM
	Own  bool   // the agent itself used most of it, rather than its commands for a directive
}

// guard watches one run of the agent. It uses the monotonic clock, because the wall clock may jump.
type guard struct {
	limits Limits
	usage  func() (all, own use)
	output func() int64 // bytes that were printed
	logs   func() int64 // bytes in the directory of logs

	samples []sample
	high    int // samples in a row above the memory limit
	still   int // samples in a row in which the agent was stopped
}

// use is the processor time so far and the present memory, in bytes, of some processes.
type use struct {
	cpu     time.Duration
	memory  int64
	stopped bool // one of them is stopped by a signal or a debugger
}

// maxStill is the number of samples in a row, one per second, in which an agent may be stopped. It counts
// samples and not time, because the watcher may be stopped, too, or the machine asleep.
const maxStill = 60

// sample is the processor time of all processes, and of the agent itself, at one moment.
type sample struct {
	at        time.Time
	used, own time.Duration
}

// look takes a sample and returns the exceeded limit, nil for none.
func (g *guard) look(now time.Time) *Excess {
	all, own := g.usage()
	if g.high++; all.memory <= g.limits.Memory {
		g.high = 0
	}
	if g.high > 1 { // a single sample may be a short peak
		return &Excess{"memory", fmt.Sprintf(
			"The agent's processes used %d MiB of memory, more than [guard] memory, %d MiB. They were ended, and the agent is started again.", all.memory>>20, g.limits.Memory>>20),
			own.memory > all.memory/2}
	}
	if g.still++; !own.stopped {
		g.still = 0
	}
	if g.still > maxStill { // a stopped agent cannot end its commands or enforce its own time limits
		return &Excess{"stopped", fmt.Sprintf(
			"The agent was stopped (SIGSTOP, or a debugger) for %d seconds. It was ended, and is started again.", maxStill), false}
	}
	output := g.output()
	if size := max(output, g.logs()); size > g.limits.Logs {
		return &Excess{"logs", fmt.Sprintf(
			"The agent wrote %d MiB of logs, more than [guard] logs, %d MiB. It was ended, logs/ was emptied of what is large, and the agent is started again.", size>>20, g.limits.Logs>>20),
			output > g.limits.Logs}
	}
	if share, most := g.share(now, all.cpu, own.cpu); share > g.limits.CPU {
		return &Excess{"cpu", fmt.Sprintf(
			"The agent's processes used %.1f processors for %s without a pause, more than [guard] cpu, %.1f. They were ended, and the agent is started again.", share, g.limits.Window, g.limits.CPU), most}
	}
	return nil
}

// share returns the number of processors used over the last window, 0 before the first complete window,
// and whether the agent itself used most of that.
func (g *guard) share(now time.Time, used, own time.Duration) (processors float64, most bool) {
	g.samples = append(g.samples, sample{now, used, own})
	for len(g.samples) > 1 && now.Sub(g.samples[1].at) >= g.limits.Window {
		g.samples = g.samples[1:]
	}
	first := g.samples[0]
	if now.Sub(first.at) < g.limits.Window {
		return 0, false
	}
	used, own = used-first.used, own-first.own
	return float64(used) / float64(now.Sub(first.at)), own > used/2
}
