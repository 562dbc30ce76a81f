package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"git-ward/agent/launch"
	"git-ward/agent/stop"
	"git-ward/agent/store"
	"git-ward/internal/diag"
	"git-ward/protocols/boot"
	"git-ward/protocols/comms"
	"git-ward/protocols/uow"
)

// pass works on directives, each once, until none is left for this worker.
type pass struct {
	deps   *deps
	worked map[string]bool  // by the directive's hash
	failed map[string]error // those that failed, likewise
	waits  map[string]bool  // those without a unit whose model did not answer, likewise
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
		next, err := p.next(ctx, doc)
		if err != nil {
			return err
		}
		if next == nil {
			return errors.Join(p.gone(ctx, doc), p.tidy(ctx, doc), p.leftOpen(doc), p.unknown(ctx, doc), p.trouble())
		}
		p.worked[next.Hash()] = true
		err = d.work(ctx, main, source, *next)
		if stop.Is(err, stop.Outage) { // the PM is told, and the next pass tries again
			p.waits[next.Hash()], err = true, nil
		}
		if err := p.note(ctx, *next, err); err != nil {
			return err
		}
	}
}

// note records an error with one directive, so that the others continue (WORK-2), and tells
// the PM once for each text of the directive. A repeated error blocks the unit. A returned
// error ends the pass.
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
	told, again := p.deps.store.Told(ctx, d.Name(), incident)
	if again == nil && told {
		again = p.block(ctx, d, first)
	}
	if again != nil {
		p.deps.log.Warn().Str("directive", d.Name()).Err(again).Msg("its unit goes on being tried")
	}
	text := fmt.Sprintf("The agent could not go on with %s, and tries again with each pass: %s", d.Name(), first)
	report := p.deps.store.ReportOnce(ctx, incident, comms.NewReport{Time: time.Now(), Directive: d.Name(), Status: comms.Info, Text: text})
	if report != nil { // it is not this directive's trouble then
		return errors.Join(err, report)
	}
	return nil
}

// block suspends a unit that fails again and again, so that its policy's retries end it.
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

// trouble joins the directives' errors.
func (p *pass) trouble() error {
	var all []error
	for _, err := range p.failed {
		all = append(all, err)
	}
	return errors.Join(all...)
}

// upgrade ends a process that runs old code: main has moved since its start.
func (p *pass) upgrade(ctx context.Context, main store.Snapshot) error {
	d := p.deps
	if d.launch.Main == "" || d.launch.Main == main.Project {
		return nil
	}
	if same, err := d.store.SameCode(ctx, d.launch.Main, main.Project); err != nil || same {
		return err
	}
	d.log.Info().Str("commit", diag.Short(main.Project)).Msg("main's code moved: starting anew from it")
	return d.restart(boot.Main)
}

// tidy removes working clones of closed, merged directives.
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

// unknown is the error for a directive that does not exist and never did.
func (p *pass) unknown(ctx context.Context, doc *comms.Document) error {
	only := p.deps.only
	if only == "" || doc.Directive(only) != nil {
		return nil
	}
	if journals, err := p.deps.store.Journals(ctx, only); err != nil || len(journals) > 0 {
		return err
	}
	return fmt.Errorf("%s is not among the directives", only)
}

// leftOpen is the error of a pass that ran out of the launch's time.
func (p *pass) leftOpen(doc *comms.Document) error {
	if !p.deps.launch.Over() {
		return nil
	}
	var names []string
	for _, d := range doc.Open() {
		if p.deps.only == "" || d.Name() == p.deps.only {
			names = append(names, d.Name())
		}
	}
	if len(names) == 0 {
		return nil
	}
	return diag.Hint(fmt.Errorf("%s; still open: %s", launch.TimeSpent, strings.Join(names, ", ")), "the next launch continues them, with its own time")
}
