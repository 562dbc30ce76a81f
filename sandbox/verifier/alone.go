package verifier

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"git-ward/internal/sources"
	"git-ward/sandbox/verifier/broken"
)

// maxAlone bounds how many of a command's tests are broken alone.
const maxAlone = 8

// eachAlone looks for work that recognizes the controls (PROOF-3): it ends its tests' process, or skips
// them, unless it sees that a test is broken. In one run every test reports and none is broken: the
// command has to hold as before, and no test may fail. Then single tests, drawn by the host, are
// broken: the command has to fail because of each.
func (c *controlling) eachAlone(ctx context.Context, f *Facts, attempts []*tried) error {
	said := map[int]bool{}
	for _, a := range attempts {
		maps.Copy(said, a.ran)
	}
	for _, a := range attempts {
		if a.passes || a.silenced || a.unsure || a.Residual || len(a.ran) == 0 {
			continue
		}
		err := c.tellApart(ctx, f, a, said)
		if err == nil && a.unsure && !a.varies && c.drain(a.Command) {
			a.unsure = false
			err = c.tellApart(ctx, f, a, said)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// drain has a command run drained from now on. It reports whether that is new.
func (c *controlling) drain(cmd Command) bool {
	line := drained(cmd.Line)
	if line == "" || c.drains[cmd.Name] != "" {
		return false
	}
	c.drains[cmd.Name] = line
	return true
}

// tellApart tells the tests of one attempt apart: none is broken, and then each.
func (c *controlling) tellApart(ctx context.Context, f *Facts, a *tried, said map[int]bool) error {
	ended, err := c.noneBroken(ctx, a)
	if err != nil {
		return err
	}
	if ended != nil {
		if err := c.rows(ctx, f, a); err != nil {
			return err
		}
		if err := c.replaced(ctx, f, a); err != nil {
			return err
		}
		if err := c.breakEach(ctx, f, a, ended); err != nil {
			return err
		}
	}
	if silent := c.silent(f, a, said); len(silent) > 0 && !a.unsure {
		_, _, ran, err := c.tells(ctx, false, c.work.tree, a.Command, some(silent, broken.Tell), c.work.tree)
		if err != nil {
			return err
		}
		less(silent, ran)
		a.unsure = len(silent) > 0
	}
	return nil
}

// tells runs a command on a tree whose tests report. It returns whether the command holds, which tests
// came to their end, and which ran. anew: the result of an earlier run does not do.
func (c *controlling) tells(ctx context.Context, anew bool, onto string, cmd Command, pick func(int) broken.How, of ...string) (holds bool, ended, ran map[int]bool, err error) {
	tree, err := c.tests(ctx, onto, c.changing(pick), of...)
	if err != nil {
		return false, nil, nil, err
	}
	run, err := c.once(ctx, tree, cmd, anew)
	ended, ran = c.said(&run.Outcome)
	return c.holds(run), ended, ran, err
}

// noneBroken returns the tests that come to their end where none is broken. It returns nil and marks the
// attempt if the command does not hold, if a test that ran before does not run, or if one fails that is
// not expected to. A command held before its tests reported: a test that makes it fail twice now fails
// because it is observed.
func (c *controlling) noneBroken(ctx context.Context, a *tried) (map[int]bool, error) {
	tell := some(nil, broken.Tell)
	holds, ended, ran, err := c.tells(ctx, false, c.work.tree, a.Command, tell, c.work.tree)
	if err != nil {
		return nil, err
	}
	unseen := maps.Clone(a.ran)
	less(unseen, ran)
	fails := maps.Clone(ran)
	less(fails, ended)
	switch {
	case !holds && len(fails) > 0:
		again, ended, ran, err := c.tells(ctx, true, c.work.tree, a.Command, tell, c.work.tree)
		if err != nil {
			return nil, err
		}
		maps.DeleteFunc(fails, func(id int, _ bool) bool { return again || ended[id] || !ran[id] })
		if a.unsure = true; len(fails) == 0 {
			return nil, nil
		}
		own, err := c.readsItself(ctx, a.Command, fails)
		a.varies = !own
		return nil, err
	case !holds, len(unseen) > 0:
		a.unsure = true
		return nil, nil
	case len(fails) > 0:
		if expected, err := c.expected(ctx, a.Command, fails); err != nil || !expected {
			a.unsure = true
			return nil, err
		}
	}
	return ended, nil
}

// readsItself reports whether tests also fail without the work merely because they report, as a test
// does that checks its own lines.
func (c *controlling) readsItself(ctx context.Context, cmd Command, fails map[int]bool) (bool, error) {
	for _, how := range []broken.How{broken.Keep, broken.Tell} {
		holds, _, ran, err := c.tells(ctx, false, c.base, cmd, of(fails, how), c.base)
		if err != nil || holds != (how == broken.Keep) || how == broken.Tell && len(ran) == 0 {
			return false, err
		}
	}
	return true, nil
}

// expected reports whether a command holds without the work while some tests fail, so that their
// failure is expected.
func (c *controlling) expected(ctx context.Context, cmd Command, fails map[int]bool) (bool, error) {
	holds, ended, ran, err := c.tells(ctx, false, c.base, cmd, of(fails, broken.Tell), c.base)
	return holds && !slices.ContainsFunc(slices.Collect(maps.Keys(fails)), func(id int) bool { return ended[id] || !ran[id] }), err
}

// of changes some tests in one way. All others do nothing and pass.
func of(tests map[int]bool, how broken.How) func(int) broken.How {
	return func(id int) broken.How {
		if tests[id] {
			return how
		}
		return broken.Pass
	}
}

// breakEach breaks single tests of those that came to their end where none was broken.
func (c *controlling) breakEach(ctx context.Context, f *Facts, a *tried, ended map[int]bool) error {
	ids := a.draw(ended)
	if len(ended) > maxAlone && !a.Held { // nobody is told how many tests a held-out command has
		if said := fmt.Sprintf("%s: %d of %d tests", a.Name, maxAlone, len(ended)); !slices.Contains(f.Sampled, said) {
			f.Sampled = append(f.Sampled, said)
		}
	}
	ignored, again := map[int]bool{}, true
	for _, id := range ids {
		if err := c.breakOne(ctx, a, id, ended, ignored, &again); err != nil || a.unsure {
			return err
		}
	}
	return c.ignores(ctx, a, ignored)
}

// draw draws the tests of an attempt that are broken, at most maxAlone. A second draw begins with the
// tests of the first: what one of them has shown is not lost by chance.
func (a *tried) draw(ended map[int]bool) []int {
	again := slices.DeleteFunc(slices.Clone(a.drawn), func(id int) bool { return !ended[id] })
	ids := slices.DeleteFunc(slices.Sorted(maps.Keys(ended)), func(id int) bool { return slices.Contains(again, id) })
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	ids = append(again, ids...)
	a.drawn = ids[:min(len(ids), maxAlone)]
	return a.drawn
}

// breakOne breaks one of them. If the command holds, the test is ignored. If other tests fail as well,
// the attempt is unsure after a second try.
func (c *controlling) breakOne(ctx context.Context, a *tried, id int, ended, ignored map[int]bool, again *bool) error {
	defer c.judged.only(c.judged.trees()) // a copy of the project for each test is much
	pick := some(map[int]bool{id: true}, broken.Tell)
	holds, came, ran, err := c.tells(ctx, false, c.work.tree, a.Command, pick, c.work.tree)
	if err != nil {
		return err
	}
	if holds {
		ignored[id] = true
		return nil
	}
	fails := maps.Clone(ran) // of those that came to their end before
	maps.DeleteFunc(fails, func(id int, _ bool) bool { return came[id] || !ended[id] })
	switch {
	case !ran[id]:
		a.unsure = true
	case fails[id], len(fails) > 0 && *again: // one that starts another fails with it, and each time
		holds, came, ran, err := c.tells(ctx, true, c.work.tree, a.Command, pick, c.work.tree)
		if err != nil {
			return err
		}
		changed := holds || slices.ContainsFunc(slices.Collect(maps.Keys(fails)), func(id int) bool { return came[id] || !ran[id] })
		if *again = false; changed || fails[id] {
			a.unsure, a.varies = true, !changed
		}
	}
	return nil
}

// ignores decides, of tests whose failure a command ignores, whether that is the work's doing. A command
// that greps for one test ignores the others without the work, too.
func (c *controlling) ignores(ctx context.Context, a *tried, ignored map[int]bool) error {
	if len(ignored) == 0 {
		return nil
	}
	seen := func(ran map[int]bool) bool {
		return !slices.ContainsFunc(slices.Collect(maps.Keys(ignored)), func(id int) bool { return !ran[id] })
	}
	plain, _, _, err := c.tells(ctx, false, c.base, a.Command, some(nil, broken.Pass), c.base)
	if err != nil {
		return err
	}
	holds, _, ran, err := c.tells(ctx, false, c.base, a.Command, of(ignored, broken.End), c.base)
	if err != nil {
		return err
	}
	// A command that fails there because the work is missing shows nothing about its tests.
	if a.silenced = plain && !holds && len(ran) > 0; a.silenced {
		maps.Copy(a.lost, ignored)
	} else if holds && !seen(ran) { // one that another starts runs where that one does
		if holds, _, ran, err = c.tells(ctx, false, c.base, a.Command, some(ignored, broken.Tell), c.base); err != nil {
			return err
		}
	}
	a.unsure = !a.silenced && !(holds && seen(ran)) // what the base has not was included
	return nil
}

// silent lists tests that the PM included, in files that a command opened, that reported in no command.
func (c *controlling) silent(f *Facts, a *tried, said map[int]bool) map[int]bool {
	silent := map[int]bool{}
	i := slices.IndexFunc(f.Replays[0], func(r Run) bool { return r.Command == a.Command })
	if i < 0 || f.Replays[0][i].Opened == nil {
		return silent
	}
	for id := range c.found {
		file, _, _ := strings.Cut(c.names[id], ": ")
		if slices.Contains(f.Included, file) && !sources.IsVendored(file) && slices.Contains(f.Replays[0][i].Opened.Files, file) && !said[id] {
			silent[id] = true
		}
	}
	return silent
}
