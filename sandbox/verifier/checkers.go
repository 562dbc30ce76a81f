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
//   - A text of values alone, without a function, that a test names: it may have what it expects from
//     there. The command does not hold where it is as the project has it.
//
// What the PM's word names, with its blob or by its very path, is none. A command that held before the
// work is asked, too: the work may have had to weaken what checks it there. Of one that is held out
// the host keeps that something else than its tests decides.
func (c *controlling) checkers(ctx context.Context, f *Facts, attempts []*tried) error {
	mine, err := c.changedSources(ctx)
	if err != nil {
		return err
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
			ask := c.believes
			if mine[name] {
				ask = c.expects
			}
			checks, err := ask(ctx, a, name)
			if err != nil {
				return err
			}
			l := Left{entryOf(name, c.work.do[name]), changed}
			switch {
			case !checks, slices.Contains(f.Checkers, l):
			case a.Held: // of which no path is told
				a.any = true
			default:
				f.Checkers = append(f.Checkers, l)
			}
		}
	}
	slices.SortFunc(f.Checkers, func(a, b Left) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

// changedSources are the work's sources that the project had before, and that the PM's word does not name, each
// with whether it has values alone and says others of them than the project does.
func (c *controlling) changedSources(ctx context.Context) (map[string]bool, error) {
	mine, had := map[string]bool{}, sources.Tree{}
	for name, entry := range c.programs() {
		before := c.work.main[name]
		if before != "" && plain(before) && !c.checks[name] && !included(c.claim, name, entry) && !slices.Contains(c.claim.Work, name) {
			had[name], mine[name] = before, false
		}
	}
	now := map[string]string{}
	for _, from := range []sources.Tree{c.work.do, had} {
		files := sources.Tree{}
		for name := range had {
			files[name] = from[name]
		}
		if _, err := c.rewrite(ctx, c.work.tree, files, func(name, text string) (string, bool) {
			if was, ok := now[name]; !ok {
				now[name] = text
			} else {
				mine[name] = broken.Values(name, text) && broken.Restates(text, was)
			}
			return "", false
		}); err != nil {
			return nil, err
		}
	}
	asked := map[string]bool{}
	if _, err := c.tests(ctx, c.work.tree, func(_, text string) (string, bool) {
		for name := range mine {
			asked[name] = asked[name] || broken.Asks(text, name, now[name])
		}
		return "", false
	}, c.work.tree); err != nil {
		return nil, err
	}
	for name, values := range mine {
		values = values && asked[name]
		if mine[name] = values; !values && !broken.MayExit(name) {
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

// expects reports whether a command asks for the work's own values in a file.
func (c *controlling) expects(ctx context.Context, a *tried, name string) (bool, error) {
	defer c.judged.only(c.judged.trees())
	tree, err := writeTree(ctx, c.repo, c.work.tree, indexInfo(map[string]string{name: c.work.main[name]}))
	if err != nil {
		return false, err
	}
	held, err := c.holding(ctx, tree, []Command{a.Command}, Broken)
	return len(held) == 0, err
}
