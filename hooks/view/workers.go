package view

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"git-ward/hooks/leases"
	"git-ward/internal/diag"
	"git-ward/internal/runstate"
)

// maxWorkers bounds the shown workers; no more leases are read.
const maxWorkers = 1000

// workers lists the holders of leases and the local launcher's workers. A lease that is unreadable or
// has impossible times becomes a warning, because no worker gets its directive until a person has
// fixed it.
func (s *Source) workers(ctx context.Context, o *Overview) error {
	batch := s.repo.Batch(ctx)
	defer batch.Close()
	entries, err := leases.List(ctx, s.repo, batch, time.Now())
	if err != nil {
		return err
	}
	told := map[string]runstate.Worker{} // by holder
	if s.bare && runstate.MayAsk(s.dir) == nil {
		for _, w := range runstate.Workers(s.dir) {
			told[w.Holder] = w
		}
	}
	for _, e := range entries[:min(len(entries), maxWorkers)] {
		if e.Broken != nil {
			o.Warnings = append(o.Warnings, diag.Clean(strings.Join(append([]string{e.Broken.Error()}, diag.Hints(e.Broken)...), ": ")))
			continue
		}
		l := e.Lease
		w := Worker{Directive: e.Directive, Holder: l.Holder, Where: diag.Clean(l.Where), Since: l.Since, Until: l.Until, Live: e.Lost(l.ID) == ""}
		if t, ok := told[l.Holder]; ok && t.Lease == l.ID {
			w.Doing, w.Why = t.Doing, t.Why
			delete(told, l.Holder)
		}
		o.Workers = append(o.Workers, w)
	}
	for _, t := range told { // the rest has no lease
		o.Workers = append(o.Workers, Worker{Directive: t.Directive, Holder: t.Holder, Where: t.Where, Doing: t.Doing, Why: t.Why, Since: t.Since})
	}
	slices.SortFunc(o.Workers, func(a, b Worker) int {
		return cmp.Or(cmp.Compare(place(a.Directive), place(b.Directive)), cmp.Compare(a.Holder, b.Holder))
	})
	for i := range o.Workers {
		o.Workers[i].Words = o.Workers[i].words()
	}
	return nil
}

// place returns the number of a directive, for sorting; other names come last.
func place(directive string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(directive, "D-"))
	if err != nil {
		return math.MaxInt
	}
	return n
}

// doingWords describes the states of the local launcher's workers.
var doingWords = map[string]string{
	runstate.Works: "works", runstate.Starts: "is about to start", runstate.Restarts: "ended unexpectedly, and is started again", runstate.Stopped: "was stopped",
}

// words describes a worker on one line: who, where, what, and until when.
func (w Worker) words() string {
	doing := doingWords[w.Doing]
	if w.Directive == "" && w.Doing == runstate.Works {
		doing = "is free"
	}
	if doing == "" { // a worker of another launcher
		doing = "works"
	}
	text := w.Holder + " (" + cmp.Or(w.Where, "nobody says where") + ") "
	switch until := w.Until.UTC().Format(time.RFC3339); {
	case w.Until.IsZero():
		text += doing
	case w.Live:
		text += doing + ", its lease is valid until " + until
	default:
		text += "is silent: its lease ended at " + until
	}
	if w.Why != "" {
		text += "; " + w.Why
	}
	return diag.Clean(text)
}

// Several reports whether the list of workers is worth showing: there is more than one, or the only one
// is elsewhere or does not work.
func (o *Overview) Several() bool {
	return len(o.Workers) > 1 || len(o.Workers) == 1 && o.Workers[0].Doing != runstate.Works
}

// worker returns the holder of a directive's lease; nil for none.
func (o *Overview) worker(directive string) *Worker {
	for i := range o.Workers {
		if w := &o.Workers[i]; w.Directive == directive && !w.Until.IsZero() {
			return w
		}
	}
	return nil
}

// Verdict returns the progress of a unit's verdict; nil if none is being made, and in a clone.
func (o *Overview) Verdict(unit string) *runstate.Judging {
	if o.Host == nil {
		return nil
	}
	if i := slices.IndexFunc(o.Host.Verdicts, func(v runstate.Judging) bool { return v.Unit == unit }); i >= 0 {
		return &o.Host.Verdicts[i]
	}
	return nil
}
