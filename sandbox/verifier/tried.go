package verifier

import (
	"context"
	"maps"
	"slices"
	"strings"

	"git-ward/internal/shellword"
	"git-ward/sandbox/verifier/broken"
)

// tried is a command that held, with the work's tests broken.
type tried struct {
	Command
	passes   bool         // it holds with every test broken
	decided  bool         // and tests decide it
	ended    map[int]bool // the tests that said that they came to their end
	ran      map[int]bool // and all that said something
	left     map[int]bool // those of which nothing was seen
	lost     map[int]bool // those of them that run without the work
	silenced bool         // some of those are there, and the command holds with them broken
	unsure   bool         // what became of some is not known
	varies   bool         // a test fails that holds where nobody looks at it
	drawn    []int        // those that were broken one by one
	any      bool         // a test holds with other values
	untried  bool         // nobody saw it fail, and a program of the work's own decides it
	silent   bool         // it fails where the work's programs end before they do anything
}

// maxRounds bounds how often a command is run again for tests that did not run: a runner that stops at
// the first failure shows one test at a time.
const maxRounds = 8

// telling extends a line so that its output also has what tests reported in the file. It keeps the line's
// exit code. Unfenced, the file is in the run's own directory, which $TMPDIR names.
func telling(word, line string) string {
	return "sh -c " + shellword.Quote(line) + "\nward=$?\ncat \"${TMPDIR:-/tmp}/" + broken.File(word) + "\" >&2 2>/dev/null\nexit $ward\n"
}

// said returns the tests that reported their end in a run, and all that ran.
func (c *controlling) said(o *Outcome) (ended, ran map[int]bool) {
	o = o.all()
	return broken.Said(c.word, o.Said+"\n"+o.Tail)
}

// attempts runs the commands with every test of the work's tree broken. It reads each test's report from
// the output, because an exit code says nothing about one test of many.
func (c *controlling) attempts(ctx context.Context, commands []Command) (list []*tried, err error) {
	tests := map[int]bool{}
	tree, err := c.tests(ctx, c.work.tree, c.changing(all(tests)), c.work.tree)
	if err != nil {
		return nil, err
	}
	if tree == c.work.tree && c.claim.Breaks == "" { // nothing is broken, and all hold
		for _, cmd := range commands {
			list = append(list, &tried{Command: cmd, passes: true})
		}
		return list, nil
	}
	runs, err := c.broken(ctx, tree, commands)
	if err != nil {
		return nil, err
	}
	c.found = tests
	gone, err := c.gone(ctx, tests)
	for _, r := range runs {
		a := &tried{Command: r.Command, passes: c.holds(r), left: maps.Clone(tests), lost: map[int]bool{}}
		ended, ran := c.said(&r.Outcome)
		a.ended, a.ran = ended, ran
		less(a.left, ran)
		if list = append(list, a); err != nil {
			continue
		}
		if a.passes {
			err = c.findUnheard(ctx, a)
		} else {
			err = c.findLost(ctx, a, gone)
		}
	}
	return list, err
}

// gone lists tests of the base that the work's tree lacks because the PM included their removal. A test
// whose name is new in another file has moved there, and is not gone; each new name counts for one.
func (c *controlling) gone(ctx context.Context, tests map[int]bool) (map[int]bool, error) {
	gone, moved := map[int]bool{}, map[string]int{}
	for id := range tests {
		moved[c.own(id)]++
	}
	_, err := c.tests(ctx, c.base, c.changing(func(id int) broken.How {
		if !tests[id] {
			gone[id] = true
		} else {
			moved[c.own(id)]--
		}
		return broken.Keep
	}), c.base)
	for _, id := range slices.Sorted(maps.Keys(gone)) {
		if own := c.own(id); own != "" && moved[own] > 0 {
			moved[own]--
			delete(gone, id)
		}
	}
	return gone, err
}

// own returns a test's name in its file, "" for a checking program.
func (c *controlling) own(id int) string {
	_, own, _ := strings.Cut(c.names[id], ": ")
	return own
}

// findLost finds the tests that run without the work and not with it: they are removed, skipped, or end
// early. A test that did not run may only have come after a failure, so it is broken alone: the command
// then holds only if the test does not run.
func (c *controlling) findLost(ctx context.Context, a *tried, gone map[int]bool) (err error) {
	if len(gone) > 0 {
		if a.lost, err = c.onBaseRan(ctx, a.Command, gone); err != nil {
			return err
		}
	}
	for range maxRounds {
		should, err := c.shouldRun(ctx, a.Command, a.left)
		if err != nil || len(should) == 0 {
			return err
		}
		tree, err := c.tests(ctx, c.work.tree, c.changing(some(should, broken.Keep)), c.work.tree)
		if err != nil {
			return err
		}
		run, err := c.once(ctx, tree, a.Command, false)
		if err != nil {
			return err
		}
		if a.silenced = c.holds(run); a.silenced {
			maps.Copy(a.lost, should)
			return nil
		}
		ended, ran := c.said(&run.Outcome)
		maps.Copy(a.ended, ended)
		maps.Copy(a.ran, ran)
		before := len(a.left)
		if less(a.left, ran); len(a.left) == before {
			break
		}
	}
	a.unsure = true
	return nil
}

// findUnheard finds checking programs that report nothing with the work, of a command that holds although
// they are broken, because its output may decide it. They report on the base, or when they do nothing but
// report. So the work ends them, and what it prints in their place makes the command hold.
func (c *controlling) findUnheard(ctx context.Context, a *tried) error {
	programs := maps.Clone(a.left)
	maps.DeleteFunc(programs, func(id int, _ bool) bool { return c.own(id) != "" })
	should, err := c.onBaseRan(ctx, a.Command, programs)
	if err == nil && len(should) == 0 && len(programs) > 0 {
		var tree string
		if tree, err = c.tests(ctx, c.base, c.alone(some(programs, broken.Pass)), c.base, c.work.tree); err == nil {
			should, err = c.ran(ctx, tree, a.Command, programs)
		}
	}
	maps.Copy(a.lost, should)
	a.decided = len(should) > 0 && !slices.Contains(c.guards, a.Command)
	return err
}

// shouldRun lists the given tests that a command runs on the base, or with work that does nothing. All
// other tests do nothing there, so that none of them fails first.
func (c *controlling) shouldRun(ctx context.Context, cmd Command, tests map[int]bool) (map[int]bool, error) {
	if len(tests) == 0 {
		return nil, nil
	}
	ran, err := c.onBaseRan(ctx, cmd, tests)
	if err != nil || len(ran) > 0 {
		return ran, err
	}
	tree, err := c.hollowed(ctx, c.withoutWork(some(tests, broken.Pass)))
	if err != nil || tree == "" {
		return nil, err
	}
	return c.ran(ctx, tree, cmd, tests)
}

// onBaseRan lists the given tests that a command runs on the base.
func (c *controlling) onBaseRan(ctx context.Context, cmd Command, tests map[int]bool) (map[int]bool, error) {
	if len(tests) == 0 {
		return nil, nil
	}
	tree, err := c.tests(ctx, c.base, c.changing(some(tests, broken.Pass)), c.base)
	if err != nil || tree == c.base {
		return map[int]bool{}, err
	}
	return c.ran(ctx, tree, cmd, tests)
}

// ran lists the given tests that a command runs on a tree.
func (c *controlling) ran(ctx context.Context, tree string, cmd Command, tests map[int]bool) (map[int]bool, error) {
	run, err := c.once(ctx, tree, cmd, false)
	_, ran := c.said(&run.Outcome)
	maps.DeleteFunc(ran, func(id int, _ bool) bool { return !tests[id] })
	return ran, err
}

// once runs a command on a tree, and keeps its output. anew: the result of an earlier run does not do.
func (c *controlling) once(ctx context.Context, tree string, cmd Command, anew bool) (run Run, err error) {
	asked := cmd
	if line := c.drains[cmd.Name]; line != "" {
		cmd.Line = line
	}
	runs, err := c.each(ctx, c.runner, tree, []Command{cmd}, Step{Note: Broken}, Job{Keep: true, Word: c.word, Anew: anew})
	if err == nil {
		run = Run{asked, runs[0].Outcome}
	}
	return run, err
}

// less removes tests from a set.
func less(tests, some map[int]bool) {
	maps.DeleteFunc(tests, func(id int, _ bool) bool { return some[id] })
}
