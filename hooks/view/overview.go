package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/hookdir"
	"git-ward/internal/live"
	"git-ward/internal/runstate"
	"git-ward/protocols/boot"
	"git-ward/protocols/record"
	"git-ward/protocols/review"
	"git-ward/protocols/standing"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// maxGone bounds the shown directives that are no longer in COMMS.md.
const maxGone = 1000

// Overview returns the repository's present state, or the previous value if nothing has changed.
// Callers must not modify it.
func (s *Source) Overview(ctx context.Context) (*Overview, error) {
	refs, run, err := s.version(ctx) // before anything else is read, so that the next call sees what changes meanwhile
	if err != nil {
		return nil, err
	}
	version := refs
	if run != "" {
		version += "-" + run
	}
	var o *Overview
	err = s.read(ctx, func(r *git.Reader) error {
		if s.last == nil || s.last.Version != version {
			if err := s.look(ctx, r, refs, version); err != nil {
				return err
			}
		}
		o = s.last
		return nil
	})
	return o, err
}

// refs is the data of one version of the refs.
type refs struct {
	version   string
	positions []review.Position
	at        map[string]int     // index of positions, by directive
	broken    map[string]error   // journals that cannot be read, by directive
	records   map[string]string  // tips of the records, by ref
	project   string             // tip of the project's branch, "" for none
	desk      *standing.Snapshot // a cache of what was read
}

// look makes a new overview. It reads the refs only if they have moved.
func (s *Source) look(ctx context.Context, r *git.Reader, version, all string) (err error) {
	if s.refs == nil || s.refs.version != version {
		if err := s.notes.refresh(ctx, s.repo, r); err != nil {
			return err
		}
		s.refs, err = s.positions(reading{r, &s.notes, map[string]string{}})
		clear(s.notes.data)
		if err != nil {
			return err
		}
		s.refs.version = version
	}
	o := &Overview{SchemaVersion: SchemaVersion, Repository: s.Name(), Version: all, Time: time.Now().UTC().Truncate(time.Second),
		Waiting: []Waiting{}, Directives: []Line{}, Warnings: []string{}, Workers: []Worker{}}
	if err := s.host(ctx, o); err != nil {
		return err
	}
	if err := s.workers(ctx, o); err != nil {
		return err
	}
	if err := forgeWaits(r, o); err != nil {
		return err
	}
	run := s.running()
	for _, p := range s.refs.positions {
		line := s.line(p, run)
		if line.Worker = o.worker(p.Name); s.bare {
			line.turn()
		}
		o.Directives = append(o.Directives, line)
		o.Waiting = append(o.Waiting, waits(p, line, s.refs.broken[p.Name])...)
	}
	order(o.Waiting)
	o.index()
	s.last = o
	return nil
}

// index builds the maps by directive, for callers that ask about every directive.
func (o *Overview) index() {
	o.at, o.waits = make(map[string]int, len(o.Directives)), map[string][]Waiting{}
	for i, d := range o.Directives {
		o.at[d.Directive] = i
	}
	for _, w := range o.Waiting {
		o.waits[w.Directive] = append(o.waits[w.Directive], w)
	}
}

// positions returns the positions of the directives in COMMS.md, then of those that it no longer lists.
func (s *Source) positions(r reading) (*refs, error) {
	d, err := s.desk(r)
	if err != nil {
		return nil, err
	}
	all := &refs{broken: map[string]error{}, desk: d}
	if all.records, err = r.Refs(record.Prefix); err != nil {
		return nil, err
	}
	if all.project, err = r.Tip(s.names.ProjectRef()); err != nil {
		return nil, err
	}
	if err := s.recordsAhead(r, d); err != nil {
		return nil, err
	}
	history := func(tip string, commits []string) (state.Ancestry, error) {
		return r.Lineage(tip, commits, standing.Taken)
	}
	broken := func(name string, err error) error { all.broken[name] = err; return nil }
	if all.positions, err = d.Positions(history, broken); err != nil {
		return nil, err
	}
	gone := d.Gone()
	for _, name := range gone[max(0, len(gone)-maxGone):] {
		p, err := d.Position(name, 0)
		if _, ok := errors.AsType[*state.BrokenRecord](err); ok {
			all.broken[name], err = err, nil
		}
		if err != nil {
			return nil, err
		}
		all.positions = append(all.positions, p)
	}
	all.at = make(map[string]int, len(all.positions))
	for i, p := range all.positions {
		all.at[p.Name] = i
	}
	s.forget(d)
	return all, nil
}

// recordsAhead reads the newest records of unknown units in few requests to git.
func (s *Source) recordsAhead(r reading, d *standing.Snapshot) error {
	var files []string
	for _, unit := range d.Units {
		if s.records[unit.Tip] == nil {
			files = append(files, unit.Tip+":"+uow.File)
		}
	}
	return r.Prefetch(files, uow.MaxRecord)
}

// running is the host's live data on directives.
type running struct {
	costs map[string]runstate.Cost
	signs map[string]runstate.Sign
}

// running reads the live data; a partial or unreadable file counts as empty.
func (s *Source) running() (r running) {
	if s.bare {
		r.costs, _ = runstate.Costs(s.dir)
		r.signs = runstate.Signs(s.dir)
	}
	return r
}

// line makes the entry of a directive in a list.
func (s *Source) line(p review.Position, run running) Line {
	line := Line{Standing: review.Stand(p), Residuals: []Point{}}
	line.Words = line.State.Words()
	line.WaitsWords = line.Standing.WaitsWords()
	if p.Report != nil {
		line.Updated = p.Report.Time
	}
	if p.Unit != nil {
		line.Residuals = s.notes.residuals(p.Unit.ID)
		line.Updated = later(line.Updated, parse(p.Unit.Time))
		line.Spent.Iterations, line.Spent.Allowed = p.Unit.Budget.Spent.Iterations, p.Unit.Budget.Total.Iterations
	}
	if p.Directive != nil {
		line.Spent.Bound(p.Directive.Options)
	}
	if p.Verdict != nil {
		at, _ := time.Parse(time.RFC3339, p.Verdict.Time)
		line.Updated = later(line.Updated, at)
	}
	if sign, ok := run.signs[p.Name]; ok {
		line.Sign = &sign
	}
	if events, err := s.tail(line, 1); err == nil && len(events) > 0 {
		line.Live = &events[0]
	}
	if cost, ok := run.costs[p.Name]; ok {
		line.Spent.Tokens, line.Spent.Money, line.Spent.Estimated = &cost.Tokens, &cost.Money, &cost.Estimated
		line.Spent.CountedBy, line.Spent.Prices = review.ByGateway, config.PricesOf(s.settings.Prices)
	}
	return line
}

// tail returns the newest n events of a directive that is in progress or waits; nil in a clone.
func (s *Source) tail(line Line, n int) ([]live.Event, error) {
	if !s.bare || line.State != review.Working && line.State != review.Waiting {
		return nil, nil
	}
	return runstate.Tail(s.dir, line.Directive, n)
}

// host fills in what runs on the host, and warnings.
func (s *Source) host(ctx context.Context, o *Overview) error {
	if !s.bare {
		return nil
	}
	if gone := hookdir.Gone(ctx, s.dir); gone != "" {
		o.Warnings = append(o.Warnings, diag.Clean(gone))
	}
	h := &Host{Control: s.settings.Control.Branch, Project: s.settings.Control.Project, Mode: s.settings.Hooks.Mode, Trouble: map[string]Trouble{}}
	o.Host = h
	if err := s.fallen(ctx, o); err != nil {
		return err
	}
	if runstate.MayAsk(s.dir) != nil {
		return nil
	}
	h.MayAsk = true
	l, running := runstate.Now(s.dir)
	if h.Running = running; running {
		h.PID, h.Since, h.Up = l.PID, l.Since, l.Up
	}
	for _, sign := range runstate.Signs(s.dir) {
		h.LastBeat, h.LastWork = later(h.LastBeat, sign.Beat), later(h.LastWork, sign.Work)
	}
	if h.Verdicts = runstate.JudgingNow(s.dir); len(h.Verdicts) > 0 {
		h.Judging = &h.Verdicts[0]
	}
	if suite, ok := runstate.LastSuite(s.dir); ok && s.settings.Verify.Suite != "" {
		h.Suite = &suite
		if !suite.OK {
			o.Warnings = append(o.Warnings, diag.Clean(suite.Words))
		}
	}
	for _, line := range runstate.Warnings(s.dir, s.settings) {
		o.Warnings = append(o.Warnings, diag.Clean(line))
	}
	troubles, err := runstate.Troubles(s.dir)
	if err != nil {
		return err
	}
	for name, t := range troubles {
		h.Trouble[name] = Trouble{t, diag.Clean(t.Text(name))}
	}
	return nil
}

// fallen warns if the project's program was replaced by an earlier one, or if an agent rolled back
// (BOOT-2).
func (s *Source) fallen(ctx context.Context, o *Overview) error {
	from, err := s.repo.Ref(ctx, boot.PinFrom)
	if err != nil {
		return err
	}
	if to, err := s.repo.Ref(ctx, boot.PinTo); err != nil {
		return err
	} else if from != git.Zero && to != git.Zero {
		o.Warnings = append(o.Warnings, fmt.Sprintf("the agent does not run from %s: it went back from its commit %s to %s, and runs from there until the code of %[1]s moves; a report ROLLBACK in COMMS.md says so",
			diag.Clean(s.settings.Control.Project), diag.Short(from), diag.Short(to)))
	}
	fallen, err := s.repo.Ref(ctx, boot.Fallen)
	if err != nil || fallen == git.Zero {
		return err
	}
	good, err := s.repo.Ref(ctx, boot.LastGood)
	if err == nil {
		o.Warnings = append(o.Warnings, fmt.Sprintf("the agent does not run from %s: the program of its commit %s did not hold. It runs from %s, which held last, until the code of %[1]s moves; a report FALLBACK in COMMS.md says why",
			diag.Clean(s.settings.Control.Project), diag.Short(fallen), diag.Short(good)))
	}
	return err
}

// record returns a unit's newest record, from the cache or by reading it.
func (s *Source) record(r state.Reader, tip string) (*uow.Record, error) {
	if have := s.records[tip]; have != nil {
		return have, nil
	}
	record, err := state.Record(r, tip)
	if err == nil {
		s.records[tip] = record
	}
	return record, err
}

// forget drops cached records that are no longer the newest of a journal.
func (s *Source) forget(d *standing.Snapshot) {
	now := map[string]bool{}
	for _, unit := range d.Units {
		now[unit.Tip] = true
	}
	maps.DeleteFunc(s.records, func(tip string, _ *uow.Record) bool { return !now[tip] })
}

// parse parses a record's time; zero if it is malformed.
func parse(text string) time.Time {
	t, _ := time.Parse(time.RFC3339, text)
	return t
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func sortPoints(list []Point) {
	slices.SortStableFunc(list, func(a, b Point) int { return cmp.Or(cmp.Compare(a.X, b.X), a.Time.Compare(b.Time)) })
}

// turn distinguishes a directive in progress from a queued one by its worker. Only the host knows
// leases, so in a clone nothing is queued. A directive with a worker is in progress even before the
// worker has pushed a unit.
func (l *Line) turn() {
	switch {
	case l.State == review.Open && l.Worker != nil && l.Worker.Live && (l.Worker.Doing == "" || l.Worker.Doing == runstate.Works):
		l.State, l.Words, l.Waits = review.Working, review.Working.Words(), uow.IsAtWork.Waiting(l.Directive, "", "")
	case l.State != review.Working || l.Waits.Cause != uow.WasBegun && l.Waits.Cause != uow.NotBegun:
		return
	case l.Worker != nil && l.Worker.Live:
		l.Waits = uow.IsAtWork.Waiting(l.Directive, l.Unit, "")
	default:
		l.Words, l.Waits = "queued", uow.NobodyAtIt.Waiting(l.Directive, l.Unit, "")
	}
	l.WaitsWords = l.Standing.WaitsWords()
}

// Queued reports whether the directive was begun and has no worker.
func (l Line) Queued() bool { return l.Waits.Cause == uow.NobodyAtIt }

// Cost converts the cost for display, the same in every list and page.
func (c Spent) Cost() review.Cost {
	cost := review.Cost{Iterations: c.Iterations, Allowed: c.Allowed, Tokens: c.Tokens, CountedBy: c.CountedBy, Money: c.Money, Prices: c.Prices, Limits: c.Limits}
	if c.Estimated != nil {
		cost.Estimated = *c.Estimated
	}
	return cost
}

// Words describes the cost for people.
func (c Spent) Words() string { return c.Cost().Words() }
