package verifier

import (
	"context"
	"maps"
	"slices"

	"git-ward/sandbox/verifier/broken"
)

// others is a tree whose tests compare with other values and fail at their end. It lists the changed
// tests, and those whose change is surely in an expected value.
type others struct {
	tree          string
	changed, sure map[int]bool
}

// changer changes the values that a file's tests compare with, or makes their assertions fail.
type changer func(name, text string) (broken.Other, bool)

// others changes the values in the tests of a tree; pick says how each test is changed besides.
func (c *controlling) others(ctx context.Context, change changer, pick func(int) broken.How, of func(rewriter) (string, error)) (o others, err error) {
	o.changed, o.sure = map[int]bool{}, map[int]bool{}
	atEnd := c.changing(pick)
	o.tree, err = of(func(name, text string) (string, bool) {
		if other, ok := change(name, text); ok {
			for test, sure := range other.Tests {
				id := c.id(name, test)
				o.changed[id] = true
				if sure {
					o.sure[id] = true
				}
			}
			text = other.Text
		}
		return atEnd(name, text)
	})
	return o, err
}

// anyValue marks attempts with a test that came to its end whatever it compared with: something else
// answers.
func (c *controlling) anyValue(ctx context.Context, attempts []*tried) error {
	for _, change := range []changer{broken.OtherValues, broken.NoTruths} {
		if err := c.anyOther(ctx, attempts, change); err != nil {
			return err
		}
	}
	return nil
}

func (c *controlling) anyOther(ctx context.Context, attempts []*tried, change changer) error {
	work, err := c.others(ctx, change, allTests, func(how rewriter) (string, error) { return c.tests(ctx, c.work.tree, how, c.work.tree) })
	if err != nil || len(work.changed) == 0 {
		return err
	}
	for _, a := range attempts {
		if a.passes || a.varies || a.any || len(a.ended) == 0 {
			continue
		}
		hold, ran, err := c.came(ctx, work.tree, a)
		if err != nil {
			return err
		}
		which := work.sure
		if len(hold) > 0 && !slices.ContainsFunc(slices.Collect(maps.Keys(a.ended)), func(id int) bool { return !hold[id] }) {
			which = work.changed // the command holds whatever any test compares with
		}
		maps.DeleteFunc(hold, func(id int, _ bool) bool { return !which[id] || !a.ended[id] })
		if err := c.neverCompared(ctx, a, change, allTests, hold); err != nil {
			return err
		}
		if a.any = len(hold) > 0; a.any {
			continue
		}
		behind := slices.DeleteFunc(slices.Sorted(maps.Keys(a.ended)), func(id int) bool { return ran[id] || !which[id] || c.own(id) != "" })
		for _, id := range behind[:min(len(behind), maxBehind)] {
			if a.any, err = c.otherAlone(ctx, a, change, id); err != nil {
				return err
			} else if a.any {
				break
			}
		}
	}
	return nil
}

// maxBehind bounds how many programs are tried alone because another failed before them.
const maxBehind = 4

// otherAlone reports whether a checking program comes to its end whatever it compares with, while all
// others stay as they are: whatever runs them stops at the first failure.
func (c *controlling) otherAlone(ctx context.Context, a *tried, change changer, id int) (bool, error) {
	only := func(name, text string) (o broken.Other, ok bool) {
		if c.names[id] != name {
			return o, false
		}
		return change(name, text)
	}
	tests, pick := map[int]bool{id: true}, some(map[int]bool{id: true}, broken.Keep)
	work, err := c.others(ctx, only, pick, func(how rewriter) (string, error) { return c.tests(ctx, c.work.tree, how, c.work.tree) })
	if err != nil {
		return false, err
	}
	if ended, err := c.whatever(ctx, work.tree, a); err != nil || !ended[id] {
		return false, err
	}
	err = c.neverCompared(ctx, a, only, pick, tests)
	return len(tests) > 0, err
}

// neverCompared removes the tests that hold with other values if the work does nothing, and those that
// hold with any value on the base. A test that fails there with its own values does compare.
func (c *controlling) neverCompared(ctx context.Context, a *tried, change changer, pick func(int) broken.How, tests map[int]bool) error {
	if len(tests) == 0 {
		return nil
	}
	hollow, err := c.others(ctx, change, pick, func(how rewriter) (string, error) {
		return c.hollowed(ctx, func(name, text string) (string, bool) {
			if !broken.CanHollow(name) { // the work is there as it is
				return "", false
			}
			return how(name, text)
		})
	})
	if err != nil {
		return err
	}
	if hollow.tree != "" {
		never, err := c.whatever(ctx, hollow.tree, a)
		if err != nil {
			return err
		}
		less(tests, never)
	}
	if len(tests) == 0 {
		return nil
	}
	base, err := c.others(ctx, change, pick, func(how rewriter) (string, error) { return c.tests(ctx, c.base, how, c.base) })
	if err != nil {
		return err
	}
	never, err := c.whatever(ctx, base.tree, a)
	if err != nil || len(never) == 0 {
		return err
	}
	own, err := c.tests(ctx, c.base, c.changing(pick), c.base)
	if err != nil {
		return err
	}
	held, err := c.whatever(ctx, own, a)
	maps.DeleteFunc(never, func(id int, _ bool) bool { return !held[id] })
	less(tests, never)
	return err
}

// whatever lists the tests that come to their end on a tree in which they fail there.
func (c *controlling) whatever(ctx context.Context, tree string, a *tried) (map[int]bool, error) {
	ended, _, err := c.came(ctx, tree, a)
	return ended, err
}

// came lists the tests that come to their end on such a tree, with each of their rows, and all that run.
func (c *controlling) came(ctx context.Context, tree string, a *tried) (ended, ran map[int]bool, err error) {
	job, err := c.judged.job(ctx, tree)
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(c.plain, func(r Run) bool { return r.Command == a.Command })
	job.Line, job.Keep = telling(c.word, a.Line), true
	o, err := c.claim.Watch(Step{Command: a.Command, Note: Broken}, func(live *Live) (Outcome, error) {
		job.Live = live
		return c.soon(ctx, job, c.plain[i].all().Time)
	})
	ended, ran = c.said(&o)
	less(ended, broken.Failed(c.word, o.all().Said+"\n"+o.all().Tail))
	return ended, ran, err
}
