package verifier

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"

	"git-ward/internal/sources"
	"git-ward/protocols/loop"
	"git-ward/sandbox/verifier/broken"
)

// The controls of a proof (PROOF-3). Before, in which the work is not there, is a part of
// Broken, in which each test fails at its end.
const (
	Broken = "broken"
	before = "before"
)

// Control has the results of a passing command's controls: without the work, and with each
// test failing at its end.
type Control struct {
	Name   string `json:"name"`   // of the command
	Before bool   `json:"before"` // it held without the work, too, and with its tests
	Says   string `json:"says"`   // as protocols/loop has it
}

// controlling is a control under way.
type controlling struct {
	*trying
	work  *overlaid
	base  string // the tree without the work
	plain []Run  // of the commands, on the work's tree
	// before are the commands that held on the base, guards those of them that hold there
	// with the work's tests, too.
	before, guards []Command
	checks         map[string]bool   // programs that check others, by path
	word           string            // by which tests say what they came to
	ids            map[string]int    // of tests, by file and name
	names          []string          // by those
	found          map[int]bool      // those of the work's tree
	drains         map[string]string // drained lines of commands that run so, by the command's name
	putting        map[put][]string  // what puts found; nil: nobody asked
}

// control runs each command that held once more without the work, which shows whether the work made it
// hold, and once with each test failing at its end. A command that tests decide and that still holds
// then cannot fail. Whether tests decide it is asked because work that ends its tests' process with 0
// would otherwise look like a command without tests. base is the tree without the work.
func (t *trying) control(ctx context.Context, f *Facts, work *overlaid, base string, commands []Command) (err error) {
	c := &controlling{trying: t, work: work, base: base, plain: f.Replays[0], word: rand.Text()[:wordSize], ids: map[string]int{}, drains: map[string]string{}}
	if c.checks, err = c.findChecks(ctx); err != nil {
		return err
	}
	if base == work.tree { // identical trees run once
		c.before = commands
	} else if c.before, err = c.heldBefore(ctx, f, commands); err != nil {
		return err
	}
	if c.guards, err = c.withTests(ctx); err != nil {
		return err
	}
	attempts, err := c.attempts(ctx, commands)
	if err == nil {
		err = c.decide(ctx, attempts)
	}
	if err == nil {
		err = c.eachAlone(ctx, f, attempts)
	}
	if err == nil {
		err = c.fileByFile(ctx, attempts)
	}
	if err == nil {
		err = c.anyValue(ctx, attempts)
	}
	if err == nil {
		err = c.oneByOne(ctx, f, attempts)
	}
	if err == nil {
		err = c.untried(ctx, f, attempts)
	}
	if err == nil {
		err = c.readAnswers(ctx, attempts)
	}
	if err == nil {
		err = c.checkers(ctx, f, attempts)
	}
	if err == nil {
		err = c.separate(ctx, f, attempts)
	}
	if err != nil {
		return err
	}
	lost := map[string]bool{}
	for _, a := range attempts {
		guard := slices.Contains(c.guards, a.Command)
		f.Controls = append(f.Controls, Control{a.Name, guard, a.says(guard, t.claim.Breaks != "")})
		for id := range a.lost {
			lost[c.names[id]] = !a.Held || lost[c.names[id]]
		}
	}
	maps.DeleteFunc(lost, func(_ string, shown bool) bool { return !shown })
	f.Lost = append(f.Lost, slices.Sorted(maps.Keys(lost))...)
	return nil
}

// wordSize is the length of the word, in letters: runners cut long lines.
const wordSize = 12

// says returns the control's result for a command. guard: it held without the work, too. byLine: the
// PM's line broke the tests, which then report nothing; tests that Ward broke report.
func (a *tried) says(guard, byLine bool) string {
	switch {
	case a.untried:
		return loop.ControlNotTried
	case a.decided, a.silenced && !guard:
		return loop.ControlCannotFail
	case a.varies:
		return loop.ControlVaries
	case a.any:
		return loop.ControlAnyValue
	case a.passes:
		return loop.ControlNotApplicable
	case !a.Residual && (a.unsure || !byLine && len(a.ended) == 0):
		return loop.ControlNotSeen
	}
	return loop.ControlFails
}

// withTests lists the commands that hold on the base with the work's tests: a command that fails there
// is made to hold by the work.
func (c *controlling) withTests(ctx context.Context) ([]Command, error) {
	tests := maps.Clone(c.work.do)
	maps.DeleteFunc(tests, func(name, entry string) bool { return entry == "" || !sources.IsTest(name) })
	if len(tests) == 0 || len(c.before) == 0 {
		return c.before, nil
	}
	tree, err := writeTree(ctx, c.repo, c.base, tests)
	switch {
	case err != nil:
		return nil, err
	case tree == c.work.tree: // which holds: the tests are all there is of the work
		return c.before, nil
	}
	return c.holding(ctx, tree, c.before, before)
}

// decide finds out whether tests decide the attempts that held.
func (c *controlling) decide(ctx context.Context, attempts []*tried) error {
	for _, by := range []func(context.Context, []Command) ([]Command, error){c.onBase, c.byName, c.withoutBodies} {
		var open []Command
		for _, a := range attempts {
			if a.passes && !a.decided {
				open = append(open, a.Command)
			}
		}
		if len(open) == 0 {
			return nil
		}
		decided, err := by(ctx, open)
		if err != nil {
			return err
		}
		for _, a := range attempts {
			a.decided = a.decided || slices.Contains(decided, a.Command)
		}
	}
	return nil
}

// onBase lists the commands that the base's own tests decide on the base.
func (c *controlling) onBase(ctx context.Context, commands []Command) ([]Command, error) {
	commands = slices.DeleteFunc(slices.Clone(commands), func(cmd Command) bool { return !slices.Contains(c.before, cmd) })
	if len(commands) == 0 {
		return nil, nil
	}
	tree, err := c.tests(ctx, c.base, c.changing(all(map[int]bool{})), c.base)
	if err != nil || tree == c.base && c.claim.Breaks == "" {
		return nil, err
	}
	runs, err := c.broken(ctx, tree, commands)
	return without(commands, c.held(runs)), err
}

// broken runs commands on a tree whose tests fail at their end, after the PM's break line. If that line
// fails, nothing is broken, and no command runs.
func (c *controlling) broken(ctx context.Context, tree string, commands []Command) ([]Run, error) {
	how := Job{Keep: true, Word: c.word}
	if c.claim.Breaks != "" {
		how.Line = "(\n" + c.claim.Breaks + "\n) >/dev/null 2>&1 || exit 0\n"
	}
	return c.each(ctx, c.runner, tree, commands, Step{Note: Broken}, how)
}

// byName lists the commands that tests with nothing but a name decide, on the base, which may lack the
// code under test.
func (c *controlling) byName(ctx context.Context, commands []Command) ([]Command, error) {
	var trees [2]string
	for i, pick := range []func(int) broken.How{some(nil, broken.Pass), all(map[int]bool{})} {
		tree, err := c.tests(ctx, c.base, c.alone(pick), c.base, c.work.tree)
		if err != nil {
			return nil, err
		}
		trees[i] = tree
	}
	if trees[0] == trees[1] {
		return nil, nil
	}
	passes, err := c.holding(ctx, trees[0], commands, Broken)
	if err != nil || len(passes) == 0 {
		return nil, err
	}
	fails, err := c.holding(ctx, trees[1], passes, Broken)
	return without(passes, fails), err
}

// withoutBodies lists the commands that run a test when the work's functions do nothing: a command may
// bring a test of its own, which needs the functions to exist.
func (c *controlling) withoutBodies(ctx context.Context, commands []Command) (come []Command, err error) {
	tree, err := c.hollowed(ctx, c.changing(all(map[int]bool{})))
	if err != nil || tree == "" {
		return nil, err
	}
	runs, err := c.each(ctx, c.runner, tree, commands, Step{Note: Broken}, Job{Keep: true, Word: c.word})
	for _, r := range runs {
		if _, ran := c.said(&r.Outcome); !r.OK() && len(ran) > 0 {
			come = append(come, r.Command)
		}
	}
	return come, err
}

// holding lists the commands that hold on a control's tree.
func (c *controlling) holding(ctx context.Context, tree string, commands []Command, note string) (held []Command, err error) {
	runs, err := c.each(ctx, c.runner, tree, commands, Step{Note: note}, Job{})
	return c.held(runs), err
}

// held lists the commands that held in runs.
func (c *controlling) held(runs []Run) (held []Command) {
	for _, r := range runs {
		if c.holds(r) {
			held = append(held, r.Command)
		}
	}
	return held
}

// holds reports whether a command holds in a run as it did for the verdict: a residual that was zero has
// to be zero.
func (c *controlling) holds(r Run) bool {
	i := slices.IndexFunc(c.plain, func(p Run) bool { return p.Command == r.Command })
	return r.met() && (!r.Residual || i < 0 || r.zero() || !c.plain[i].zero())
}

func without(all, some []Command) []Command {
	return slices.DeleteFunc(slices.Clone(all), func(c Command) bool { return slices.Contains(some, c) })
}
