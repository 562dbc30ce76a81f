package host

import (
	"io"
	"time"
)

// pulse is what is heard of a worker's watcher. The host's lock guards it.
type pulse struct {
	beats  bool          // it has given a sign of life
	mute   time.Duration // that the host has listened since the last one
	passes int           // how much of what the worker prints is being passed on
	passed int           // how much was, by a count
	before int           // passed, a turn ago
}

// listen ends the workers whose watchers are silent for [launch] silence: one that is stopped keeps its directive, and a
// slot, for as long as the launch has time. Time that the host did not live through counts for
// nothing: of a turn that took long, since the host was stopped, the machine slept or is busy, no more
// than a turn counts. Nor does one in which what a worker prints waits for who reads the launch's
// output: its signs wait behind that. A watcher that never gave a sign is an older one, and stays.
func (h *Host) listen(since time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, j := range h.running {
		p := &j.pulse
		if stuck := p.passes > 0 && p.passed == p.before; p.beats && !stuck {
			p.mute += min(since, pollInterval)
		}
		if p.before = p.passed; p.mute > h.Settings.Launch.Silence.Duration {
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

// passing notes that what a worker prints is being passed on.
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
