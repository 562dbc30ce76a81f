package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"git-ward/agent/launch"
	"git-ward/agent/stop"
	"git-ward/agent/store"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/protocols/boot"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// pass works on directives, each once, until none is left that this worker may have.
type pass struct {
	deps   *deps
	worked map[string]bool  // by the directive's hash
	failed map[string]error // those that could not be gone on with, likewise
	waits  map[string]bool  // those without a unit whose model did not answer, likewise
	// retry is how long it is until an open directive is tried again whose model did not
	// answer; 0 where there is none.
	retry time.Duration
}

func (p *pass) run(ctx context.Context) error {
	d := p.deps
	for {
		main, err := d.store.Main(ctx)
		if err != nil {
			return err
		}
		source, doc, err := main.Comms(ctx)
		if err != nil {
			return err
		}
		if d.launch.OnBranch() {
			return (&branchRun{deps: d, doc: doc}).run(ctx)
		}
		if err := p.upgrade(ctx, main); err != nil {
			return err
		}
		next, err := p.pick(ctx, doc)
		if err != nil {
			return err
		}
		if next == nil {
			return errors.Join(p.gone(ctx, doc), p.tidy(ctx, doc), p.leftOpen(doc), p.unknown(ctx, doc), p.trouble())
		}
		p.worked[next.Hash()] = true
		last, err := d.work(ctx, main, source, *next)
		p.later(last)
		if stop.Is(err, stop.Outage) { // the PM is told, and the next pass tries again
			p.waits[next.Hash()], err = true, nil
		}
		if err := p.note(ctx, *next, err); err != nil {
			if ctx.Err() == nil && !stop.Is(err, stop.Restart) { // whoever goes on for this worker has its lease
				err = errors.Join(err, p.done(ctx, *next, nil))
			}
			return err
		}
		if err := p.done(ctx, *next, last); err != nil {
			return err
		}
	}
}

// done gives back a directive, for now or for good.
func (p *pass) done(ctx context.Context, d comms.Directive, last *uow.Record) error {
	l := p.deps.leases
	if l != nil && last != nil {
		l.looked[d.Hash()] = last.Hash
	}
	return l.release(ctx, d.Name())
}

// note keeps what went wrong with one directive, so that the others are gone on with
// (WORK-2), and tells the PM of it once for each text of the directive. What goes wrong
// again blocks the unit. The error ends the pass.
func (p *pass) note(ctx context.Context, d comms.Directive, err error) error {
	if err == nil || ctx.Err() != nil || stop.Is(err, stop.Restart) {
		return err
	}
	p.failed[d.Hash()] = err
	if altered := (*store.Altered)(nil); errors.As(err, &altered) {
		if told := p.deps.store.Accuse(ctx, altered.Directive); told != nil {
			p.deps.log.Warn().Err(told).Msg("the host is not told of the altered journal")
		}
	}
	p.deps.log.Error().Str("directive", d.Name()).Err(err).Msg("it is not gone on with in this pass")
	first, _, _ := strings.Cut(err.Error(), "\n")
	first = diag.Clean(p.deps.clean(first))
	incident := "trouble " + d.Name() + " " + d.Hash()[:12]
	told, again := p.deps.store.Told(ctx, incident)
	if again == nil && told {
		again = p.block(ctx, d, first)
	}
	if again != nil {
		p.deps.log.Warn().Str("directive", d.Name()).Err(again).Msg("its unit goes on being tried")
	}
	text := fmt.Sprintf("The agent could not go on with %s, and tries again with each pass: %s", d.Name(), first)
	report := p.deps.store.ReportOnce(ctx, incident, comms.NewReport{Time: time.Now(), Directive: d.Name(), Status: comms.Info, Text: text})
	if report != nil { // then it is no trouble of this directive's
		return errors.Join(err, report)
	}
	return nil
}

// block suspends the unit of a directive that goes wrong again and again, so that its
// policy's retries end what nobody would see the end of.
func (p *pass) block(ctx context.Context, d comms.Directive, why string) error {
	journals, err := p.deps.store.Journals(ctx, d.Name())
	if err != nil || len(journals) == 0 {
		return err
	}
	n := len(journals) - 1
	u := &unit{store: p.deps.store, config: p.deps.config, directive: d, log: p.deps.log, journal: journals[n], earlier: journals[:n]}
	if last := u.last(); last.State != uow.Active || last.DirectiveHash != d.Hash() {
		return nil
	}
	return u.step(ctx, uow.Input{Event: uow.Block, Reason: uow.Trouble, Note: why})
}

// trouble is what went wrong with directives, all together.
func (p *pass) trouble() error {
	var all []error
	for _, err := range p.failed {
		all = append(all, err)
	}
	return errors.Join(all...)
}

// upgrade ends a process that runs old code: main's moved since it was started.
func (p *pass) upgrade(ctx context.Context, main store.Snapshot) error {
	d := p.deps
	if d.launch.Main == "" || d.launch.Main == main.Project {
		return nil
	}
	same, err := d.store.SameCode(ctx, d.launch.Main, main.Project)
	if err != nil || same {
		return err
	}
	d.log.Info().Str("commit", diag.Short(main.Project)).Msg("main's code moved: starting anew from it")
	return d.restart(boot.Main)
}

// mayGoOnForked reports whether the newest unit of a closed directive was forked for its
// present text, is not put away yet and waits for nobody.
func (p *pass) mayGoOnForked(ctx context.Context, d comms.Directive) (bool, error) {
	if may, err := p.mayBegin(ctx, d); !may || err != nil {
		return false, err
	}
	journals, err := p.deps.store.Journals(ctx, d.Name())
	if err != nil || len(journals) == 0 {
		return false, err
	}
	j := journals[len(journals)-1]
	if !j.Forked() || j.Last().DirectiveHash != d.Hash() || j.Last().State == uow.Archived {
		return false, nil
	}
	return j.Last().State.Ended() || p.due(ctx, j.Last()), nil
}

// due reports whether a unit waits for nobody; one that scratch/STOP stopped waits for
// that to go.
func (p *pass) due(ctx context.Context, last *uow.Record) bool {
	if last.State == uow.ZombiedSoft && last.ReasonCode.Free() {
		main, err := p.deps.store.Look(ctx)
		if err != nil {
			return false
		}
		_, err = main.File(ctx, loop.StopPath, 1<<20)
		return errors.Is(err, fs.ErrNotExist)
	}
	return retryDue(last, p.deps.config)
}

// ask asks one question on a directive. What keeps it from being answered, such as a
// journal that does not hold, is that directive's trouble.
func (p *pass) ask(ctx context.Context, d comms.Directive, may func(context.Context, comms.Directive) (bool, error)) (bool, error) {
	yes, err := may(ctx, d)
	if err != nil {
		p.worked[d.Hash()] = true
		if got, _, taken := p.deps.leases.take(ctx, d.Name()); taken != nil || got == "" {
			return false, taken // it is another worker's trouble
		}
		err = p.note(ctx, d, fmt.Errorf("%s: %w", d.Name(), err))
		return false, errors.Join(err, p.deps.leases.release(ctx, d.Name()))
	}
	return yes, nil
}

// mayBegin reports whether a directive may be taken up: when the launch's time is
// over, only one whose work was begun and has to come to its end. Of any other
// nothing is lost, and the next launch has time of its own.
func (p *pass) mayBegin(ctx context.Context, d comms.Directive) (bool, error) {
	if !p.deps.launch.Over() {
		return true, nil
	}
	if !p.deps.config.Agent.Loop {
		return false, nil
	}
	journals, err := p.deps.store.Journals(ctx, d.Name())
	if err != nil || len(journals) == 0 {
		return false, err
	}
	return begun(journals[len(journals)-1], d), nil
}

// mayGoOn reports whether the unit of a suspended directive waits for nobody.
func (p *pass) mayGoOn(ctx context.Context, d comms.Directive) (bool, error) {
	if may, err := p.mayBegin(ctx, d); !may || err != nil {
		return false, err
	}
	journals, err := p.deps.store.Journals(ctx, d.Name())
	if err != nil || len(journals) == 0 {
		return false, err
	}
	return p.due(ctx, journals[len(journals)-1].Last()), nil
}

// later notes when a unit is tried again whose model did not answer; nil is none.
func (p *pass) later(last *uow.Record) {
	if last == nil || last.State != uow.ZombiedSoft || last.ReasonCode != uow.TransientFailure || last.RetriesSpent() {
		return
	}
	wait := max(untilRetry(last, p.deps.config), time.Second)
	if p.retry == 0 || wait < p.retry {
		p.retry = wait
	}
}

// begun reports whether a unit is in the middle of an iteration, or has ended and
// is not put away yet. One that the PM made ACTIVE again after its last step waits
// for the next launch: it would be ended at once.
func begun(j *store.Journal, d comms.Directive) bool {
	last := j.Last()
	if last.DirectiveHash != d.Hash() || last.State.Ended() {
		return last.DirectiveHash == d.Hash()
	}
	for _, r := range slices.Backward(j.Records) {
		if !r.Remark() {
			return last.State == uow.Active && (r.Event == uow.Iterate || r.Event == uow.MakeClaim)
		}
	}
	return false
}

// retryDue tells a unit that somebody made ACTIVE again, that the policy's retry is due
// for, or that is over and the agent's to put away, from one that waits.
func retryDue(last *uow.Record, c *config.Config) bool {
	switch last.State {
	case uow.Active, uow.Pending, uow.Completed, uow.Failed, uow.Refinement:
		return true
	case uow.ZombiedSoft:
		return last.ReasonCode.Passes() && untilRetry(last, c) <= 0
	}
	return false
}

// tidy removes working clones of directives that are closed and merged.
func (p *pass) tidy(ctx context.Context, doc *comms.Document) error {
	keep := make(map[string]bool)
	for _, d := range doc.Directives {
		if doc.State(d) != comms.Closed {
			keep[d.Name()] = true
		}
	}
	removed, err := p.deps.store.Tidy(ctx, func(name string) bool { return keep[name] })
	for _, name := range removed {
		p.deps.log.Info().Str("directive", name).Msg("merged: removed its working clone")
	}
	return err
}

// unknown is the error of a pass on a directive that there is not, and never was.
func (p *pass) unknown(ctx context.Context, doc *comms.Document) error {
	only := p.deps.only
	if only == "" || doc.Directive(only) != nil {
		return nil
	}
	journals, err := p.deps.store.Journals(ctx, only)
	if err != nil || len(journals) > 0 {
		return err
	}
	return fmt.Errorf("%s is not among the directives", only)
}

// leftOpen is the error of a pass that the launch's time was too short for.
func (p *pass) leftOpen(doc *comms.Document) error {
	open := doc.Open()
	if !p.deps.launch.Over() || len(open) == 0 {
		return nil
	}
	var names []string
	for _, d := range open {
		names = append(names, d.Name())
	}
	return diag.Hint(fmt.Errorf("%s; still open: %s", launch.TimeSpent, strings.Join(names, ", ")), "the next launch takes them up, with time of its own")
}
