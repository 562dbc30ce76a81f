package host

import (
	"io"
	"time"
)

// pulse is the state of a watcher's signs of life.
type pulse struct {
	beats  bool          // it has ever given a sign of life
	mute   time.Duration // how long the host has listened since the last one
	passes int           // how many pieces of the worker's output are being passed on
	passed int           // how much was, by a count
	before int           // its value one turn ago
}

// listen ends workers whose watchers are silent for [launch] silence: a stopped watcher would
// keep its directive and slot for the whole launch. Time in which the host did not run does
// not count: a long turn (the host was stopped, the machine slept or is busy) counts as one
// turn. A turn in which the worker's output is blocked by a slow reader does not count either,
// because signs of life wait behind that output. A watcher that never gave a sign is of an
// older version and is left alone.
func (h *Host) listen(since time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, j := range h.running {
		p := &j.pulse
		if stuck := p.passes > 0 && p.passed == p.before; p.beats && !stuck {
			p.mute += min(since, pollInterval)
		}
		if p.before = p.passed; p.mute > h.spec.Settings.Launch.Silence.Duration {
			j.cancel(&Ended{errMute})
		}
	}
}

// Lives records a sign of life of the worker's watcher.
func (j *Job) Lives() {
	j.host.mu.Lock()
	defer j.host.mu.Unlock()
	j.pulse.beats, j.pulse.mute = true, 0
}

// Passes is a writer for the worker's output. It tells the host that the output is still read.
func (j *Job) Passes(out io.Writer) io.Writer { return passing{j, out} }

// passing records that a worker's output is being passed on.
type passing struct {
	job *Job
	out io.Writer
}

func (p passing) Write(b []byte) (int, error) {
	p.note(1, 0)
	defer p.note(-1, 1)
	return p.out.Write(b)
}

func (p passing) note(passes, passed int) {
	p.job.host.mu.Lock()
	defer p.job.host.mu.Unlock()
	p.job.pulse.passes += passes
	p.job.pulse.passed += passed
}
