// Package worker takes directives from push to report: it finds the oldest open
// one in COMMS.md of main, lets a worker, a model with tools or any command, work
// on it in a clone of its own, pushes the branch, and reports (AGT-4).
//
// It keeps no state but refs of the remote. Killed at any point and started
// again, it goes on: what the remote's branch says is done is not done again,
// what main's reports answer is not answered again (AGT-5).
package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rs/zerolog"

	"git-ward/agent/stop"
	"git-ward/agent/store"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/process"
	"git-ward/protocols/comms"
)

// leftoverGrace is how long what a killed agent left running may tidy up.
const leftoverGrace = 3 * time.Second

// Settings is what Run needs to know.
type Settings struct {
	store.Options
	Config *config.Config
	Start  Start     // what the watcher started this from
	Once   bool      // return when no directive is open
	Stderr io.Writer // the log, for a person
	// Redact takes secrets out of a text before it goes into the activity log or a
	// step's commit; nil takes none.
	Redact func(string) string
}

// agent is one run.
type agent struct {
	Settings
	store *store.Store
	log   zerolog.Logger
}

// Run works until no directive is open (Once) or until the context ends. A tool
// that writes a signal ends it, too: then it returns nil, and the watcher acts.
func Run(ctx context.Context, set Settings) error {
	if err := checkModel(set.Config); err != nil {
		return err
	}
	release, err := store.Lock(set.State)
	if err != nil {
		return err
	}
	defer release()
	log, closeLog, err := openLog(set.State, set.Stderr)
	if err != nil {
		return err
	}
	defer closeLog()
	if n := process.EndTagged(store.Tag(set.State), leftoverGrace); n > 0 {
		log.Warn().Int("processes", n).Msg("ended what the agent before this one left running")
	}
	set.Running = set.Start.Branch
	s, err := store.Open(ctx, set.Options)
	if err != nil {
		return err
	}
	a := &agent{set, s, log}
	if err := a.succeed(ctx); err != nil {
		return err
	}
	log.Info().Str("bare", set.Bare).Str("model", set.Config.Model.Name).Msg("the agent starts")
	err = a.loop(ctx)
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

// loop makes passes: after a push to main, or when the poll time is over. What
// went wrong in one is tried again in the next.
func (a *agent) loop(ctx context.Context) error {
	for {
		mark := a.store.Mark()
		err := a.pass(ctx)
		if a.Once || stop.Is(err, stop.Restart) || ctx.Err() != nil {
			return err
		}
		if err != nil {
			a.logError(err)
		}
		if err := a.store.Wait(ctx, mark, a.Config.Agent.Poll.Duration); err != nil {
			return err
		}
	}
}

// logError logs why a pass failed, and the remedy if there is one.
func (a *agent) logError(err error) {
	event := a.log.Error().Err(err)
	var hinted *diag.Hinted
	if errors.As(err, &hinted) {
		event = event.Str("hint", hinted.Hint)
	}
	event.Dur("retry_ms", a.Config.Agent.Poll.Duration).Msg("this pass failed; the next one tries again")
}

// pass works on open directives, the oldest first, until there is none.
func (a *agent) pass(ctx context.Context) error {
	worked := make(map[string]bool) // by hash
	for {
		main, err := a.store.Main(ctx)
		if err != nil {
			return err
		}
		source, doc, err := main.Comms(ctx)
		if err != nil {
			return err
		}
		if a.Start.onBranch() {
			return a.hop(ctx, doc)
		}
		if err := a.upgrade(ctx, main); err != nil {
			return err
		}
		d, err := a.pick(ctx, doc, worked)
		if err != nil {
			return err
		}
		if d == nil {
			return errors.Join(a.tidy(ctx, doc), a.leftOpen(doc))
		}
		worked[d.Hash()] = true
		if err := a.directive(ctx, main, source, *d); err != nil {
			return fmt.Errorf("%s: %w", d.Name(), err)
		}
	}
}

// pick is the oldest directive that is open, or suspended with a unit that may go
// on; each once a pass. nil is none.
func (a *agent) pick(ctx context.Context, doc *comms.Document, worked map[string]bool) (*comms.Directive, error) {
	for _, d := range doc.Open() {
		if !worked[d.Hash()] {
			if may, err := a.mayBegin(ctx, d); may || err != nil {
				return &d, err
			}
			continue
		}
		if !a.Config.Agent.Loop {
			return nil, fmt.Errorf("%s is still open after its report", d.Name())
		}
	}
	if !a.Config.Agent.Loop {
		return nil, nil
	}
	for _, d := range doc.Suspended() {
		if worked[d.Hash()] {
			continue
		}
		may, err := a.mayBegin(ctx, d)
		if err != nil {
			return nil, err
		}
		if !may {
			continue
		}
		journals, err := a.store.Journals(ctx, d.Name())
		if err != nil {
			return nil, err
		}
		if n := len(journals); n > 0 && mayGoOn(journals[n-1].Last(), a.Config.Agent.Poll.Duration) {
			return &d, nil
		}
	}
	return nil, nil
}

// tidy removes working clones of directives that are closed and merged.
func (a *agent) tidy(ctx context.Context, doc *comms.Document) error {
	keep := make(map[string]bool)
	for _, d := range doc.Directives {
		if doc.State(d) != comms.Closed {
			keep[d.Name()] = true
		}
	}
	removed, err := a.store.Tidy(ctx, func(name string) bool { return keep[name] })
	for _, name := range removed {
		a.log.Info().Str("directive", name).Msg("merged: removed its working clone")
	}
	return err
}
