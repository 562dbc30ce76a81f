package verifier

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"git-ward/internal/sources"
	"git-ward/sandbox/verifier/broken"
)

// maxCheckers bounds of how many of the work's sources it is asked whether a command checks by them.
const maxCheckers = 6

// checkers finds the project's own sources that the work changed, and by which a command that
// tests decide checks the work as well (PROOF-3): what weakens one is a source like any other.
//
//   - A program whose exit code the command believes: it holds where the program ends its process
//     with 0 as it is loaded, and not where with 1, and each test comes to its end all the same. So
//     no test runs in that process, and none asks what the program came to.
//   - A text with values that a test names: it may expect them. The command does not hold where they
//     are as the project has them.
//
// A file that no manifest has for a source, such as a makefile, is one if the command does not hold
// without its change: a glob of the PM's made it work, and it may say how tests are built and run.
//
// What the PM's word names, with its blob or by its very path, is none. A command that held before the
// work is asked, too: the work may have had to weaken what checks it there. Of one that is held out
// the host keeps that something else than its tests decides.
func (c *controlling) checkers(ctx context.Context, f *Facts, attempts []*tried) error {
	mine, err := c.changedSources(ctx)
	if err != nil {
		return err
	}
	add := func(a *tried, name string) {
		l := Left{entryOf(name, c.work.do[name]), kindOf(c.work.main[name], c.work.do[name])}
		if a.Held { // of which no path is told
			a.any = true
		} else if !slices.Contains(f.Checkers, l) {
			f.Checkers = append(f.Checkers, l)
		}
	}
	for _, a := range attempts {
		i := slices.IndexFunc(f.Replays[0], func(r Run) bool { return r.Command == a.Command })
		if a.passes || a.Residual || len(a.ended) == 0 || i < 0 {
			continue
		}
		watched := f.Replays[0][i].Opened
		if watched == nil && !a.Held {
			continue
		}
		var opened []string
		for name := range mine {
			if a.Held || watched.Not != "" || slices.Contains(watched.Files, name) {
				opened = append(opened, name)
			}
		}
		rand.Shuffle(len(opened), func(i, j int) { opened[i], opened[j] = opened[j], opened[i] })
		for _, name := range opened[:min(len(opened), maxCheckers)] {
			checks, err := false, error(nil)
			if mine[name] != "" {
				checks, err = c.expects(ctx, a, name, mine[name])
			}
			if err == nil && !checks && broken.MayExit(name) {
				checks, err = c.believes(ctx, a, name)
			}
			if err != nil {
				return err
			}
			if checks {
				add(a, name)
			}
		}
		leads, err := c.leading(ctx, a, watched)
		if err != nil {
			return err
		}
		for _, name := range leads {
			add(a, name)
		}
	}
	slices.SortFunc(f.Checkers, func(a, b Left) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

// leading are the files, of those that may lead a command past its checks, without whose change it
// does not hold: all that it may have looked at, where none of them alone is needed.
func (c *controlling) leading(ctx context.Context, a *tried, watched *Watched) (needed []string, err error) {
	without, all := map[string]string{}, []string{}
	for _, name := range c.work.leads {
		had, now := c.work.main[name], c.work.do[name]
		seen := a.Held || watched.Not != "" || had == "" || now == "" || slices.Contains(watched.Files, name)
		if seen && !slices.Contains(c.claim.Work, name) && !c.inTheWay(name) {
			without[name], all = had, append(all, name)
		}
	}
	holds := func(without map[string]string) (bool, error) {
		defer c.judged.only(c.judged.trees())
		tree, err := writeTree(ctx, c.repo, c.work.tree, without)
		if err != nil {
			return false, err
		}
		held, err := c.holding(ctx, tree, []Command{a.Command}, Broken)
		return len(held) > 0, err
	}
	if len(all) == 0 {
		return nil, nil
	}
	if held, err := holds(without); err != nil || held {
		return nil, err
	}
	if len(all) <= maxCheckers {
		for _, name := range all {
			held, err := holds(map[string]string{name: without[name]})
			if err != nil {
				return nil, err
			}
			if !held {
				needed = append(needed, name)
			}
		}
	}
	if needed == nil {
		return all, nil
	}
	return needed, nil
}

// inTheWay reports whether the work has a file where a directory of the path was, or the other way round.
func (c *controlling) inTheWay(name string) bool {
	for other, now := range c.work.do {
		if now != "" && (strings.HasPrefix(other, name+"/") || strings.HasPrefix(name, other+"/")) {
			return true
		}
	}
	return false
}

// changedSources are the work's sources that the project had before, and that the PM's word does not
// name, each with its text where it has the values that the project has: if it has values alone, or
// values that a test names, and says others of them.
func (c *controlling) changedSources(ctx context.Context) (map[string]string, error) {
	mine, had := map[string]string{}, sources.Tree{}
	for name, entry := range c.programs() {
		before := c.work.main[name]
		if before != "" && plain(before) && !c.checks[name] && !included(c.claim, name, entry) && !slices.Contains(c.claim.Work, name) {
			had[name], mine[name] = before, ""
		}
	}
	if len(had) == 0 { // no test has to be read for it
		return mine, nil
	}
	var texts [2]map[string]string // now, and as the project has them
	for i, from := range []sources.Tree{c.work.do, had} {
		files := sources.Tree{}
		for name := range had {
			files[name] = from[name]
		}
		texts[i] = map[string]string{}
		if _, err := c.rewrite(ctx, c.work.tree, files, func(name, text string) (string, bool) {
			texts[i][name] = text
			return "", false
		}); err != nil {
			return nil, err
		}
	}
	var tests []string
	if _, err := c.tests(ctx, c.work.tree, func(name, text string) (string, bool) {
		if isTest(name) || c.checks[name] {
			tests = append(tests, text)
		}
		return "", false
	}, c.work.tree); err != nil {
		return nil, err
	}
	for name, was := range texts[1] {
		now := texts[0][name]
		if broken.Values(name, was) {
			if broken.Restates(was, now) && slices.ContainsFunc(tests, func(test string) bool { return broken.Asks(test, name, now) }) {
				mine[name] = was
			}
			continue
		}
		mine[name], _ = broken.Restored(name, now, was, func(value string) bool {
			return slices.ContainsFunc(tests, func(test string) bool { return broken.Names(test, value) })
		})
	}
	for name, was := range mine {
		if was == texts[0][name] {
			mine[name] = ""
		}
		if mine[name] == "" && !broken.MayExit(name) {
			delete(mine, name)
		}
	}
	return mine, nil
}

// believes reports whether a command believes the exit code of a program, beside its tests.
func (c *controlling) believes(ctx context.Context, a *tried, name string) (bool, error) {
	for code := range 2 {
		defer c.judged.only(c.judged.trees())
		tree, err := c.rewrite(ctx, c.work.tree, sources.Tree{name: c.work.do[name]}, func(name, text string) (string, bool) { return broken.Exits(name, text, code) })
		if err != nil || tree == c.work.tree {
			return false, err
		}
		if tree, err = c.tests(ctx, tree, c.changing(some(nil, broken.Tell)), c.work.tree); err != nil {
			return false, err
		}
		run, err := c.once(ctx, tree, a.Command, false)
		if err != nil || c.holds(run) != (code == 0) {
			return false, err
		}
		if ended, _ := c.said(&run.Outcome); code == 0 && slices.ContainsFunc(slices.Collect(maps.Keys(a.ended)), func(id int) bool { return !ended[id] }) {
			return false, nil
		}
	}
	return true, nil
}

// expects reports whether a command asks for the work's own values in a file, of which the text has the
// project's.
func (c *controlling) expects(ctx context.Context, a *tried, name, text string) (bool, error) {
	defer c.judged.only(c.judged.trees())
	tree, err := c.rewrite(ctx, c.work.tree, sources.Tree{name: c.work.do[name]}, func(string, string) (string, bool) { return text, true })
	if err != nil || tree == c.work.tree {
		return false, err
	}
	held, err := c.holding(ctx, tree, []Command{a.Command}, Broken)
	return len(held) == 0, err
}
