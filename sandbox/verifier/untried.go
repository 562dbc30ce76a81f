package verifier

import (
	"context"
	"maps"
	"slices"
	"strings"

	"git-ward/internal/sources"
	"git-ward/sandbox/verifier/broken"
)

// untried are those of the commands, which hold with all broken that can be, of which a program
// of the work's own decided and whose failing nobody saw (PROOF-3): it opened one, and holds
// where that ends its process with 0 as it is loaded, and not where with 1. A program of which
// no such thing can be made may do the same. One that held before the work proves nothing.
//
// So neither `test -f X` nor `go vet ./...` is among them: the first opens no program, and the
// second runs none; nor is a line that starts the program and compares what comes back.
//
// One that opened a test of the work's in which none is found was not tried either, whatever
// else decides it: tests with computed names cannot be broken.
func (c *controlling) untried(ctx context.Context, f *Facts, held, decided []Command) (list []Command, err error) {
	programs := maps.Clone(c.work.do)
	maps.DeleteFunc(programs, func(name, entry string) bool {
		return entry == "" || sources.IsTest(name) || !sources.IsProgram(name) && !strings.HasPrefix(entry, "100755 ")
	})
	unread, err := c.unread(ctx)
	if err != nil {
		return nil, err
	}
	var tried []Command
	for _, r := range f.Replays[0] {
		opened := func(name string) bool { // what is held out is not watched
			return r.Held || r.Opened != nil && slices.Contains(r.Opened.Files, name)
		}
		switch {
		case !slices.Contains(held, r.Command):
		case slices.ContainsFunc(unread, opened):
			list = append(list, r.Command)
		case slices.Contains(decided, r.Command), slices.Contains(c.guards, r.Command):
		default:
			ran := slices.DeleteFunc(slices.Collect(maps.Keys(programs)), func(name string) bool { return !opened(name) })
			if slices.ContainsFunc(ran, broken.MayExit) {
				tried = append(tried, r.Command)
			} else if len(ran) > 0 {
				list = append(list, r.Command)
			}
		}
	}
	for _, code := range []int{0, 1} {
		if len(tried) == 0 {
			break
		}
		tree, err := c.rewrite(ctx, c.work.tree, programs, func(name, text string) (string, bool) { return broken.Exits(name, text, code) })
		if err != nil {
			return nil, err
		}
		holds, err := c.holding(ctx, tree, tried, Broken)
		if err != nil {
			return nil, err
		}
		if code == 1 { // and with 0: it runs no program of the work's
			return without(list, holds), nil
		}
		tried, list = holds, append(list, holds...)
	}
	return list, nil
}

// unread are the work's tests in which none is found, though they declare some.
func (c *controlling) unread(ctx context.Context) (names []string, err error) {
	tests := maps.Clone(c.work.do)
	maps.DeleteFunc(tests, func(name, _ string) bool { return !sources.IsTest(name) })
	_, err = c.rewrite(ctx, c.work.tree, tests, func(name, text string) (string, bool) {
		if broken.Unread(name, text) {
			names = append(names, name)
		}
		return "", false
	})
	return names, err
}
