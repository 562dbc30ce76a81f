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

// maxLeading bounds the runs that look for the files that lead a command past its checks.
const maxLeading = 24

// leading are the files, of those that may lead a command past its checks, without whose change it
// does not hold. It looks for few of them that the command needs together, and then for more among
// the others, until the command holds without all of the others. After maxLeading runs it names them
// all. The work may have taken a file's place, so that none can be put back there: it names that file.
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

// fewest are few of the names, which fail together. Each costs log2 n questions: names[:i+1] fail
// with what was found before, and names[:i] do not, so names[i] is one.
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

// taken reports of paths that are gone whether the work has a directory there, or a file where a
// directory above was.
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
