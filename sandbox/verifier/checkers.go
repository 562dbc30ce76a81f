package verifier

import (
	"context"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"git-ward/internal/sources"
	"git-ward/protocols/loop"
	"git-ward/sandbox/verifier/broken"
)

// maxCheckers bounds how many of the work's sources are tried as checkers.
const maxCheckers = 6

// checkers finds sources of the project that the work changed and that take part in a command's checks
// (PROOF-3): a change that weakens a check looks like any other change of a source.
//
//   - A program whose exit code the command believes. The command holds if the program exits with 0 while
//     it is loaded, does not hold if it exits with 1, and each test comes to its end in both cases. So no
//     test runs in that process, and none asks for the program's result.
//   - A text with values that a test names, because the test may expect them. The command does not hold
//     with the values that the project has.
//
// A file that no manifest declares as a source, such as a makefile, is one, too, if the command does not
// hold without its change: a glob of the PM's made it work, and it may decide how tests run.
//
// A file that the PM included, with its blob or by its path, is not one. Commands that held before the
// work are tried, too: the work may have had to weaken their check. Of a command that is held out, the
// host keeps only that something else than its tests decides.
func (c *controlling) checkers(ctx context.Context, f *Facts, attempts []*tried) error {
	mine, err := c.changedSources(ctx)
	if err != nil {
		return err
	}
	add := func(a *tried, name string) {
		now := entryOf(name, c.work.do[name])
		l := loop.Left{Path: now.Path, Kind: kindOf(c.work.main[name], c.work.do[name]), Mode: now.Mode, Blob: now.Blob}
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
	slices.SortFunc(f.Checkers, func(a, b loop.Left) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

// maxLeading bounds the runs of leading.
const maxLeading = 24

// leading finds, among the files that may lead a command past its checks, those without whose change it
// does not hold. It looks for a few that the command needs together, and then for more among the others,
// until the command holds without all of the others. After maxLeading runs it names all. A file that
// cannot be restored, because the work took its place, is named, too.
func (c *controlling) leading(ctx context.Context, a *tried, watched *Watched) (needed []string, err error) {
	var rest []string
	taken := c.taken()
	for _, name := range c.work.settings {
		had, now := c.work.main[name], c.work.do[name]
		seen := a.Held || watched.Not != "" || had == "" || now == "" || slices.Contains(watched.Files, name)
		switch {
		case !seen || slices.Contains(c.claim.Work, name):
		case now == "" && taken(name):
			needed = append(needed, name)
		default:
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	runs := 0
	fails := func(some ...string) (bool, error) {
		if runs++; runs > maxLeading {
			return true, nil
		}
		defer c.judged.only(c.judged.trees())
		had := map[string]string{}
		for _, name := range some {
			had[name] = c.work.main[name]
		}
		tree, err := writeTree(ctx, c.repo, c.work.tree, had)
		if err != nil {
			return false, err
		}
		held, err := c.holding(ctx, tree, []Command{a.Command}, Broken)
		return len(held) == 0, err
	}
	for len(rest) > 0 {
		if failed, err := fails(rest...); err != nil || !failed {
			return needed, err
		}
		few, err := fewest(rest, fails)
		if err != nil {
			return nil, err
		}
		if runs > maxLeading {
			break
		}
		needed = append(needed, few...)
		rest = slices.DeleteFunc(rest, func(name string) bool { return slices.Contains(few, name) })
	}
	return append(needed, rest...), nil
}

// fewest finds a few of the names that fail together. Each costs log2 n calls: names[:i+1] fail together
// with those found before, and names[:i] do not, so names[i] is one.
func fewest(names []string, fails func(...string) (bool, error)) (few []string, err error) {
	for len(names) > 0 {
		holds, failing := 0, len(names)
		for failing-holds > 1 {
			half := (holds + failing) / 2
			failed, err := fails(slices.Concat(few, names[:half])...)
			if err != nil {
				return nil, err
			}
			if failed {
				failing = half
			} else {
				holds = half
			}
		}
		few, names = append(few, names[failing-1]), names[:failing-1]
		if len(names) > 0 {
			if failed, err := fails(few...); err != nil || failed {
				return few, err
			}
		}
	}
	return few, nil
}

// taken reports whether a missing path cannot be restored, because the work has a directory there, or a
// file in the place of a directory above.
func (c *controlling) taken() func(name string) bool {
	above := map[string]bool{}
	for name, now := range c.work.do {
		for dir := path.Dir(name); now != "" && dir != "." && !above[dir]; dir = path.Dir(dir) {
			above[dir] = true
		}
	}
	return func(name string) bool {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if c.work.do[dir] != "" {
				return true
			}
		}
		return above[name]
	}
}

// changedSources lists the work's sources that the project had before and that the PM did not include.
// Each has its text with the project's values, if it changes values and either has nothing else or a
// test names them.
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

// believes reports whether a command believes a program's exit code besides its tests.
func (c *controlling) believes(ctx context.Context, a *tried, name string) (bool, error) {
	for code := range 2 {
		defer c.judged.only(c.judged.trees())
		tree, err := c.rewrite(ctx, c.work.tree, sources.Tree{name: c.work.do[name]}, func(name, text string) (string, bool) { return broken.Exits(name, text, code) })
		if err != nil || tree == c.work.tree {
			return false, err
		}
		if tree, err = c.tests(ctx, tree, c.telling, c.work.tree); err != nil {
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

// expects reports whether a command fails with the project's values, which text has, in a file.
func (c *controlling) expects(ctx context.Context, a *tried, name, text string) (bool, error) {
	defer c.judged.only(c.judged.trees())
	tree, err := c.rewrite(ctx, c.work.tree, sources.Tree{name: c.work.do[name]}, func(string, string) (string, bool) { return text, true })
	if err != nil || tree == c.work.tree {
		return false, err
	}
	held, err := c.holding(ctx, tree, []Command{a.Command}, Broken)
	return len(held) == 0, err
}
