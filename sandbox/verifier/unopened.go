package verifier

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"git-ward/internal/sources"
)

// lead finds the parts of the work that may lead a command past its checks: a makefile, or a source that
// replaces the module of a test's helper. No setting says which of main's files are checks, so all count
// that the project's manifests do not declare as sources. A file that the PM included with its blob
// does not count: the PM has seen where it leads.
func (d *differences) lead(w *work, base sources.Tree) {
	for name, now := range d.do {
		if before := base[name]; !included(w.claim, name, now) {
			d.leads = append(d.leads, name)
			if !w.source(name) {
				d.settings = append(d.settings, name)
			}
			d.shows = d.shows || before == "" || now == ""
		}
	}
	if len(d.leads) == 0 {
		return
	}
	for name, entry := range base {
		if now, work := d.do[name]; !(work && now == "") && !strings.HasPrefix(entry, "160000 ") && !w.source(name) {
			d.checks = append(d.checks, name)
		}
	}
	slices.Sort(d.checks)
}

// led reports whether some of the work may lead a command past its checks: the command opened it, as far
// as is known, or the work adds or removes files, because a check for existence opens nothing.
func (d *differences) led(f *Facts, cmd Command) bool {
	if cmd.Held { // what it opens says what it asks for
		return false
	}
	i := slices.IndexFunc(f.Replays[0], func(r Run) bool { return r.Command == cmd })
	if i < 0 || f.Replays[0][i].Opened == nil {
		return false
	}
	o := f.Replays[0][i].Opened
	return slices.ContainsFunc(d.leads, func(name string) bool {
		return d.shows || o.Not != "" || slices.Contains(o.Files, name)
	})
}

// heldBefore lists the commands that hold on the base. For those that the work may lead past their
// checks, it records in f which files they open there and not in the runs that decide.
func (c *controlling) heldBefore(ctx context.Context, f *Facts, commands []Command) ([]Command, error) {
	runs, err := c.each(ctx, c.runner, c.base, commands, Step{Note: before}, Job{Checks: c.work.checks})
	if err != nil {
		return nil, err
	}
	led := slices.DeleteFunc(slices.Clone(runs), func(r Run) bool { return !c.work.led(f, r.Command) })
	if len(led) > 0 { // else what is held out was run, and the others said it
		f.unopened(led)
	}
	return c.held(runs), nil
}

// unopened records what commands opened in their runs without the work, and in none of those that decide.
// Where files cannot be observed from outside, as in a virtual machine, it records nothing.
func (f *Facts) unopened(base []Run) {
	missed := map[string]bool{}
	for _, r := range base {
		if r.Opened == nil || r.Opened.Not != "" || len(r.Opened.Checks) == 0 {
			continue
		}
		why := r.Opened.ChecksNot
		opened := map[string]bool{}
		for _, runs := range f.Replays {
			for _, with := range runs {
				if with.Command == r.Command && with.Opened != nil {
					why = cmp.Or(why, with.Opened.ChecksNot)
					for _, name := range with.Opened.Checks {
						opened[name] = true
					}
				}
			}
		}
		f.NotOpenedWhy = cmp.Or(f.NotOpenedWhy, why)
		if why != "" { // no list says more
			continue
		}
		for _, name := range r.Opened.Checks {
			missed[name] = missed[name] || !opened[name]
		}
	}
	maps.DeleteFunc(missed, func(_ string, so bool) bool { return !so })
	f.NotOpened = slices.Sorted(maps.Keys(missed))
}

// observed adds which of the changed paths the runs opened.
func (f *Facts) observed(paths []string, runs []Run) {
	opened, watched := map[string]bool{}, false
	for _, r := range runs {
		if o := r.Opened; o != nil {
			watched = true
			f.NotObserved = cmp.Or(f.NotObserved, o.Not)
			for _, name := range o.Files {
				opened[name] = true
			}
		}
	}
	for _, name := range paths {
		switch {
		case opened[name]:
			f.Opened = append(f.Opened, name)
		case watched: // else every command is held out
			f.NeverOpened = append(f.NeverOpened, name)
		}
	}
}
