package verifier

import (
	"context"
	"maps"
	"slices"
	"strings"

	"git-ward/internal/sources"
	"git-ward/sandbox/verifier/broken"
)

// untried finds, among attempts that hold with everything broken, those that a program of the work's may
// decide and that nobody saw fail (PROOF-3): the command opened the program, holds if it exits with 0
// while it is loaded, and does not hold if it exits with 1. A program that cannot be changed so may do
// the same. A command that held before the work proves nothing.
//
// So `test -f X` and `go vet ./...` are not among them: the first opens no program, and the second runs
// none. Nor is a line that starts the program and compares its output.
//
// An attempt that opened a test file of the work's in which Ward finds no test was not tried, either,
// whatever else decides it: tests with computed names cannot be broken.
func (c *controlling) untried(ctx context.Context, f *Facts, attempts []*tried) error {
	programs := c.programs()
	unread, err := c.unread(ctx)
	if err != nil {
		return err
	}
	var may []*tried
	data, unknown := map[*tried][]string{}, c.unknown(programs)
	for _, a := range attempts {
		i := slices.IndexFunc(f.Replays[0], func(r Run) bool { return r.Command == a.Command })
		if !a.passes || i < 0 {
			continue
		}
		r := f.Replays[0][i]
		opened := func(name string) bool { // what is held out is not watched
			return r.Held || r.Opened != nil && slices.Contains(r.Opened.Files, name)
		}
		ran := slices.DeleteFunc(slices.Collect(maps.Keys(programs)), func(name string) bool { return !opened(name) })
		switch {
		case slices.ContainsFunc(unread, opened):
			a.untried = true
		case a.decided, slices.Contains(c.guards, a.Command):
		case slices.ContainsFunc(ran, broken.MayExit):
			may = append(may, a)
		default:
			a.untried = len(ran) > 0
		}
		if !a.decided && !slices.Contains(c.guards, a.Command) {
			data[a] = slices.DeleteFunc(slices.Clone(unknown), func(name string) bool { return !opened(name) })
		}
	}
	if err := c.exits(ctx, programs, may); err != nil {
		return err
	}
	return c.parses(ctx, attempts, data)
}

// programs lists the work's programs, without its tests.
func (c *controlling) programs() sources.Tree {
	programs := maps.Clone(c.work.do)
	maps.DeleteFunc(programs, func(name, entry string) bool {
		return entry == "" || isTest(name) || !sources.IsProgram(name) && !strings.HasPrefix(entry, "100755 ")
	})
	return programs
}

// isTest reports whether a path has the name of a test, and is not vendored.
func isTest(name string) bool { return sources.IsTest(name) && !sources.IsVendored(name) }

// exits finds out whether the programs of the work decide commands that opened them: the commands hold if
// the programs exit with 0 while they are loaded, and do not hold if they exit with 1.
func (c *controlling) exits(ctx context.Context, programs sources.Tree, may []*tried) error {
	for _, code := range []int{0, 1} {
		if len(may) == 0 {
			return nil
		}
		tree, err := c.rewrite(ctx, c.work.tree, programs, func(name, text string) (string, bool) { return broken.Exits(name, text, code) })
		if err != nil {
			return err
		}
		var commands []Command
		for _, a := range may {
			commands = append(commands, a.Command)
		}
		holds, err := c.holding(ctx, tree, commands, Broken)
		if err != nil {
			return err
		}
		may = slices.DeleteFunc(may, func(a *tried) bool {
			held := slices.Contains(holds, a.Command)
			a.silent = a.silent || !held && code == 0
			a.untried = held == (code == 0)
			return !a.untried
		})
	}
	return nil
}

// unread lists the work's test files that declare tests of which Ward finds none. A vendored file is a
// program, whatever its name.
func (c *controlling) unread(ctx context.Context) (names []string, err error) {
	tests := maps.Clone(c.work.do)
	maps.DeleteFunc(tests, func(name, _ string) bool { return !isTest(name) })
	_, err = c.rewrite(ctx, c.work.tree, tests, func(name, text string) (string, bool) {
		if broken.Unread(name, text) {
			names = append(names, name)
		}
		return "", false
	})
	return names, err
}
