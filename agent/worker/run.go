// Package worker takes a directive from push to report: the one that a launcher assigned or, without a
// launcher, each in the order of protocols/schedule. A solver, which is a model with tools or any command,
// works in a clone of its own; the worker pushes the branch and reports (AGT-4).
//
// All state is in refs of the remote. A worker that was killed at any point and started again continues: it
// does not repeat work that the remote's branch has, or a report that main has (AGT-5).
package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"git-ward/agent/interaction"
	"git-ward/agent/launch"
	"git-ward/agent/planrun"
	"git-ward/agent/stop"
	"git-ward/agent/store"
	"git-ward/agent/tool"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/process"
	"git-ward/protocols/comms"
)

// leftoverGrace is how long a killed agent's orphans have to clean up.
const leftoverGrace = 3 * time.Second

// Settings is what Run needs to know.
type Settings struct {
	Store     store.Options
	Config    *config.Config
	Launch    launch.Launch            // what the watcher started
	Once      bool                     // return when nothing is left to do
	Directive string                   // the only one to work on; "" is any
	Stderr    io.Writer                // the log, for a person
	Redact    func(string) string      // removes secrets from logs and commits; may be nil
	Live      io.Writer                // gets the work's events as lines with live.Prefix; may be nil
	Heard     string                   // the directory with the events that the host recorded; "" for none
	Getenv    func(name string) string // of the process
}

// deps are what the work on every directive needs.
type deps struct {
	store  *store.Store
	config *config.Config
	launch launch.Launch
	redact func(string) string
	getenv func(name string) string
	live   *interaction.Live
	heard  string
	only   string // the only directive to work on; "" is any
	log    zerolog.Logger
}

// clean takes secrets out of a text.
func (d *deps) clean(text string) string {
	if d.redact == nil {
		return text
	}
	return d.redact(text)
}

// restart asks the watcher to start a branch. Its error ends the process.
func (d *deps) restart(branch string) error {
	if err := tool.WriteSignal(d.store.State, "bootstrap", branch); err != nil {
		return err
	}
	return tool.Restart()
}

// Run works until no directive is open (Once) or the context ends. It also ends, with nil, when a tool
// writes a signal for the watcher.
func Run(ctx context.Context, set Settings) error {
	if err := planrun.Inside(set.Getenv, ""); err != nil {
		return err
	}
	if err := checkModel(set.Config); err != nil {
		return err
	}
	release, err := store.Lock(ctx, set.Store.State)
	if err != nil {
		return err
	}
	defer release()
	set.Redact = oneAtATime(set.Redact) // the watcher's log is next to the worker's
	log, closeLog, err := openLog(set.Store.State, set.Stderr, set.Redact)
	if err != nil {
		return err
	}
	defer closeLog()
	if n := process.EndTagged(store.Tag(set.Store.State), leftoverGrace); n > 0 {
		log.Warn().Int("processes", n).Msg("ended what the agent before this one left running")
	}
	// Orphans of a worker's commands become this process's children, to be ended with them.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	set.Store.Running, set.Store.Control, set.Store.Redact = set.Launch.Branch, set.Config.Control, set.Redact
	s, err := store.Open(ctx, set.Store)
	if err != nil {
		return err
	}
	d := &deps{store: s, config: set.Config, launch: set.Launch, redact: set.Redact, getenv: set.Getenv, heard: set.Heard, only: set.Directive, log: log}
	s.Folds = set.Launch.Leased
	s.Late = func(what string) {
		log.Warn().Msg(what + " is on the record, and the host has not put it into COMMS.md yet")
	}
	if set.Live != nil {
		d.live = interaction.NewLive(set.Live, set.Redact)
		defer d.live.Close()
	}
	if set.Launch.Log != "" { // reading main also shows that it can work
		if _, err := s.Main(ctx); err != nil {
			return err
		}
	}
	if err := set.Launch.Succeeded(); err != nil {
		return err
	}
	log.Info().Str("bare", set.Store.Bare).Str("model", set.Config.Model.Name).Msg("the agent starts")
	err = d.passes(ctx, set.Once)
	restart := stop.As(err, stop.Restart)
	switch {
	case restart != nil:
		log.Info().Msg(restart.Why)
		return nil
	case ctx.Err() != nil && !set.Once:
		log.Info().Msg("stopped") // as asked
		return nil
	}
	return err
}

// hosted reports whether a launcher assigned the work, and will start another process for what
// this one leaves.
func (d *deps) hosted() bool { return d.launch.Leased && d.only != "" }

// passes makes one pass, or one after each push to main and when the poll time is over. Errors
// are tried again in the next. With a single pass, an open directive whose model did not
// answer is still tried again. A launcher's worker stays while it may find something to do.
func (d *deps) passes(ctx context.Context, once bool) error {
	for {
		watch := d.store.Watch()
		p := &pass{deps: d, worked: map[string]bool{}, failed: map[string]error{}, waits: map[string]bool{}}
		err := p.run(ctx)
		if stop.Is(err, stop.Restart) || ctx.Err() != nil {
			return err
		}
		if d.hosted() {
			if err != nil || once {
				return err
			}
			if again, err := d.linger(ctx); !again {
				return err
			}
			continue
		}
		wait, unclear := d.patience(ctx, once)
		if wait == 0 {
			return errors.Join(err, unclear)
		}
		if err = errors.Join(err, unclear); err != nil {
			d.logError(err)
		}
		if _, err := watch.Wait(ctx, store.LookEvery, time.Now().Add(wait), nil); err != nil {
			return err
		}
	}
}

// logError logs why a pass failed, with the remedy.
func (d *deps) logError(err error) {
	event := d.log.Error().Err(err)
	if hinted, ok := errors.AsType[*diag.Hinted](err); ok {
		event = event.Str("hint", hinted.Hint)
	}
	event.Dur("retry_ms", d.config.Agent.Poll.Duration).Msg("this pass failed; the next one tries again")
}

// endStrays ends a worker's orphans in whatever session and environment: after a grace once
// its context has ended, and when the caller says that the work is over. A paused unit is
// silent, and nothing of an iteration continues into the next (WORK-3).
func endStrays(ctx context.Context, log zerolog.Logger) (over func()) {
	ended, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		select {
		case <-ended:
		case <-ctx.Done():
			select {
			case <-ended:
			case <-time.After(tool.Grace):
				process.EndStrays()
			}
		}
		<-ended
		if n := process.EndStrays(); n > 0 {
			log.Warn().Int("processes", n).Msg("ended what the work left running")
		}
	}()
	return func() { close(ended); <-gone }
}

// work takes one directive to its report. All state is at the remote: after a kill the next
// run reads there how far this one came.
func (d *deps) work(ctx context.Context, main store.Snapshot, source []byte, directive comms.Directive) error {
	log := d.log.With().Str("directive", directive.Name()).Logger()
	w, err := d.store.Work(ctx, directive)
	if err != nil {
		return fmt.Errorf("%s: %w", directive.Name(), err)
	}
	defer w.Close()
	d.live.At(directive.Name(), 0)
	defer d.live.At("", 0)
	if d.config.Agent.Loop {
		err = newUnitRun(d, directive, w, log).run(ctx)
	} else {
		single := &single{deps: d, directive: directive, work: w, log: log}
		err = single.run(ctx, main, source)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", directive.Name(), err)
	}
	return err
}
