package bootstrap

import (
	"fmt"
	"os"
	"time"
)

// guard watches one run of the agent for what it may not do for ever (BOOT-4).
// Its times are of the monotonic clock: the wall clock may jump.
type guard struct {
	w       *watcher
	output  *capture
	samples []sample
	high    int // samples in a row with too much memory
}

// sample is how much processor time all had used by a moment.
type sample struct {
	at   time.Time
	used time.Duration
}

// look takes a sample and says what is too much, nil while nothing is.
func (g *guard) look() *notice {
	set := g.w.Settings.Guard
	used, memory := g.w.usage()
	if limit := set.Memory; memory > limit {
		g.high++
		if g.high > 1 {
			return &notice{Status: "GUARD", Kind: "memory", Text: fmt.Sprintf(
				"The agent's processes used %d MiB of memory, more than [guard] memory, %d MiB. They were ended, and the agent is started again.", memory>>20, limit>>20)}
		}
	} else {
		g.high = 0
	}
	if size := max(g.output.written(), folderSize(g.w.logs())); size > set.Logs {
		return &notice{Status: "GUARD", Kind: "logs", Text: fmt.Sprintf(
			"The agent wrote %d MiB of logs, more than [guard] logs, %d MiB. It was ended, logs/ was emptied of what is large, and the agent is started again.", size>>20, set.Logs>>20)}
	}
	return g.busy(used, set.CPU, set.CPUWindow.Duration)
}

// busy keeps the samples of one window.
func (g *guard) busy(used time.Duration, limit float64, window time.Duration) *notice {
	now := time.Now()
	g.samples = append(g.samples, sample{now, used})
	for len(g.samples) > 1 && now.Sub(g.samples[1].at) >= window {
		g.samples = g.samples[1:]
	}
	first := g.samples[0]
	if now.Sub(first.at) < window {
		return nil
	}
	if share := float64(used-first.used) / float64(now.Sub(first.at)); share > limit {
		return &notice{Status: "GUARD", Kind: "cpu", Text: fmt.Sprintf(
			"The agent's processes used %.1f processors for %s without a pause, more than [guard] cpu, %.1f. They were ended, and the agent is started again.", share, window, limit)}
	}
	return nil
}

// usage is the processor time and the memory of all that the agent runs. The time
// of the dead is with those who waited for them: the first process and this one
// count with that.
func (w *watcher) usage() (used time.Duration, memory int64) {
	var ticks int64
	list := descendants()
	if w.fenced {
		list = others()
	}
	for _, s := range list {
		ticks += s.ticks + s.waited
		memory += s.memory
	}
	for _, pid := range []int{1, os.Getpid()} {
		if data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && (pid != 1 || w.fenced) {
			s, _ := parseStat(pid, data)
			ticks += s.waited
		}
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, memory
}

// folderSize is what the files of a folder take, in bytes on the disk.
func folderSize(dir string) (size int64) {
	d, err := os.Open(dir)
	if err != nil {
		return 0
	}
	defer d.Close()
	// A folder of very many files is too much whatever they hold.
	names, _ := d.Readdirnames(100_000)
	for _, name := range names {
		size += onDisk(dir + "/" + name)
	}
	return size
}
