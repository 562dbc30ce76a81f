package verifier

import (
	"context"
	"maps"
	"slices"
	"strings"

	"git-ward/internal/sources"
	"git-ward/sandbox/verifier/broken"
)

// untried finds out of the attempts, which hold with all broken that can be, those of which a
// program of the work's own decided and whose failing nobody saw (PROOF-3): it opened one, and holds
// where that ends its process with 0 as it is loaded, and not where with 1. A program of which
// no such thing can be made may do the same. One that held before the work proves nothing.
//
// So neither `test -f X` nor `go vet ./...` is among them: the first opens no program, and the
// second runs none; nor is a line that starts the program and compares what comes back.
//
// One that opened a test of the work's in which none is found was not tried either, whatever
// else decides it: tests with computed names cannot be broken.
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

// programs are the work's, without its tests.
func (c *controlling) programs() sources.Tree {
	programs := maps.Clone(c.work.do)
	maps.DeleteFunc(programs, func(name, entry string) bool {
		return entry == "" || isTest(name) || !sources.IsProgram(name) && !strings.HasPrefix(entry, "100755 ")
	})
	return programs
}

// isTest reports whether a path has the name of a test, and is not what others made.
func isTest(name string) bool { return sources.IsTest(name) && !sources.IsVendored(name) }

// exits finds out of commands that opened a program of the work's whether that decides them: they
// hold where it ends its process with 0 as it is loaded, and not where with 1.
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

// unread are the work's tests in which none is found, though they declare some. What the work
// vendors is a program, whatever its name is.
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
