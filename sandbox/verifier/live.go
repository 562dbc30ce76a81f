package verifier

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"git-ward/internal/diag"
)

// Live is a running command's output, for people who watch.
type Live struct{ out atomic.Pointer[output] }

// show is called by the runner when there is output to look at.
func (l *Live) show(out *output) {
	if l != nil {
		l.out.Store(out)
	}
}

// LastLine returns the last line so far that is not blank, of both streams, as the program printed it,
// cut to what a verdict shows.
func (l *Live) LastLine() string {
	out := l.out.Load()
	if out == nil {
		return ""
	}
	out.mu.Lock()
	defer out.mu.Unlock()
	said := bytes.TrimRight(out.tail, " \t\r\n")
	begin := bytes.LastIndexAny(said, "\r\n") + 1
	return endOf(said[begin:], lineSize, begin == 0 && out.total > int64(len(out.tail)))
}

// lookInterval is the time between two looks at a command that runs.
const lookInterval = 2 * time.Second

// watch runs one command and reports its start, its state at each interval, and its end, in this order.
func (c *Claim) watch(ctx context.Context, r Runner, job Job, at Step) (Outcome, error) {
	return c.Watch(at, func(live *Live) (Outcome, error) {
		job.Live = live
		return r.Run(ctx, job)
	})
}

// Watch runs a step of the claim's verification and reports its progress. Each run for a claim passes
// here, so this is where a held-out command loses all but whether it held, and reports neither output
// nor time on the way.
func (c *Claim) Watch(at Step, run func(*Live) (Outcome, error)) (o Outcome, err error) {
	c.tell(at)
	live := new(Live)
	if at.Held {
		whole, err := run(live)
		if err != nil {
			return o, err
		}
		o = whole.blank()
		at.Ended = &o
		c.tell(at)
		return o, nil
	}
	if c.Progress != nil {
		over := make(chan struct{})
		looked := make(chan struct{})
		go func() {
			defer close(looked)
			c.look(live, at, over)
		}()
		defer func() {
			close(over)
			<-looked
			if at.Ended = &o; err == nil {
				c.tell(at)
			}
		}()
	}
	return run(live)
}

// look reports how far a command is, until it ends.
func (c *Claim) look(l *Live, at Step, over <-chan struct{}) {
	ticks := time.NewTicker(lookInterval)
	defer ticks.Stop()
	for start := time.Now(); ; {
		select {
		case <-over:
			return
		case <-ticks.C:
			at.Elapsed, at.Says = time.Since(start), l.LastLine()
			c.tell(at)
		}
	}
}

func (c *Claim) tell(s Step) {
	if c.Progress != nil {
		s.Says = c.Redacted(s.Says)
		c.Progress(s)
	}
}

// Redacted removes secrets from a text that commands printed.
func (c *Claim) Redacted(text string) string {
	if c.Redact == nil || text == "" {
		return text
	}
	return c.Redact(text)
}

// Words says how far a verification is, for a person: one line, cleaned.
func (s Step) Words() string {
	words := s.Name + ": "
	switch {
	case s.Note != "":
		words = fmt.Sprintf("run %s, %s", s.Note, words)
	case s.With:
		words = fmt.Sprintf("run %d of %d (all of the claim), %s", s.Run, s.Runs, words)
	case s.Runs > 0: // else it is none of the runs of all commands
		words = fmt.Sprintf("run %d of %d, %s", s.Run, s.Runs, words)
	}
	switch {
	case s.Ended != nil && s.Held:
		return words + map[bool]string{true: "met", false: "not met"}[s.Ended.OK()]
	case s.Ended != nil && s.Ended.OK():
		return words + "ok after " + s.Ended.Time.Round(time.Millisecond).String()
	case s.Ended != nil:
		return words + fmt.Sprintf("%s %d after %v", s.Ended.End, s.Ended.Exit, s.Ended.Time.Round(time.Millisecond))
	case s.Elapsed == 0:
		return words + diag.Clean(s.Shown())
	case s.Says == "":
		return words + fmt.Sprintf("%v, silent so far", s.Elapsed.Round(time.Second))
	}
	return words + fmt.Sprintf("%v, says: %s", s.Elapsed.Round(time.Second), shortened(diag.Clean(s.Says)))
}

// maxSays bounds what is shown of an output's last line, in characters.
const maxSays = 100

func shortened(s string) string {
	if runes := []rune(s); len(runes) > maxSays {
		return string(runes[:maxSays-3]) + "..."
	}
	return s
}
