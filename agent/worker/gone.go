package worker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"git-ward/agent/stop"
	"git-ward/agent/store"
	"git-ward/protocols/comms"
	"git-ward/protocols/uow"
)

// gone ends units whose directive the PM removed: otherwise nobody would continue or report
// them (WORK-2). Their work stays. An error with one does not affect the others.
func (p *pass) gone(ctx context.Context, doc *comms.Document) error {
	if !p.deps.config.Agent.Loop {
		return nil
	}
	journals, err := p.deps.store.Orphans(ctx, func(directive string) bool { return doc.Directive(directive) != nil })
	for _, j := range journals {
		if name := j.ID.Directive; p.deps.only == "" || name == p.deps.only {
			err = errors.Join(err, p.end(ctx, j))
		}
	}
	return err
}

// end takes a unit from any state to the archive, and tells the PM first: archived units are
// not read again, so an unsent report would be lost.
func (p *pass) end(ctx context.Context, j *store.Journal) error {
	number, err := strconv.Atoi(strings.TrimPrefix(j.ID.Directive, "D-"))
	if err != nil {
		return err
	}
	u := &unit{store: p.deps.store, config: p.deps.config, directive: comms.Directive{ID: number}, heard: p.deps.heard, log: p.deps.log, journal: j}
	u.keepLost(ctx, nil)
	for _, in := range closing(j.Last()) {
		if in.Event == uow.Archive {
			if err := p.tellGone(ctx, j); err != nil {
				return err
			}
		}
		if err := u.step(ctx, in); err != nil {
			if wait := stop.As(err, stop.Suspended); wait != nil { // the PM was faster
				p.deps.log.Warn().Str("unit", j.ID.String()).Msg(wait.Why)
				return nil
			}
			return fmt.Errorf("%s: %w", j.ID, err)
		}
	}
	return nil
}

// tellGone tells the PM what became of a unit.
func (p *pass) tellGone(ctx context.Context, j *store.Journal) error {
	text := fmt.Sprintf("%s is not among the directives any more, so its unit %s is ended. agent/%s and refs/ward/record/%s hold what was done.",
		j.ID.Directive, j.ID, j.ID.Directive, j.ID)
	return p.deps.store.ReportOnce(ctx, "gone "+j.ID.String(), comms.NewReport{Time: time.Now(), Directive: j.ID.Directive, Status: comms.Info, Text: text})
}

// closing are the agent's steps from a unit's state to the archive.
func closing(last *uow.Record) []uow.Input {
	list := []uow.Input{refinement, archive}
	switch {
	case last.State == uow.Refinement:
		return list[1:]
	case last.State == uow.ZombiedSoft:
		return append([]uow.Input{{Event: uow.Exhaust, Reason: uow.DirectiveGone}}, list...)
	case !last.State.Ended():
		return append([]uow.Input{{Event: uow.Fail, Reason: uow.DirectiveGone}}, list...)
	}
	return list
}
